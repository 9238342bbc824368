// Headers as text: their bytes are read as Latin-1, and what people send beyond ASCII is UTF-8.

import { isUtf8 } from 'node:buffer';

/** A flat list of names and values, each read as UTF-8 where it is that. */
export function headerTexts(rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.some((text) => BEYOND_ASCII.test(text)) ? rawHeaders.map(headerText) : rawHeaders;
}

const BEYOND_ASCII = /[^\0-\x7f]/;

function headerText(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : text;
}
