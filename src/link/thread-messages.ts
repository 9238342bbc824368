// What an instance's thread and its supervisor say to each other. Batches do not pass here: the thread has a port
// to the server of its own.

import type { MessagePort } from 'node:worker_threads';

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { SentFailure } from './sent-error.js';

/** What the thread starts with. */
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
  /** Batches come in here, from the server. */
  readonly port: MessagePort;
}

/** From the thread. */
export type ThreadReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'failed'; readonly failure: SentFailure }
  /** It loads native code, which may be in the midst of something when the thread is ended by force. */
  | { readonly kind: 'native code'; readonly file: string }
  | { readonly kind: 'unrecoverable'; readonly failure: SentFailure }
  | { readonly kind: 'log'; readonly level: 'error' | 'warn' | 'info'; readonly message: string }
  | { readonly kind: 'log'; readonly level: number; readonly message: string };

/** To the thread: tear down and end; end, as soon as it hears of it; or take batches from another port than before. */
export type ThreadCall =
  { readonly kind: 'stop' } | { readonly kind: 'end' } | { readonly kind: 'connect'; readonly port: MessagePort };
