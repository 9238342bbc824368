// The types of a callable's results, from the returned value to the checked result, and of the places where they go.
// The code for ordinary callables and the code for streams share them.

import { TritonError } from '../errors.js';
import { isPromiseLike } from '../model/awaitable.js';
import type { InferenceResponseOptions } from '../model/inference-response.js';
import type { Parameters } from '../model/parameters.js';
import type { ResolvedOutputs } from '../model/resolve-outputs.js';

/** The result of one request: its outputs, or why it failed. */
export type HostResult = ResolvedOutputs | TritonError;

/** Stands in the place of the result of a request that is to be executed again. */
export const RESCHEDULED: ResolvedOutputs = Object.freeze([]) as unknown as ResolvedOutputs;

/** The callable's time for a batch, in milliseconds. */
export interface HostTimes {
  readonly inferMs: number;
  /** After a batch failed and ran again: the time of each request alone, undefined for a request that did not run. */
  readonly aloneMs?: readonly (number | undefined)[] | undefined;
}

/** The host calls it once. It must not throw. */
export type HostDone = (
  results: readonly HostResult[],
  times: HostTimes,
  parameters?: readonly (Parameters | undefined)[],
) => void;

/** Takes the answers of a decoupled model's callable as they come. */
export interface HostStream {
  /**
   * Takes an answer to request `index`, and copies it before it returns. A final one ends the request. Returns a promise when the
   * reader is slow.
   */
  respond(index: number, outputs: ResolvedOutputs, more: InferenceResponseOptions | undefined): void | Promise<void>;
  /** Ends request `index`, which has had all its answers or failed. */
  end(index: number, error?: TritonError): void;
}

/** The checked form of a callable's result, and what an InferenceResponse says beside it. */
export interface ResolvedResult {
  readonly outcome: HostResult;
  readonly more: InferenceResponseOptions | undefined;
}

/** Returns a callable's list of results. Throws INTERNAL when it is not a list, or has another length. */
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

// Lists of results may have promises in the places of requests: an asynchronous function per request makes such lists. If
// nobody handled a rejected promise of the list, it would end the process.

/** Takes the place of a rejected promise. */
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

/** Waits for each promise in a list of results, because each may fail alone. */
export async function awaitEach(result: unknown): Promise<unknown> {
  if (!hasPromise(result)) return result;
  const settled = await Promise.allSettled(result);
  return settled.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value : new Rejected(outcome.reason)));
}
