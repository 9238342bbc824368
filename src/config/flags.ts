// Options as flags of a command, spelled as Triton spells them: `httpPort` is `--http-port`.

import { isList, parseOption } from './option-value.js';
import { type OptionName, OPTIONS } from './options.js';

/** The option's flag. */
export function flagOf(option: string): string {
  return `--${option.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
}

/**
 * An option's value from a flag's text; `before` is what earlier flags of that name came to. A list has the entries of all of
 * them, of any other option the last one counts. Throws INVALID_ARG naming the flag.
 */
export function parseFlag(option: OptionName, text: string, before?: unknown): unknown {
  const { kind } = OPTIONS[option];
  const value = parseOption(kind, text, flagOf(option));
  return isList(kind) && Array.isArray(before) ? [...(before as unknown[]), ...(value as unknown[])] : value;
}
