// An execution of a callable, as its caller sees it.

import type { BatchTraces } from '../observability/traces.js';
import type { HostStream } from './host-results.js';

/** A batch that the callable is working on. */
export interface HostExecution {
  /** Cancels request `index`, whose client is gone. */
  cancel(index: number): void;
  /** Cancels all requests. */
  cancelAll(): void;
}

/** Members that only some batches have. */
export interface HostBatch {
  /** Set for decoupled models: takes the answers as they come. */
  readonly stream?: HostStream | undefined;
  /** The models on whose behalf the batch runs. */
  readonly callers?: readonly string[] | undefined;
  /** Set where any of the requests is traced. */
  readonly traces?: BatchTraces | undefined;
}
