// What a callable's results are, from what it returns to what is checked, and where they go: shared by what runs ordinary
// callables and what runs streams.

import { TritonError } from '../errors.js';
import { isPromiseLike } from '../model/awaitable.js';
import type { Parameters } from '../model/parameters.js';
import type { ResolvedOutputs } from '../model/resolve-outputs.js';

/** What became of one request: its outputs, or why it failed. */
export type HostResult = ResolvedOutputs | TritonError;

/** What the callable took for a batch, in milliseconds. */
export interface HostTimes {
  readonly inferMs: number;
  /** Of a batch that failed and ran again, what each request took alone; undefined in the place of one that did not run. */
  readonly aloneMs?: readonly (number | undefined)[] | undefined;
}

/** Called once, and must not throw. */
export type HostDone = (
  results: readonly HostResult[],
  times: HostTimes,
  parameters?: readonly (Parameters | undefined)[],
) => void;

/** Where the answers of a decoupled model's callable go as they come. */
export interface HostStream {
  /** An answer to request `index`, copied before this returns. A promise: its reader is slow. */
  respond(index: number, outputs: ResolvedOutputs, parameters: Parameters | undefined): void | Promise<void>;
  /** Request `index` has had all its answers, or failed. */
  end(index: number, error?: TritonError): void;
}

/** What a result of the callable's means, and the parameters that came with it. */
export interface ResolvedResult {
  readonly outcome: HostResult;
  readonly parameters: Parameters | undefined;
}

/** A callable's list of results. Throws INTERNAL when it is none, or of another length. */
export function expectResults(result: unknown, count: number, model: string): readonly unknown[] {
  if (!Array.isArray(result)) {
    const got = result === null || typeof result !== 'object' ? String(result) : 'an object';
    throw new TritonError('INTERNAL', `model '${model}' must return a list with one result per request, got ${got}`);
  }
  if (result.length !== count) {
    const message = `model '${model}' returned ${result.length} results for ${count} requests, expected one result per request`;
    throw new TritonError('INTERNAL', message);
  }
  return result;
}

// Lists of results with promises in the places of requests, as an asynchronous function per request makes them. Left
// alone, one that is rejected would be nobody's and end the process.

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
