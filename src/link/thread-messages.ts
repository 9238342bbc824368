// The messages between an instance's thread and its supervisor. Batches do not pass here: the thread has its own port to
// the server.

import type { MessagePort } from 'node:worker_threads';

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { SentFailure } from './sent-error.js';

/** The data that the thread starts with. */
export interface ThreadData {
  readonly url: string;
  /** The URL of tsx's API, when the program runs under tsx. */
  readonly tsx: string | undefined;
  readonly instance: number;
  readonly args: unknown;
  readonly config: CompleteModelConfig;
  readonly verboseLevel: number;
  /** Whether requests may be traced: their spans are made in the thread. */
  readonly traces: boolean;
  /** Brings batches from the server. */
  readonly port: MessagePort;
}

/** A message from the thread. */
export type ThreadReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly failure: SentFailure }
  /** The thread loads native code, which a forced end may interrupt in the middle of its work. */
  | { readonly kind: 'native code'; readonly file: string }
  | { readonly kind: 'unrecoverable'; readonly failure: SentFailure }
  | { readonly kind: 'log'; readonly level: 'error' | 'warn' | 'info'; readonly message: string }
  | { readonly kind: 'log'; readonly level: number; readonly message: string };

/** A message to the thread: tear down and end, end as soon as it reads this, or take batches from a new port. */
export type ThreadCall =
  { readonly kind: 'stop' } | { readonly kind: 'end' } | { readonly kind: 'connect'; readonly port: MessagePort };
