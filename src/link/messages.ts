// What crosses between the server's thread and a callable's thread: one message per batch and one per list of
// results. Tuples rather than records, because structured clone spells out every key of a record. Tensors and
// their layout travel in ArrayBuffers that are transferred, never cloned.

import type { ErrorCode } from '../errors.js';
import type { Parameters } from '../model/callable.js';

export const EXECUTE = 0;
export const CANCEL = 1;
export const RESULTS = 2;

/** What few requests have; undefined where none of the batch has it. */
export interface RequestExtras {
  readonly ids: readonly string[] | undefined;
  readonly parameters: readonly (Parameters | undefined)[] | undefined;
  readonly requestedOutputs: readonly (readonly string[])[] | undefined;
}

/** To the callable: run a batch. `buffers[0]` is the frame of {@link encodeBatch}. */
export type ExecuteMessage = readonly [kind: typeof EXECUTE, id: number, buffers: readonly ArrayBuffer[], extras: RequestExtras | undefined];

/** To the callable: the client of one request of a batch is gone. */
export type CancelMessage = readonly [kind: typeof CANCEL, id: number, index: number];

/**
 * From the callable: what became of a batch. `startedAt` is when the callable began, in milliseconds since the
 * epoch on the monotonic clock of its thread (`performance.timeOrigin + performance.now()`).
 */
export type ResultsMessage = readonly [
  kind: typeof RESULTS,
  id: number,
  frame: ArrayBuffer,
  errors: readonly (readonly [code: ErrorCode, message: string])[] | undefined,
  startedAt: number,
  inferMs: number,
];

/** Milliseconds since the epoch on a clock that never jumps; comparable between threads. */
export function sharedNow(): number {
  return performance.timeOrigin + performance.now();
}
