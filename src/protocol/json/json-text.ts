// Facts about JSON's characters that the parser and the readers of tensor data share: white space, literals, numbers, strings.
// Offsets are into the request's bytes. Nothing here allocates unless the caller needs a value.

/** The kind of a byte inside a string: 0 plain ASCII, 1 the closing quote, 2 an escape, 3 control, 4 beyond ASCII. */
export const STRING_CLASS = new Uint8Array(256);
for (let byte = 0; byte < 256; byte++) {
  if (byte === 0x22) STRING_CLASS[byte] = 1;
  else if (byte === 0x5c) STRING_CLASS[byte] = 2;
  else if (byte < 0x20) STRING_CLASS[byte] = 3;
  else if (byte >= 0x80) STRING_CLASS[byte] = 4;
}

/** The character that `\` and this byte stand for, or 0. `\u` is not among them. */
export const ESCAPED = new Uint8Array(256);
for (const [letter, char] of ['""', '\\\\', '//', 'b\b', 'f\f', 'n\n', 'r\r', 't\t']) {
  ESCAPED[letter!.charCodeAt(0)] = char!.charCodeAt(0);
}

/** True for '0' … '9'. */
export function isDigit(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x39;
}

/** The value of the integer from `start` to `stop`, of at most 15 digits. `-0` is 0. */
export function smallIntegerAt(bytes: Buffer, start: number, stop: number): number {
  const negative = bytes[start] === 0x2d;
  let value = 0;
  for (let pos = negative ? start + 1 : start; pos < stop; pos++) value = value * 10 + (bytes[pos]! - 0x30);
  return negative && value !== 0 ? -value : value;
}

/** The double nearest to the number from `start` to `stop`. `-0`, an integer, is 0. */
export function doubleAt(bytes: Buffer, start: number, stop: number): number {
  const first = bytes[bytes[start] === 0x2d ? start + 1 : start]!;
  if (first === 0x4e) return NaN;
  if (first === 0x49) return first === bytes[start] ? Infinity : -Infinity;
  return stop - start === 2 && first === 0x30 ? 0 : Number(bytes.toString('latin1', start, stop));
}

/** The offset behind the number at `pos`, in a well-formed text inside a container. */
export function numberEnd(bytes: Buffer, pos: number): number {
  for (;;) {
    const byte = bytes[pos]!;
    // Only a comma, a closing bracket or white space can follow.
    if (byte === 0x2c || byte === 0x5d || byte === 0x7d || byte <= 0x20) return pos;
    pos++;
  }
}
