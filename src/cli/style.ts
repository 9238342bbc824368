// What a person reads: colours, none where NO_COLOR is set or a program reads, and the texts of a server, which are nothing but text.

import * as util from 'node:util';

type Format = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

export type Style = (format: Format, text: string) => string;

export function styleFor(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): Style {
  // Node 20 has it from 20.12 on.
  const styleText = util.styleText as typeof util.styleText | undefined;
  if (styleText === undefined || !usesColours(isTerminal, env)) return (_, text) => text;
  return (format, text) => styleText(format, text, { validateStream: false });
}

/** FORCE_COLOR and NO_COLOR count as Node counts them, whatever the stream is. */
export function usesColours(isTerminal: boolean, env: Readonly<Record<string, string | undefined>>): boolean {
  const forced = env['FORCE_COLOR'];
  if (forced !== undefined) return !['0', 'false'].includes(forced);
  return isTerminal && (env['NO_COLOR'] ?? '') === '' && env['TERM'] !== 'dumb';
}

/** A text of a server in one line. A terminal obeys some characters, so they are written as `\x1b`. */
export function inOneLine(text: string): string {
  return text
    .trim()
    .replace(/\s*\n\s*/g, ' ')
    .replace(/(?!\t)\p{Cc}/gu, (character) => `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`);
}
