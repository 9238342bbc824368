// Calls a function for one part of a batch after the other, so that an instance never works on two parts at a time.

import { isPromiseLike } from '../model/awaitable.js';

/** The results in order: at once when all calls are synchronous, otherwise a promise of them. */
export function callInTurn<Part>(
  parts: readonly Part[],
  call: (part: Part) => unknown,
): unknown[] | Promise<unknown[]> {
  const results: unknown[] = [];
  for (const part of parts) {
    const result = call(part);
    if (isPromiseLike(result)) return callRest(result, results, { parts, call });
    results.push(result);
  }
  return results;
}

async function callRest<Part>(
  pending: PromiseLike<unknown>,
  results: unknown[],
  { parts, call }: { readonly parts: readonly Part[]; readonly call: (part: Part) => unknown },
): Promise<unknown[]> {
  results.push(await pending);
  for (const part of parts.slice(results.length)) results.push(await call(part));
  return results;
}
