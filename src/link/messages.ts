// What crosses the channel between an instance and the host of its callable: one message per batch and one per list of
// results. Tuples rather than records, because structured clone spells out every key of a record. Tensors and
// their layout travel in ArrayBuffers that are handed over, never cloned.

import type { InferTensor } from '../model/exchange.js';
import type { MetricsUpdate } from '../model/metrics.js';
import type { ModelCall } from '../model/model-calls.js';
import type { Parameters } from '../model/parameters.js';
import type { RequestSequence } from '../model/request-sequence.js';
import type { BatchTraces } from '../model/traces.js';
import type { Channel } from './channel.js';
import type { SentError } from './sent-error.js';

/** In a layout of responses, in the place of a number of outputs: a request ended, or failed. */
export const RESPONSES_ENDED = -1;
export const RESPONSES_FAILED = -2;

export const EXECUTE = 0;
export const CANCEL = 1;
export const RESULTS = 2;
export const RESPONSES = 3;
export const ACKNOWLEDGE = 4;
export const CALL = 5;
export const CALLED = 6;
export const CANCEL_CALL = 7;
export const CALL_RESPONSE = 8;
export const CALL_TAKEN = 9;

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
 * error; otherwise frame and errors are those of `encodeResults`. `startedAt` is when the callable began, on the clock of
 * the channel; for `aloneMs` see `HostTimes`.
 */
export type ResultsMessage = readonly [
  kind: typeof RESULTS,
  id: number,
  frame: ArrayBuffer | undefined,
  errors: readonly SentError[] | undefined,
  startedAt: number,
  inferMs: number,
  parameters?: readonly (Parameters | undefined)[] | undefined,
  metrics?: MetricsUpdate | undefined,
  aloneMs?: readonly (number | undefined)[] | undefined,
];

/**
 * From the callable of a decoupled model, before its results: answers and ends in the order in which they came.
 * `layout` has per entry the request's index and then its outputs as `encodeOutputs` writes them, or RESPONSES_ENDED, or
 * RESPONSES_FAILED,
 * with the next of `errors`.
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

/** The two ends of a channel. */
export type InstanceChannel = Channel<ToHost, ToInstance>;
export type HostChannel = Channel<ToInstance, ToHost>;

export type ToHost = ExecuteMessage | CancelMessage | AcknowledgeMessage | CalledMessage | CallResponseMessage;
export type ToInstance = ResultsMessage | ResponsesMessage | CallMessage | CallTakenMessage | CancelCallMessage;
