// Headers as text. Their bytes are read as Latin-1, but clients send UTF-8 for characters beyond ASCII.

import { isUtf8 } from 'node:buffer';

/** A flat list of names and values. Each is read as UTF-8 if its bytes are valid UTF-8. */
export function headerTexts(rawHeaders: readonly string[]): readonly string[] {
  return rawHeaders.some((text) => BEYOND_ASCII.test(text)) ? rawHeaders.map(headerText) : rawHeaders;
}

const BEYOND_ASCII = /[^\0-\x7f]/;

function headerText(text: string): string {
  if (!BEYOND_ASCII.test(text)) return text;
  const bytes = Buffer.from(text, 'latin1');
  return isUtf8(bytes) ? bytes.toString() : text;
}
