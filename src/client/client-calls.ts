// The calls of one client that are under way, and its end: whatever is begun ends with an answer, an error or the client.

import { TritonError } from '../errors.js';
import { Call } from './call.js';
import type { Transport } from './transport.js';

export interface BegunCall {
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  /** What is called and where, for messages. */
  readonly subject: string;
}

export class ClientCalls {
  /** Of the class, for messages. */
  readonly #name: string;
  readonly #transport: Transport;
  readonly #signal: AbortSignal | undefined;
  readonly #calls = new Set<Call>();
  #closing: Promise<void> | undefined;

  constructor(name: string, transport: Transport, signal: AbortSignal | undefined) {
    this.#name = name;
    this.#transport = transport;
    this.#signal = signal;
  }

  /** Throws UNAVAILABLE when the client is closed. */
  begin({ timeoutMs, signal, subject }: BegunCall): Call {
    if (this.#closing !== undefined) throw this.#closed('UNAVAILABLE');
    const call = new Call({ timeoutMs, signals: [this.#signal, signal], subject });
    this.#calls.add(call);
    return call;
  }

  end(call: Call): void {
    call.end();
    this.#calls.delete(call);
  }

  /** From its begin to its end. Rejects with TritonErrors only. */
  async run<T>(begun: BegunCall, work: (call: Call) => Promise<T>): Promise<T> {
    const call = this.begin(begun);
    try {
      call.throwIfAborted();
      return await work(call);
    } catch (error) {
      throw TritonError.from(error);
    } finally {
      this.end(call);
    }
  }

  /** Cancels what is under way, and closes the connections. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const call of this.#calls) call.abort(this.#closed('CANCELLED'));
    await this.#transport.close();
  }

  #closed(code: 'UNAVAILABLE' | 'CANCELLED'): TritonError {
    return new TritonError(code, `${this.#name} is closed`);
  }
}
