// Which rows or servers of a suite an option names.

/** Those of the known names that an option asks for, in their own order. Throws for others. */
export function chosen<T extends string>(
  known: readonly T[],
  wanted: readonly string[] | undefined,
  option: string,
  fallback: readonly T[] = known,
): readonly T[] {
  if (!wanted) return fallback;
  const unknown = wanted.filter((name) => !(known as readonly string[]).includes(name));
  if (unknown.length > 0)
    throw new Error(`${option}: unknown '${unknown.join(', ')}', expected of ${known.join(', ')}`);
  return known.filter((name) => wanted.includes(name));
}
