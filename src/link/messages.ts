// The messages between an instance and the host of its callable: one message per batch and one per list of results.
// They are tuples rather than records, because structured clone spells out every key of a record. Tensors and their
// layout travel in ArrayBuffers that are handed over, never cloned.

import type { MetricsUpdate } from '../observability/metrics.js';
import type { ModelCall } from '../model/model-calls.js';
import type { Parameters } from '../model/parameters.js';
import type { RequestSequence } from '../model/request-sequence.js';
import type { SequenceEndReason } from '../model/sequence-batching.js';
import type { BatchTraces } from '../observability/traces.js';
import type { Channel } from './channel.js';
import type { ClaimWords } from './claims.js';
import type { SentError } from './sent-error.js';

/** In a layout of responses these stand in place of the number of outputs: the request ended, or failed. */
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
export const END_SEQUENCE = 10;
export const CLAIMS = 11;
export const DIRECT = 12;

/** Members that few requests have. A member is undefined where no request of the batch has it. */
export interface RequestExtras {
  readonly ids: readonly string[] | undefined;
  readonly parameters: readonly (Parameters | undefined)[] | undefined;
  readonly requestedOutputs: readonly (readonly string[])[] | undefined;
  /** Set where any of the requests names one. */
  readonly priorities?: readonly number[] | undefined;
  readonly timeouts?: readonly number[] | undefined;
  /** Set where any of the requests is of a sequence. */
  readonly sequences?: readonly (RequestSequence | undefined)[] | undefined;
  /** Set where the model batches by sequences: for each request, its sequence's serial number, its slot, and 1 if the sequence is its own. */
  readonly places?: readonly number[] | undefined;
  /** The models on whose behalf any of the requests is made, for the whole batch. */
  readonly callers?: readonly string[] | undefined;
  /** Set where any of the requests is traced. */
  readonly traces?: BatchTraces | undefined;
}

/** A batch to run. `buffers[0]` is the frame of {@link encodeBatch}. A batch with a `claim` may be taken back, see `claims.ts`. */
export type SentExecution = readonly [
  id: number,
  buffers: readonly ArrayBuffer[],
  extras?: RequestExtras | undefined,
  claim?: number,
];

/** To the callable: run these batches, one after the other. */
export type ExecuteMessage = readonly [kind: typeof EXECUTE, executions: readonly SentExecution[]];

/** To the callable: the memory in which both ends agree on who has a batch that was sent ahead. */
export type ClaimsMessage = readonly [kind: typeof CLAIMS, words: ClaimWords];

/**
 * To the callable, from the thread of a link: it may connect to the server itself. The module exports what connects, see
 * `DirectModule` in `host-port.ts`.
 */
export type DirectMessage = readonly [kind: typeof DIRECT, module: string, options: unknown];

/** From the callable, to the thread of the link: whether it has that connection, and why not. False after true: it was lost. */
export type DirectAnswer = readonly [kind: typeof DIRECT, isThere: boolean, reason: string | undefined];

/** To the callable: the client of one request of a batch is gone. */
export type CancelMessage = readonly [kind: typeof CANCEL, id: number, index: number];

/** From the callable: the results of batches, and the metrics that the callable recorded meanwhile. */
export type ResultsMessage = readonly [
  kind: typeof RESULTS,
  results: readonly SentResults[],
  metrics?: MetricsUpdate | undefined,
];

/**
 * The results of a batch. Without a frame the whole batch failed, for the reason of the only error. Otherwise
 * `encodeResults` made the frame and the errors. `startedAt` is when the callable began, on the channel's clock. For
 * `aloneMs` see `HostTimes`.
 */
export type SentResults = readonly [
  id: number,
  frame: ArrayBuffer | undefined,
  errors: readonly SentError[] | undefined,
  startedAt: number,
  inferMs: number,
  parameters?: readonly (Parameters | undefined)[] | undefined,
  aloneMs?: readonly (number | undefined)[] | undefined,
];

/**
 * From the callable of a decoupled model, before its results: answers and ends in the order in which they came. Each entry
 * of `layout` is the request's index, and then its outputs as `encodeOutputs` writes them, or RESPONSES_ENDED, or
 * RESPONSES_FAILED. A failed request has the next of `errors`. An answer that ends its request has the index `~index`.
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

/** To the callable: the reader of request `index` has taken this number of answers and of bytes. */
export type AcknowledgeMessage = readonly [
  kind: typeof ACKNOWLEDGE,
  id: number,
  index: number,
  count: number,
  bytes: number,
];

/** Lists of tensors, see `call-frame.ts`. `kinds`: names and datatypes in turn. `buffers[0]` is the frame. The sender hands all buffers over. */
export type SentTensors = readonly [kinds: readonly string[], buffers: readonly ArrayBuffer[]];

/** What calls have in common that a callable makes in the same way: all but the inputs. */
export type CallHead = readonly [
  modelName: string,
  modelVersion: string,
  callers: readonly string[],
  outputs: readonly string[],
  priority: number,
  timeoutMicroseconds: number,
  streams: boolean,
  parameters: Parameters | undefined,
  traceContext: ModelCall['traceContext'],
];

/**
 * From the callable: its calls of other models in one turn. `calls` has the id of each call and the index of its head, in
 * turn; `inputs` has a list for each call.
 */
export type CallMessage = readonly [
  kind: typeof CALL,
  heads: readonly CallHead[],
  calls: readonly number[],
  inputs: SentTensors,
];

/** To the callable: one response to a call that streams. */
export type CallResponseMessage = readonly [kind: typeof CALL_RESPONSE, id: number, outputs: SentTensors];

/** From the callable: a response to a call has been taken. */
export type CallTakenMessage = readonly [kind: typeof CALL_TAKEN, id: number];

/**
 * To the callable: the answers to its calls in one turn, or the ends of calls that stream. `outputs` has a list for each
 * answer. A call that failed has the next of `errors`.
 */
export type CalledMessage = readonly [
  kind: typeof CALLED,
  ids: readonly number[],
  outputs: SentTensors,
  errors: readonly SentError[] | undefined,
];

/** From the callable: it no longer waits for this call. */
export type CancelCallMessage = readonly [kind: typeof CANCEL_CALL, id: number];

/** To the callable: a sequence is over, so its state may be dropped. */
export type EndSequenceMessage = readonly [kind: typeof END_SEQUENCE, serial: number, reason: SequenceEndReason];

/** The two ends of a channel. */
export type InstanceChannel = Channel<ToHost, ToInstance>;
export type HostChannel = Channel<ToInstance, ToHost>;

export type ToHost =
  | EndSequenceMessage
  | ExecuteMessage
  | ClaimsMessage
  | CancelMessage
  | AcknowledgeMessage
  | CalledMessage
  | CallResponseMessage;
export type ToInstance = ResultsMessage | ResponsesMessage | CallMessage | CallTakenMessage | CancelCallMessage;
