// Declares the options of a model beyond its tensors, with PyTriton's names in camelCase and PyTriton's defaults. They
// are plain objects; `complete-model.ts` checks them and fills in the defaults.

import type { ModelWarmup } from './model-warmup.js';
import type { SequenceBatching } from './sequence-batching.js';
import type { VersionPolicy } from './version-policy.js';

/** What happens to a request that waited longer than its timeout. */
export const TimeoutAction = { REJECT: 'REJECT', DELAY: 'DELAY' } as const;
export type TimeoutAction = (typeof TimeoutAction)[keyof typeof TimeoutAction];

/** Triton's ModelQueuePolicy. */
export interface QueuePolicy {
  /** REJECT answers an expired request with UNAVAILABLE; DELAY lets it wait behind the unexpired. Default REJECT. */
  readonly timeoutAction?: TimeoutAction;
  /** How long a request may wait in the queue; 0 (default) means forever. */
  readonly defaultTimeoutMicroseconds?: number;
  /** Whether a request's own `timeout` parameter may shorten the default. Default false. */
  readonly allowTimeoutOverride?: boolean;
  /** How many requests may wait; one more is refused with UNAVAILABLE. 0 (default) means no limit. */
  readonly maxQueueSize?: number;
}

/** Triton's ModelDynamicBatching. */
export interface DynamicBatcher {
  /** How long the oldest request may wait for others to join its batch. Default 0: no longer than the instance is busy. */
  readonly maxQueueDelayMicroseconds?: number;
  /** Batch sizes (rows) to send as soon as they are reached. Default: the maximum batch size. */
  readonly preferredBatchSize?: readonly number[];
  /** Whether answers go out in the order of their requests. Default false. */
  readonly preserveOrdering?: boolean;
  /**
   * Whether requests of each shape wait in a queue of their own, so that they share batches however the shapes are mixed.
   * The queue of the most urgent, then of the oldest request goes first. Not in Triton. Default false.
   */
  readonly groupByShape?: boolean;
  /** Number of priority levels, 1 being the most urgent; 0 (default) means none. */
  readonly priorityLevels?: number;
  /** The level of requests without one; 1 … priorityLevels when there are levels. */
  readonly defaultPriorityLevel?: number;
  /** The policy of the queue, and of levels without their own. */
  readonly defaultQueuePolicy?: QueuePolicy;
  /** Policies by priority level. */
  readonly priorityQueuePolicy?: Readonly<Record<number, QueuePolicy>>;
}

/** Options of a model. */
export interface ModelConfig<Decoupled extends boolean = boolean> {
  /** Whether tensors have a batch axis and requests join batches. Default true. */
  readonly batching?: boolean;
  /** Largest number of rows of a batch, >= 1. Default 4. */
  readonly maxBatchSize?: number;
  /** The dynamic batcher; `null` executes each request alone. Default `{}`. */
  readonly batcher?: DynamicBatcher | null;
  /**
   * Batches by sequences in place of the dynamic batcher: all requests of a sequence reach the same instance, in order. Default:
   * none, where a request's sequence is for the callable alone.
   */
  readonly sequenceBatching?: SequenceBatching;
  /** Batches of an asynchronous callable that may run at the same time on one instance. Default 1; of a decoupled model any number. */
  readonly concurrency?: number;
  /**
   * Whether the response cache keeps answers and sends them for identical requests. Needs a cache in TritonConfig.
   * Default false.
   */
  readonly responseCache?: boolean;
  /**
   * How long the callable may work on a batch. Then its unanswered requests fail with UNAVAILABLE and their signals
   * abort. The instance takes its next batch when the callable has settled. When that takes another second, a thread of
   * an instance group restarts, and a callable of your thread makes its model not ready. 0 (default) means any time.
   */
  readonly executionTimeoutMicroseconds?: number;
  /**
   * Whether a failed batch runs again, one request at a time, so that only the faulty requests fail. The callable sees
   * the other requests twice. Not for decoupled models. Default false; of `onnx()` true.
   */
  readonly isolateFailures?: boolean;
  /** Whether the model sends any number of responses per request. Default false. */
  readonly decoupled?: Decoupled;
  /** Which of the bound versions are served. Default: every one. */
  readonly versionPolicy?: VersionPolicy;
  /** Requests that every instance answers before the model is ready; one that fails is a failed load. Default none. */
  readonly modelWarmup?: readonly ModelWarmup[];
}
