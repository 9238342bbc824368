// The command `tstriton`: its subcommands, each a file of its own, and what their ends are to a shell. 0: done; 1: it did not work;
// 2: it was called wrongly; 130: it was interrupted.

import { Command, CommanderError } from 'commander';

import { TritonError } from '../errors.js';
import { VERSION } from '../server/version.js';
import { benchCommand } from './bench/bench-command.js';
import { checkCommand } from './check/check-command.js';
import type { CliIo } from './cli-io.js';
import { completionCommand } from './completion/completion-command.js';
import { deployCommand } from './deploy/deploy-command.js';
import { genCommand } from './gen-command.js';
import { HELP_LAYOUT } from './help-layout.js';
import { inferCommand } from './infer/infer-command.js';
import { Interrupted } from './interrupted.js';
import { LoadFailure } from './serve/load-failure.js';
import { serveCommand } from './serve/serve-command.js';
import { inOwnWords } from './own-words.js';
import { inOneLine } from './style.js';

export type ExitCode = 0 | 1 | 2 | 130;

const COMMANDS = [serveCommand, inferCommand, benchCommand, checkCommand, deployCommand, genCommand, completionCommand];

const EXIT_CODES =
  '\nExit codes: 0 done, 1 it did not work, 2 called wrongly, 130 interrupted.\nColours follow NO_COLOR and FORCE_COLOR. Data goes to standard output, all else to standard error.';

/** The client speaks of its own options. */
const OWN_WORDS = [
  [/ in tls\.ca$/, ' to --ca'],
  [/^options\.tls of a client needs /, '--ca needs '],
  [/ options\.tls\(\)(?:\.ca)?: /, ' --ca: '],
  [/^options\.tls\.key of --remote: /, '--remote-key: '],
  [/^options\.tls of --remote: expected cert and key /, 'expected --remote-cert and --remote-key '],
  [/^options\.tls of RemoteTriton needs /, '--remote-ca, --remote-cert and --remote-key need '],
  [/^binaryData: false is /, '--no-binary is '],
  [/^accessToken (?=has |and header )/, 'TSTRITON_ACCESS_TOKEN '],
] as const;

/** Runs the command that `args` say, what follows the program's name. */
export async function runCli(args: readonly string[], io: CliIo): Promise<ExitCode> {
  const program = new Command('tstriton')
    .description("Serves TypeScript functions over Triton's inference protocol, and asks servers that speak it.")
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command')
    .addHelpText('after', EXIT_CODES);
  for (const command of COMMANDS) program.addCommand(command(io));
  for (const command of [program, ...program.commands]) {
    command
      .exitOverride()
      .configureHelp(HELP_LAYOUT)
      .configureOutput({
        writeOut: io.out,
        writeErr: io.err,
        outputError: (message) => complain(`${message.trim()}${flagsHint(message, command)}`, io),
        getOutHelpWidth: () => io.columns,
        getErrHelpWidth: () => io.columns,
      });
  }
  if (args.length === 0) {
    complain(`expected a command: ${program.commands.map((each) => each.name()).join(', ')}; see tstriton --help`, io);
    return 2;
  }
  try {
    const [first, second] = args;
    const name = first === 'help' ? second : first;
    // commander says nothing of the mistake in `help sevre` and `sevre --help`.
    const isUnknown =
      name !== undefined && !/^(-|help$)/.test(name) && !program.commands.some((each) => each.name() === name);
    await program.parseAsync(isUnknown ? [name] : args, { from: 'user' });
    return 0;
  } catch (error) {
    return endOf(error, io);
  }
}

function endOf(error: unknown, io: CliIo): ExitCode {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
  const { code, message } = TritonError.from(error);
  complain(inOwnWords(message, OWN_WORDS), io);
  if (error instanceof LoadFailure) io.err(`${error.diagnostics}\n`);
  if (error instanceof Interrupted) return 130;
  return isUsage(code) ? 2 : 1;
}

/** What a command refuses is said in one line. */
function complain(message: string, { err }: CliIo): void {
  err(`tstriton: ${inOneLine(message.replace(/^error: /, ''))}\n`);
}

/** Flags whose last word is the unknown one, where commander suggests none: `--port` may mean `--http-port`. */
function flagsHint(message: string, command: Command): string {
  const [, word] = /unknown option '--([a-z]+)[^']*'$/.exec(message.trim()) ?? [];
  if (word === undefined) return '';
  const flags = command.options.flatMap(({ long, hidden }) => (!hidden && long?.endsWith(`-${word}`) ? [long] : []));
  if (flags.length === 0) return '';
  const last = flags.at(-1)!;
  return ` (Did you mean ${flags.length === 1 ? last : `${flags.slice(0, -1).join(', ')} or ${last}`}?)`;
}

/** A wrong flag, file, URL or header. */
function isUsage(code: string): boolean {
  return code === 'INVALID_ARG';
}
