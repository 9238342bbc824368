// The order in which connections send a few prepared requests, and which of the answers they compare byte by byte.

const SAMPLED = 64;

/** True for the first answer to each request of a connection, and then for one of many: `sent` is the number of those before. */
export function isSampled(sent: number, exchanges: readonly unknown[]): boolean {
  return sent < exchanges.length || sent % SAMPLED === 0;
}

let opened = 0;

/**
 * What a connection sends, and where it begins: each begins with another one of all. With `own` each has that many for itself, and
 * begins with the first of them.
 */
export function turnsOf<E>(
  exchanges: readonly E[],
  own: number | undefined,
): { readonly exchanges: readonly E[]; readonly first: number } {
  const number = opened++;
  if (own === undefined) return { exchanges, first: number % exchanges.length };
  const from = (number * own) % exchanges.length;
  return { exchanges: exchanges.slice(from, from + own), first: 0 };
}
