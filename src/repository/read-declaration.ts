// What the module of a model declares, read in a thread that ends with it.

import { Worker } from 'node:worker_threads';

import { TritonError } from '../errors.js';
import { runningTsx } from '../host/running-tsx.js';
import { threadFlags } from '../host/thread-flags.js';
import { receiveFailure, type SentFailure } from '../link/sent-error.js';
import { unlessInterrupted } from '../lifecycle/interrupted-load.js';
import { ServedTimer } from '../pacing/served-timer.js';
import type { Declaration } from './declaration.js';

export interface DeclarationRequest {
  /** Of the module. */
  readonly url: string;
  /** The URL of tsx's API, when the program runs under tsx. */
  readonly tsx: string | undefined;
  /** The model's, by its folders. */
  readonly name: string;
  readonly version: number;
}

/** The declaration is undefined where the module exports a callable alone. */
export type DeclarationReply = { readonly declaration: Declaration | undefined } | { readonly failure: SentFailure };

/** How long a module may take to be imported, in milliseconds. */
const LONGEST_IMPORT = 60_000;

/** Undefined: the module exports a callable alone. Rejects with what its import failed with, or with the signal's reason. */
export async function readDeclaration(
  request: Omit<DeclarationRequest, 'tsx'>,
  signal: AbortSignal,
): Promise<Declaration | undefined> {
  const data: DeclarationRequest = { ...request, tsx: runningTsx() };
  const worker = new Worker(new URL('./declaration-thread.js', import.meta.url), {
    workerData: data,
    execArgv: threadFlags(),
    name: `${request.name}-declaration`,
  });
  let timer: ServedTimer | undefined;
  const unavailable = (what: string, cause?: unknown) =>
    new TritonError('UNAVAILABLE', `the module ${request.url} ${what}`, { cause });
  try {
    const read = new Promise<DeclarationReply>((resolve, reject) => {
      worker.on('message', resolve);
      worker.on('error', (error) =>
        reject(unavailable(`failed while it was imported: ${TritonError.from(error).message}`, error)),
      );
      worker.on('exit', (code) => reject(unavailable(`ended its thread with code ${code} while it was imported`)));
      const late = () => reject(unavailable(`was not imported within ${LONGEST_IMPORT / 1000} s`));
      timer = new ServedTimer(late, LONGEST_IMPORT, { keepsAlive: true, renewals: 1 });
    });
    const reply = await unlessInterrupted(read, signal);
    if ('failure' in reply) throw receiveFailure(reply.failure);
    return reply.declaration;
  } finally {
    timer?.clear();
    await worker.terminate();
  }
}
