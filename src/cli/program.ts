// The command `tstriton`: its subcommands, each a file of its own, and what their ends are to a shell. 0: done; 1: it did not work;
// 2: it was called wrongly.

import { Command, CommanderError } from 'commander';

import { TritonError } from '../errors.js';
import { VERSION } from '../server/version.js';
import type { CliIo } from './cli-io.js';
import { genCommand } from './gen-command.js';

export type ExitCode = 0 | 1 | 2;

const COMMANDS = [genCommand];

/** Runs the command that `args` say, what follows the program's name. */
export async function runCli(args: readonly string[], io: CliIo): Promise<ExitCode> {
  const program = new Command('tstriton')
    .description("Tools for servers that speak Triton's inference protocol.")
    .version(VERSION, '-V, --version', 'print the version')
    .helpOption('-h, --help', 'print this help')
    .helpCommand('help [command]', 'print the help of a command');
  for (const command of COMMANDS) program.addCommand(command(io));
  for (const command of [program, ...program.commands]) {
    command.exitOverride().configureOutput({
      writeOut: io.out,
      writeErr: io.err,
      outputError: (message) => complain(message, io),
    });
  }
  if (args.length === 0) {
    complain(`expected a command: ${program.commands.map((each) => each.name()).join(', ')}; see tstriton --help`, io);
    return 2;
  }
  try {
    await program.parseAsync(args, { from: 'user' });
    return 0;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    const { code, message } = TritonError.from(error);
    complain(message, io);
    return isUsage(code) ? 2 : 1;
  }
}

/** What a command refuses is said in one line. */
function complain(message: string, { err }: CliIo): void {
  err(
    `tstriton: ${message
      .replace(/^error: /, '')
      .trim()
      .replace(/\s*\n\s*/g, ' ')}\n`,
  );
}

/** A wrong URL or header is refused by the client, as INVALID_ARG. */
function isUsage(code: string): boolean {
  return code === 'INVALID_ARG';
}
