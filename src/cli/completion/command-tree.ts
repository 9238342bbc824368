// What there is to complete, read from the commands themselves: subcommands, their flags, and what the values of both are.

import type { Argument, Command, Option } from 'commander';

/** What stands there: files of the user's, one of some words, or what nobody can guess. */
export type ValueKind = 'file' | 'unknown' | readonly string[];

export interface FlagEntry {
  readonly short: string | undefined;
  readonly long: string | undefined;
  readonly description: string;
  /** Undefined: the flag stands alone. */
  readonly value: ValueKind | undefined;
  /** Whether the value may be left out. */
  readonly isOptional: boolean;
}

export interface CommandEntry {
  readonly name: string;
  readonly description: string;
  readonly flags: readonly FlagEntry[];
  readonly argument: ValueKind;
}

const FILES = /^(file|files|folder|args)$/;

export function commandTree(program: Command): readonly CommandEntry[] {
  const help = program.createHelp();
  return help.visibleCommands(program).map((command) => ({
    name: command.name(),
    description: help.subcommandDescription(command),
    flags: help.visibleOptions(command).map(flagEntry),
    argument: command.name() === 'help' ? namesOf(program) : argumentKind(command.registeredArguments),
  }));
}

function namesOf(program: Command): readonly string[] {
  return program.commands.map((command) => command.name());
}

function flagEntry({ short, long, description, flags, required, optional, argChoices }: Option): FlagEntry {
  const [, placeholder = ''] = /[<[]([^>\]]+)[>\]]/.exec(flags) ?? [];
  const value = required || optional ? (argChoices ?? valueKind(placeholder)) : undefined;
  return { short, long, description: summary(description), value, isOptional: optional };
}

function valueKind(placeholder: string): ValueKind {
  if (FILES.test(placeholder)) return 'file';
  if (placeholder === 'boolean') return ['true', 'false'];
  return placeholder.includes('|') ? placeholder.split('|') : 'unknown';
}

function argumentKind([first]: readonly Argument[]): ValueKind {
  if (first === undefined) return 'unknown';
  return first.argChoices ?? valueKind(first.name());
}

/** The first sentence. */
function summary(description: string): string {
  return description.split(/(?<=\.) |; | \(default/)[0]!.replace(/\.$/, '');
}
