// Where the `id` of a request stands in the text of its JSON, which was found to be well-formed: two texts that differ there alone
// say the same but for it.

/** Of the text between the quotes. */
export interface IdPlace {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
/** Among JSON's own white space. */
const COLON = /^[ \t\n\r]*:/;
const COLON_ALONE = /^[ \t\n\r]*:[ \t\n\r]*$/;

/**
 * Undefined where there is none that is a string. With an escape anywhere nothing is looked for: keys could be written in more than one
 * way, and strings end elsewhere. Nor is it with a NUL, which ends the text wherever its bytes end: anything may follow.
 */
export function findId(text: string): IdPlace | undefined {
  if (text.includes('\\') || text.includes('\0')) return undefined;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = text.indexOf('"', at + 1);
      if (end < 0) return undefined;
      // The first member of that name counts.
      if (depth === 1 && end - at === 3 && text.startsWith('id', at + 1)) {
        if (COLON.test(text.slice(end + 1))) return stringAfter(text, end + 1);
      }
      at = end;
    } else if (code === 0x7b || code === 0x5b) depth++;
    else if (code === 0x7d || code === 0x5d) depth--;
  }
  return undefined;
}

/** The value of a member, if it is a string, behind the end of its key. */
function stringAfter(text: string, from: number): IdPlace | undefined {
  const start = text.indexOf('"', from) + 1;
  if (start === 0 || !COLON_ALONE.test(text.slice(from, start - 1))) return undefined;
  return { start, end: text.indexOf('"', start) };
}

/** Whether a text between quotes is a string that is written as it is, and no more than that. */
export function isPlainId(text: string): boolean {
  return /^[ !#-[\]-~]*$/.test(text);
}
