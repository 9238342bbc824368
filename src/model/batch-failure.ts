// Marks an error that fails several requests. A callable that throws fails all requests of its call, and each client
// reads the text, as with Triton and PyTriton. The text may be about the data of one client. The mark lets a server
// mask it for all.

import { reworded, type TritonError } from '../errors.js';

const OF_BATCH = Symbol.for('tstriton.ofBatch');

/** The error for each of `count` requests when the callable throws `error`. */
export function batchFailure(error: TritonError, count: number): TritonError {
  return count > 1 ? markBatchFailure(reworded(error, error.message)) : error;
}

export function markBatchFailure(error: TritonError): TritonError {
  return Object.defineProperty(error, OF_BATCH, { value: true });
}

/** Whether several requests fail with this error, so that it may be about anybody's data. */
export function isBatchFailure(error: TritonError): boolean {
  return OF_BATCH in error;
}
