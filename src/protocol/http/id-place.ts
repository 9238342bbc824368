// Finds the `id` and the `parameters` of a request in its well-formed JSON text. Two texts that differ only there have the same
// meaning, apart from these.

/** Offsets in the text. */
export interface MemberPlace {
  readonly start: number;
  readonly end: number;
}

const QUOTE = 0x22;
/** A colon behind JSON's own white space. */
const COLON = /^[ \t\n\r]*:/;
const COLON_ALONE = /^[ \t\n\r]*:[ \t\n\r]*$/;

/** The text between the quotes. Undefined without an id that is a string, and for a text in which no member is found. */
export function findId(text: string): MemberPlace | undefined {
  const start = findMember(text, 'id', '"');
  return start === undefined ? undefined : { start: start + 1, end: text.indexOf('"', start + 1) };
}

/**
 * The text with its brackets. Undefined without parameters that are an object, for one in which another closing bracket comes
 * first, and for a text in which no member is found.
 */
export function findParameters(text: string): MemberPlace | undefined {
  const start = findMember(text, 'parameters', '{');
  if (start === undefined) return undefined;
  const end = text.indexOf('}', start) + 1;
  return isFlat(text.slice(start + 1, end - 1)) ? { start, end } : undefined;
}

/** Whether neither a value nor a string has a bracket: the quotes are in pairs. */
function isFlat(members: string): boolean {
  return !/[{[\]]/.test(members) && members.split('"').length % 2 === 1;
}

/**
 * Where the value of the first member of that name begins, if its first character is `opening`. Undefined for a text with an
 * escape: keys could be spelt in other ways, and strings end elsewhere. A text with a NUL gives undefined too: the NUL ends the
 * JSON, and anything may follow.
 */
function findMember(text: string, name: string, opening: string): number | undefined {
  if (text.includes('\\') || text.includes('\0')) return undefined;
  let depth = 0;
  for (let at = 0; at < text.length; at++) {
    const code = text.charCodeAt(at);
    if (code === QUOTE) {
      const end = text.indexOf('"', at + 1);
      if (end < 0) return undefined;
      // The first member of that name counts.
      if (depth === 1 && end - at === name.length + 1 && text.startsWith(name, at + 1)) {
        if (COLON.test(text.slice(end + 1))) return valueAfter(text, end + 1, opening);
      }
      at = end;
    } else if (code === 0x7b || code === 0x5b) depth++;
    else if (code === 0x7d || code === 0x5d) depth--;
  }
  return undefined;
}

/** `from` is behind the end of the value's key. */
function valueAfter(text: string, from: number, opening: string): number | undefined {
  const start = text.indexOf(opening, from);
  return start >= 0 && COLON_ALONE.test(text.slice(from, start)) ? start : undefined;
}

/** Whether the text between quotes is one string, spelt exactly as its value. */
export function isPlainId(text: string): boolean {
  return /^[ !#-[\]-~]*$/.test(text);
}
