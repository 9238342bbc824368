// Which bytes may stand in names and values of fields (RFC 9113, section 8.2.1; names as tokens, RFC 9110, section 5.1). White
// space around a value is taken, as other servers of gRPC do; we never send it.

const COLON = 0x3a;

const NAME_BYTES = new Uint8Array(256);
for (const character of "abcdefghijklmnopqrstuvwxyz0123456789!#$%&'*+-.^_`|~") NAME_BYTES[character.charCodeAt(0)] = 1;

/** True for lower-case tokens, with a colon in front for pseudo-header fields. */
export function isFieldName(bytes: Uint8Array, start: number, end: number): boolean {
  const first = bytes[start] === COLON ? start + 1 : start;
  for (let at = first; at < end; at++) if (NAME_BYTES[bytes[at]!] === 0) return false;
  return first < end;
}

/** True without NUL and line breaks. */
export function isFieldValue(bytes: Uint8Array, start: number, end: number): boolean {
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!;
    if (byte <= 0x0d && (byte === 0 || byte === 0x0a || byte === 0x0d)) return false;
  }
  return true;
}
