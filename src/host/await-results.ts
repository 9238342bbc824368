// Lists of results with promises in the places of requests, as an asynchronous function per request makes them. Left
// alone, one that is rejected would be nobody's and end the process.

import { isPromiseLike } from '../model/is-promise-like.js';

/** In the place of a promise that was rejected. */
export class Rejected {
  readonly reason: unknown;

  constructor(reason: unknown) {
    this.reason = reason;
  }
}

/** Whether a callable's result is a list with promises in it. */
export function hasPromise(result: unknown): result is readonly unknown[] {
  return Array.isArray(result) && result.some(isPromiseLike);
}

/** Where a list has promises, as an asynchronous function per request makes them, waits for each: one may fail alone. */
export async function awaitEach(result: unknown): Promise<unknown> {
  if (!hasPromise(result)) return result;
  const settled = await Promise.allSettled(result);
  return settled.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : new Rejected(outcome.reason)));
}
