/** The kind of a value as JavaScript names it, whatever realm it is from: `Float32Array`, `Object`, `Null`. */
export function tagOf(value: unknown): string {
  return Object.prototype.toString.call(value).slice(8, -1);
}
