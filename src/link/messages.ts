// What crosses between the server's thread and a callable's thread: one message per batch and one per list of
// results. Tuples rather than records, because structured clone spells out every key of a record. Tensors and
// their layout travel in ArrayBuffers that are transferred, never cloned.

import type { InferTensor } from '../model/exchange.js';
import type { ModelCall } from '../model/model-calls.js';
import type { MetricsUpdate } from '../model/metrics-update.js';
import type { Parameters } from '../model/parameters.js';
import type { RequestSequence } from '../model/request-sequence.js';
import type { StartedTrace } from '../model/trace-record.js';
import type { SentError } from './sent-error.js';

export const EXECUTE = 0;
export const CANCEL = 1;
export const RESULTS = 2;
export const RESPONSES = 3;
export const ACKNOWLEDGE = 4;
export const CALL = 5;
export const CALLED = 6;
export const CANCEL_CALL = 7;
export const CALL_RESPONSE = 9;
export const CALL_TAKEN = 10;

/** What few requests have; undefined where none of the batch has it. */
export interface RequestExtras {
  readonly ids: readonly string[] | undefined;
  readonly parameters: readonly (Parameters | undefined)[] | undefined;
  readonly requestedOutputs: readonly (readonly string[])[] | undefined;
  /** Where any of the requests is of a sequence. */
  readonly sequences?: readonly (RequestSequence | undefined)[] | undefined;
  /** The models on whose behalf any of the requests is made; of the whole batch. */
  readonly callers?: readonly string[] | undefined;
  /** Where any of the requests is traced. */
  readonly traces?: BatchTraces | undefined;
}

/** The traces of a batch. */
export interface BatchTraces {
  /** When the batch was sent, in milliseconds since the epoch. */
  readonly dispatchedAt: number;
  /** By the requests' places; undefined for those that are not traced. */
  readonly requests: readonly (StartedTrace | undefined)[];
}

/** To the callable: run a batch. `buffers[0]` is the frame of {@link encodeBatch}. */
export type ExecuteMessage = readonly [
  kind: typeof EXECUTE,
  id: number,
  buffers: readonly ArrayBuffer[],
  extras: RequestExtras | undefined,
];

/** To the callable: the client of one request of a batch is gone. */
export type CancelMessage = readonly [kind: typeof CANCEL, id: number, index: number];

/**
 * From the callable: what became of a batch. Without a frame the whole batch failed, for the reason of the only
 * error; otherwise there is an error for each request that has failed by the frame's header. `startedAt` is when
 * the callable began, on the clock of {@link sharedNow}.
 */
export type ResultsMessage = readonly [
  kind: typeof RESULTS,
  id: number,
  frame: ArrayBuffer | undefined,
  errors: readonly SentError[] | undefined,
  startedAt: number,
  inferMs: number,
  parameters?: readonly (Parameters | undefined)[] | undefined,
  metrics?: MetricsUpdate,
];

/**
 * From the callable of a decoupled model, before its results: answers and ends in the order in which they came.
 * `layout` has per entry the request's index and the number of outputs (-1: the request ended, -2: it failed,
 * with the next of `errors`), and per output: index, rank, dimensions…, offset into the buffer, length.
 */
export type ResponsesMessage = readonly [
  kind: typeof RESPONSES,
  id: number,
  buffer: ArrayBuffer,
  layout: readonly number[],
  errors: readonly SentError[] | undefined,
  parameters: readonly (Parameters | undefined)[] | undefined,
  metrics: MetricsUpdate | undefined,
];

/** To the callable: so many answers of request `index`, of so many bytes, have been taken by its reader. */
export type AcknowledgeMessage = readonly [
  kind: typeof ACKNOWLEDGE,
  id: number,
  index: number,
  count: number,
  bytes: number,
];

/** From the callable: it calls another model. The bytes of the inputs are transferred. */
export type CallMessage = readonly [kind: typeof CALL, id: number, call: ModelCall, streams: boolean];

/** To the callable: one of the responses to a call that streams. */
export type CallResponseMessage = readonly [kind: typeof CALL_RESPONSE, id: number, outputs: readonly InferTensor[]];

/** From the callable: a response to a call has been taken. */
export type CallTakenMessage = readonly [kind: typeof CALL_TAKEN, id: number];

/** To the callable: what came of a call; of one that streams, its end. */
export type CalledMessage = readonly [
  kind: typeof CALLED,
  id: number,
  outputs: readonly InferTensor[] | undefined,
  error: SentError | undefined,
];

/** From the callable: nobody waits for a call any more. */
export type CancelCallMessage = readonly [kind: typeof CANCEL_CALL, id: number];

/** Milliseconds on the machine's monotonic clock: the same one in all threads, whatever happens to the wall clock. */
export function sharedNow(): number {
  const [seconds, nanoseconds] = process.hrtime();
  return seconds * 1e3 + nanoseconds / 1e6;
}
