// Manages one life of the server's thread from the user's thread: it makes calls by number, and fails them when the
// thread dies.

import type { Transferable, Worker } from 'node:worker_threads';

import { TritonError } from '../errors.js';
import type { LogEntry } from '../logger.js';
import type {
  ControlCall,
  ControlReply,
  ControlRequest,
  HostReply,
  LogNotice,
  ServerMessage,
} from './control-messages.js';
import { ownFile } from '../link/own-file.js';
import { PendingReplies } from './pending-replies.js';
import { startWatchingThread } from './watching-thread.js';

export interface ServerWorkerListeners {
  /** Gets the thread's messages other than replies. */
  readonly onMessage: (message: Exclude<ServerMessage, ControlReply>) => void;
  /** Called when the thread ended by itself, after its calls were rejected with the same error. */
  readonly onDeath: (error: TritonError) => void;
}

/** The code of a thread that takes control calls. */
export interface ThreadEntry {
  /** Makes the URL of its compiled module: see `ownFile`. */
  readonly url: () => URL;
  /** The thread's name for Node. */
  readonly name: string;
  /** Its name in messages. */
  readonly called: string;
  /** What to do where the module is not there. */
  readonly advice: string;
}

const SERVER_THREAD: ThreadEntry = {
  // What the build makes of server-thread.ts.
  url: () => new URL('./server-thread.cjs', import.meta.url),
  name: 'tstriton-server',
  called: "the server's thread",
  advice: ', or set serverThread: false to run the server in this thread',
};

export class ServerWorker {
  readonly #called: string;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #calls = new PendingReplies<ControlReply>();
  readonly #startedAt = performance.now();
  /** Its end was asked for. */
  #terminating = false;
  /** The error of all calls after the thread's end. */
  #over: TritonError | undefined;

  /** Throws UNSUPPORTED when the thread's entry cannot be found. */
  constructor(workerData: object, { onMessage, onDeath }: ServerWorkerListeners, entry = SERVER_THREAD) {
    this.#called = entry.called;
    this.#worker = startWatchingThread(found(entry), { workerData, name: entry.name });
    this.#worker.on('message', (message: ServerMessage) => {
      if (message.kind === 'reply') this.#calls.settle(message);
      else onMessage(message);
    });
    let cause: unknown;
    this.#worker.on('error', (error) => (cause ??= error));
    this.#exited = new Promise((resolve) =>
      this.#worker.once('exit', (code) => {
        const error = this.#terminating && cause === undefined ? this.#hasEnded() : this.#endedBy(cause, code);
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
    // The thread exits by itself after a stop, at times before this thread has terminated it.
    if (call.kind === 'stop') this.#terminating = true;
    return this.#calls.ask((id) =>
      this.#worker.postMessage({ kind: 'call', id, call } satisfies ControlRequest, [...transfer]),
    );
  }

  /** Tells the thread of an entry in the log. */
  logged(entry: LogEntry): void {
    if (!this.isOver) this.#worker.postMessage({ kind: 'log', entry } satisfies LogNotice);
  }

  /** Answers what the thread asked. */
  reply(reply: HostReply): void {
    this.#worker.postMessage(
      reply,
      reply.ports.map(({ port }) => port),
    );
  }

  /** Ends the thread by force, if it has not ended. */
  async terminate(): Promise<void> {
    this.#terminating = true;
    this.#end(this.#hasEnded());
    await this.#worker.terminate();
    await this.#exited;
  }

  #end(error: TritonError): void {
    this.#over ??= error;
    this.#calls.rejectAll(error);
  }

  #hasEnded(): TritonError {
    return new TritonError('UNAVAILABLE', `${this.#called} has ended`);
  }

  #endedBy(error: unknown, code: number): TritonError {
    const cause = error ?? new Error(`it exited with code ${code}`);
    const message = `${this.#called} ended: ${TritonError.from(cause).message}`;
    return new TritonError('UNAVAILABLE', message, { cause });
  }
}

function found({ url, called, advice }: ThreadEntry): URL {
  const entry = ownFile(url);
  if (entry !== undefined) return entry;
  const message = `the entry of ${called} was not found, as happens in a bundle: keep tstriton out of the bundle${advice}`;
  throw new TritonError('UNSUPPORTED', message);
}
