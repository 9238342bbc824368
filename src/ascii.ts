// Text that comes over a wire, by the rules of ASCII. What the language itself trims and puts in lower case is all of Unicode: a no-break
// space goes, and the Kelvin sign becomes a `k`. Another program on the way reads another text then, and sees other requests.

const SPACE = 0x20;
const TAB = 0x09;

/** Without the spaces and tabs around it, the only ones that HTTP knows (RFC 9110, section 5.6.3). */
export function trimBlanks(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === SPACE || code === TAB;
}

/** With `a` to `z` for `A` to `Z`; every other character stays. */
export function lowerCase(text: string): string {
  return text.replace(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** What stands between the commas of a header's value, empty elements too (RFC 9110, section 5.6.1). */
export function listElements(value: string): string[] {
  return value.split(',').map(trimBlanks);
}

/** The number that nothing but digits says, up to 2^53; undefined for any other text. */
export function parseDigits(text: string | undefined): number | undefined {
  if (text === undefined || !/^[0-9]+$/.test(text)) return undefined;
  const number = Number(text);
  return Number.isSafeInteger(number) ? number : undefined;
}
