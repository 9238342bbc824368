// What an instance's thread and its supervisor say to each other. Batches do not pass here: the thread has a port
// to the server of its own.

import type { MessagePort } from 'node:worker_threads';

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { TritonError, TritonUnrecoverableError } from '../errors.js';
import { sendError, type SentError } from './messages.js';

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
  | { readonly kind: 'unrecoverable'; readonly failure: SentFailure }
  | { readonly kind: 'log'; readonly level: 'error' | 'warn' | 'info'; readonly message: string }
  | { readonly kind: 'log'; readonly level: number; readonly message: string };

/** An error on its way to whoever holds the server: unlike a client they learn of the cause, and of its stack. */
export interface SentFailure {
  readonly error: SentError;
  readonly isUnrecoverable: boolean;
  readonly cause: SentCause | undefined;
}

interface SentCause {
  readonly message: string;
  readonly stack: string | undefined;
}

export function sendFailure(error: TritonError): SentFailure {
  return { error: sendError(error), isUnrecoverable: TritonUnrecoverableError.is(error), cause: causeOf(error) };
}

function causeOf({ cause }: TritonError): SentCause | undefined {
  if (cause === undefined) return undefined;
  return { message: TritonError.from(cause).message, stack: cause instanceof Error ? cause.stack : undefined };
}

export function receiveFailure({ error: [code, message], isUnrecoverable, cause }: SentFailure): TritonError {
  const options = cause === undefined ? {} : { cause: Object.assign(new Error(cause.message), { stack: cause.stack }) };
  return isUnrecoverable ? new TritonUnrecoverableError(message, options) : new TritonError(code, message, options);
}

/** To the thread: tear down and end. */
export interface ThreadStop {
  readonly kind: 'stop';
}
