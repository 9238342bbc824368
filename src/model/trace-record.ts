// Traces as plain data: what crosses from the engine to where the spans are made.

import type { ErrorCode } from '../errors.js';
import type { TraceContext } from './trace-context.js';

/** A traced request on its way to a callable, whose thread makes its spans. */
export interface StartedTrace {
  /** The caller's; undefined for a trace that begins here. */
  readonly context: TraceContext | undefined;
  /** When the request arrived, in milliseconds since the epoch. */
  readonly startedAt: number;
}

/** A traced request that ended without a callable: its spans are made when it is over. */
export interface EndedTrace extends StartedTrace {
  readonly modelName: string;
  readonly modelVersion: number;
  readonly requestId: string;
  readonly endedAt: number;
  /** How it got no further. */
  readonly outcome:
    | { readonly kind: 'cached' }
    | { readonly kind: 'failed'; readonly queued: boolean; readonly code: ErrorCode; readonly message: string };
}

/** The traces of a batch. */
export interface BatchTraces {
  /** When the batch was sent, in milliseconds since the epoch. */
  readonly dispatchedAt: number;
  /** By the requests' places; undefined for those that are not traced. */
  readonly requests: readonly (StartedTrace | undefined)[];
}
