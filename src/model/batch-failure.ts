// A callable that throws fails all requests that it was called for, and each client is told the text, as by Triton and
// PyTriton. The text may be about the data of one of them. The mark on the error lets a server mask it for all.

import { reworded, type TritonError } from '../errors.js';

const OF_BATCH = Symbol.for('tstriton.ofBatch');

/** What each of `count` requests fails with when the callable throws `error`. */
export function batchFailure(error: TritonError, count: number): TritonError {
  return count > 1 ? markBatchFailure(reworded(error, error.message)) : error;
}

export function markBatchFailure(error: TritonError): TritonError {
  return Object.defineProperty(error, OF_BATCH, { value: true });
}

/** Whether several requests fail with this, and nobody knows whose data it is about. */
export function isBatchFailure(error: TritonError): boolean {
  return OF_BATCH in error;
}
