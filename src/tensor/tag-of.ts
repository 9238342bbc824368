/** The kind of a value as JavaScript names it, whatever realm it is from: `Float32Array`, `Object`, `Null`. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}

/** The name of a type with its article: `an Int32Array`, `a uint8`. */
export function withArticle(name: string): string {
  return `${/^[AEIOU]/i.test(name) && !/^uint/i.test(name) ? 'an' : 'a'} ${name}`;
}
