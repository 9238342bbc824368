// Tells a caller's `onTimings`, which only looks on: its failure is told to the process, and no failure of the call.

import { logTextOf, TritonError } from '../errors.js';
import { isPromiseLike } from '../model/awaitable.js';
import type { CallTimings } from './call-timings.js';

export function tellTimings(onTimings: (timings: CallTimings) => void, timings: CallTimings): void {
  try {
    // An asynchronous function is one that gives nothing too.
    const told: unknown = onTimings(timings);
    if (isPromiseLike(told)) Promise.resolve(told).catch(warnOf);
  } catch (error) {
    warnOf(error);
  }
}

/** What there is of these differs between Node, browsers and the bundlers for browsers. */
interface Surroundings {
  readonly process?: Partial<NodeJS.Process>;
  readonly reportError?: (error: unknown) => void;
}

function warnOf(error: unknown): void {
  const { process, reportError } = globalThis as Surroundings;
  if (process?.emitWarning === undefined) return reportError?.(error);
  process.emitWarning(`onTimings failed: ${logTextOf(TritonError.from(error))}`, 'TSTritonWarning');
}
