// The flags of `tstriton serve` for the server's options, made from the table of options.

import { type Command, Option as Flag } from 'commander';

import { flagOf, parseFlag } from '../../config/flags.js';
import type { TritonConfig } from '../../config/generated/triton-config.js';
import {
  OPTION_GROUPS,
  type Option,
  type OptionName,
  OPTIONS,
  REFUSED_OPTIONS,
  refuseUnsupported,
} from '../../config/options.js';
import { asUsage } from '../arguments.js';

export function addOptionFlags(command: Command): Command {
  for (const [group, options] of Object.entries<Readonly<Record<string, Option>>>(OPTION_GROUPS)) {
    for (const [name, option] of Object.entries(options)) {
      // No text stands for an object.
      if (option.kind === 'logger') continue;
      command.addOption(optionFlag(name as OptionName, option).helpGroup(`${group}:`));
    }
  }
  for (const name of Object.keys(REFUSED_OPTIONS)) {
    const refuse = () => asUsage(() => refuseUnsupported(name, flagOf(name)));
    command.addOption(new Flag(`${flagOf(name)} [value]`).hideHelp().argParser(refuse).preset(''));
  }
  return command;
}

function optionFlag(name: OptionName, option: Option): Flag {
  const { kind } = option;
  // A flag alone is true.
  const value = kind === 'boolean' ? '[boolean]' : `<${placeholder(name, option)}>`;
  return new Flag(`${flagOf(name)} ${value}`, plain(option)).argParser((text, before) => parseFlag(name, text, before));
}

function placeholder(name: OptionName, { kind, unit }: Option): string {
  if (/(Cert|Key|File)$/.test(name)) return 'file';
  if (Array.isArray(kind)) return unit ?? 'number';
  if (typeof kind === 'object' && 'choices' in kind) return kind.choices.join('|');
  return typeof kind === 'object' ? 'entry' : 'text';
}

/** Help is plain text, not Markdown. */
function plain({ effect, default: value, defaultText, kind }: Option): string {
  const several = typeof kind === 'object' && 'separator' in kind ? ' Again for more of them.' : '';
  const byDefault = defaultText ?? (value === undefined || typeof value === 'function' ? undefined : String(value));
  return `${effect}${several}${byDefault === undefined ? '' : ` (default: ${byDefault})`}`.replaceAll('`', '');
}

/** The options among what commander has parsed. */
export function optionsIn(parsed: Readonly<Record<string, unknown>>): TritonConfig {
  return Object.fromEntries(Object.entries(parsed).filter(([name]) => Object.hasOwn(OPTIONS, name)));
}
