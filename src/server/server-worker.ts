// One life of the server's thread, seen from the user's thread: calls by number, and what comes of them when it dies.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import type { Transferable, Worker } from 'node:worker_threads';

import { TritonError } from '../errors.js';
import { receiveFailure } from '../link/sent-error.js';
import type {
  ControlCall,
  ControlReply,
  ControlRequest,
  HostReply,
  ServerMessage,
  ServerThreadData,
} from './control-messages.js';
import { startWatchingThread } from './watching-thread.js';

export interface ServerWorkerListeners {
  /** What the thread says beside its replies. */
  readonly onMessage: (message: Exclude<ServerMessage, ControlReply>) => void;
  /** It ended without having been asked to, after its calls were rejected with the same error. */
  readonly onDeath: (error: TritonError) => void;
}

interface Waiting {
  readonly resolve: (reply: ControlReply) => void;
  readonly reject: (error: TritonError) => void;
}

export class ServerWorker {
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  readonly #startedAt = performance.now();
  #nextId = 0;
  #terminating = false;
  /** What calls fail with, since it is over. */
  #over: TritonError | undefined;

  /** Throws UNSUPPORTED where the thread's entry is not to be found. */
  constructor(workerData: ServerThreadData, { onMessage, onDeath }: ServerWorkerListeners) {
    this.#worker = startWatchingThread(threadEntry(), { workerData, name: 'tstriton-server' });
    this.#worker.on('message', (message: ServerMessage) => {
      if (message.kind === 'reply') this.#answered(message);
      else onMessage(message);
    });
    let cause: unknown;
    this.#worker.on('error', (error) => (cause ??= error));
    this.#exited = new Promise((resolve) =>
      this.#worker.once('exit', (code) => {
        cause ??= new Error(`it exited with code ${code}`);
        const message = `the server's thread ended: ${TritonError.from(cause).message}`;
        const error = new TritonError('UNAVAILABLE', message, { cause });
        this.#end(error);
        resolve();
        if (!this.#terminating) onDeath(error);
      }),
    );
  }

  /** Milliseconds since it was started. */
  get age(): number {
    return performance.now() - this.#startedAt;
  }

  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** Rejects with UNAVAILABLE when the thread ends before it answers. */
  call(call: ControlCall, transfer: readonly Transferable[] = []): Promise<ControlReply> {
    if (this.#over !== undefined) return Promise.reject(this.#over);
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ kind: 'call', id, call } satisfies ControlRequest, [...transfer]);
    });
  }

  /** Answers what the thread asked. */
  reply(reply: HostReply): void {
    this.#worker.postMessage(
      reply,
      reply.ports.map(({ port }) => port),
    );
  }

  /** Ends the thread, if it has not ended, whatever it does. */
  async terminate(): Promise<void> {
    this.#terminating = true;
    this.#end(new TritonError('UNAVAILABLE', "the server's thread has ended"));
    await this.#worker.terminate();
    await this.#exited;
  }

  #answered(reply: ControlReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.error === undefined) waiting?.resolve(reply);
    else waiting?.reject(receiveFailure(reply.error));
  }

  #end(error: TritonError): void {
    this.#over ??= error;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}

function threadEntry(): URL {
  const entry = new URL('./server-thread.js', import.meta.url);
  if (entry.protocol === 'file:' && existsSync(fileURLToPath(entry))) return entry;
  throw new TritonError(
    'UNSUPPORTED',
    `the entry of the server's thread was not found at ${entry.href}, as happens in a bundle; set serverThread: false to run the server in this thread`,
  );
}
