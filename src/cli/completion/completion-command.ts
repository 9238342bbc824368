// `tstriton completion`: a script with which a shell completes the command.

import { Argument, Command } from 'commander';

import type { CliIo } from '../cli-io.js';
import { commandTree } from './command-tree.js';
import { COMPLETION_SCRIPTS, type Shell } from './completion-scripts.js';

export function completionCommand(io: CliIo): Command {
  const command = new Command('completion')
    .summary('print a script with which a shell completes this command')
    .description('Prints a script with which bash, zsh or fish completes this command.')
    .helpOption('-h, --help', 'print this help')
    .addArgument(new Argument('<shell>', 'the shell').choices(Object.keys(COMPLETION_SCRIPTS)))
    .addHelpText(
      'after',
      `
Examples:
  source <(tstriton completion bash)                                      # in ~/.bashrc
  source <(tstriton completion zsh)                                       # in ~/.zshrc, after compinit
  tstriton completion fish > ~/.config/fish/completions/tstriton.fish`,
    );
  return command.action((shell: Shell) => {
    const program = command.parent!;
    io.out(COMPLETION_SCRIPTS[shell](commandTree(program), program.name()));
  });
}
