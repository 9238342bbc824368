// The contract between the engine and what executes batches, wherever that is: in the server's own thread or
// across a message port. The engine never knows which.

import type { TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import type { MetricsUpdate } from '../../observability/metrics.js';
import type { InferenceResponseOptions } from '../../model/inference-response.js';
import type { Parameters } from '../../model/parameters.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import type { SequenceEndReason } from '../../model/sequence-batching.js';
import type { StartedTrace } from '../../observability/traces.js';

/** What an execution needs of one request. */
export interface ExecutionRequest {
  readonly id: string;
  readonly parameters: Parameters | undefined;
  /** One place per declared input, in declaration order; undefined where an optional one was not sent. */
  readonly inputs: readonly (InferTensor | undefined)[];
  /** Rows of the batch axis; 1 when the model does not batch. */
  readonly rows: number;
  /** See `memory` of ModelInferRequest. */
  readonly memory: readonly ArrayBuffer[] | undefined;
  /** See `callers` of ModelInferRequest. */
  readonly callers?: readonly string[] | undefined;
  /** As the client named it; 0 or undefined for none. */
  readonly priority?: number;
  readonly timeoutMicroseconds?: number;
  /** Undefined for a request that is not traced. */
  readonly trace?: StartedTrace | undefined;
  /** Names of the outputs that the client wants; empty for all. */
  readonly requestedOutputs: readonly string[];
  /** Undefined for a request that is of no sequence. */
  readonly sequence?: RequestSequence | undefined;
  /** Where the model batches by sequences. */
  readonly live?: SequencePlace | undefined;
}

/** Which sequence of its model a request belongs to, and which row of a batch is its own. */
export interface SequencePlace {
  /** Tells sequences of one id apart that follow each other. */
  readonly serial: number;
  readonly slot: number;
  /** The request was given the sequence: it has no other request. */
  readonly isOwn?: boolean;
}

/** What became of one request of a batch. */
export type ExecutionResult =
  | {
      readonly kind: 'outputs';
      readonly outputs: readonly InferTensor[];
      readonly parameters: Parameters | undefined;
      /** See `memory` of ModelInferResponse. */
      readonly memory?: ArrayBuffer | undefined;
    }
  /** The request is to be executed again. */
  | { readonly kind: 'again' }
  | { readonly kind: 'error'; readonly error: TritonError };

/** Milliseconds of the parts of an execution. */
export interface ExecutionTimes {
  /** From the dispatch until the callable runs. */
  readonly computeInput: number;
  /** The callable. */
  readonly computeInfer: number;
  /** From the callable's return until the results are here. */
  readonly computeOutput: number;
  /**
   * Of a batch that failed and ran again, what each request took alone, which `computeInfer` has too; undefined in the
   * place of a request that did not run.
   */
  readonly computeAlone?: readonly (number | undefined)[] | undefined;
}

/**
 * Called once when an execution ends; `results` has one entry per request, in order; `metrics` is what the callable
 * recorded of its own.
 */
export type ExecutionDone = (
  results: readonly ExecutionResult[],
  times: ExecutionTimes,
  metrics?: MetricsUpdate,
) => void;

/** Where the answers of a decoupled model's execution go before it is done. */
export interface ResponseStream {
  /** An answer to request `index`. A final one ends it. A promise: its reader is slow, and its next answer should wait. */
  respond(
    index: number,
    outputs: readonly InferTensor[],
    more: InferenceResponseOptions | undefined,
  ): void | Promise<void>;
  /** Request `index`, which had no final answer, has had all its answers, or failed. */
  end(index: number, error?: TritonError): void;
  /** What the callable recorded of its own metrics so far. */
  recordMetrics(update: MetricsUpdate): void;
}

/** An execution under way. */
export interface Execution {
  /** The client of request `index` of the batch is gone. */
  cancel(index: number): void;
}

/** An execution that begins when those before it have ended. */
export interface AheadExecution extends Execution {
  /** Takes it back: it never begins, and `done` is never called. False: it has begun. */
  takeBack(): boolean;
}

/** Runs the batches of one instance of a model. */
export interface ModelInstance {
  /** True: a batch takes nothing of this thread's time. */
  readonly inOtherThread?: boolean;
  /** Of an instance with a thread of its own: ends it, whatever it does, for this reason. It is lost then, and comes again. */
  readonly end?: ((reason: string) => void) | undefined;
  /** A sequence is over without an END that was executed: nobody needs its state any more. */
  endSequence?(serial: number, reason: SequenceEndReason): void;
  /**
   * Runs a batch. `done` is called exactly once, possibly before this returns; when the instance dies, with
   * UNAVAILABLE for every request. A decoupled model answers through `stream`; `done` then only tells that the
   * execution is over, fails the requests that have not ended, and says which are to be executed again.
   */
  execute(batch: readonly ExecutionRequest[], done: ExecutionDone, stream?: ResponseStream): Execution;
  /**
   * Hands over a batch while the instance works on others: it begins without waiting for their answers to arrive. Undefined
   * where an instance cannot give such a batch back. The inputs stay the caller's, who may need them again.
   */
  readonly executeAhead?: ((batch: readonly ExecutionRequest[], done: ExecutionDone) => AheadExecution) | undefined;
  /** Sends at once the batches that would otherwise go together at the end of the current task. */
  flush?(): void;
}
