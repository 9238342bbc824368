// Which bytes may stand where in a message (RFC 9110, section 5.6.2; RFC 9112, sections 3 and 5), one table for all.

export const CR = 13;
export const LF = 10;
export const SPACE = 32;
export const TAB = 9;
export const COLON = 58;
export const SEMICOLON = 59;

/** Of names and methods. */
export const TOKEN = 1;
/** Of the values of fields: all but control characters. */
export const VALUE = 2;
/** Of request targets: the visible characters of ASCII. */
export const TARGET = 4;

/** The places in which a byte may stand, as the sum of the numbers above. */
export const PLACES: Uint8Array = places();

function places(): Uint8Array {
  const table = new Uint8Array(256);
  for (let byte = 0; byte < 256; byte++) {
    const isVisible = byte > SPACE && byte < 127;
    if (isVisible) table[byte]! |= TARGET;
    if (isVisible || byte === SPACE || byte === TAB || byte > 127) table[byte]! |= VALUE;
    if (isVisible && /[!#$%&'*+.^_`|~0-9A-Za-z-]/.test(String.fromCharCode(byte))) table[byte]! |= TOKEN;
  }
  return table;
}

/** The value of a hexadecimal digit, -1 for any other byte. */
export function hexDigit(byte: number): number {
  if (byte >= 48 && byte <= 57) return byte - 48;
  const lower = byte | 0x20;
  return lower >= 97 && lower <= 102 ? lower - 87 : -1;
}
