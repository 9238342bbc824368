// The calls in progress of one client, and its close. Each call ends with an answer, with an error, or when the client closes.
// A request is sent when its call has its turn, and sent again where that is safe.

import { TritonError } from '../errors.js';
import { Call } from './call.js';
import { CallClock } from './call-timings.js';
import type { CallLimits } from './client-options.js';
import { retryDelay } from './retry-policy.js';
import type { OpenServer } from './in-process-server.js';
import { tellTimings } from './tell-timings.js';
import type { TurnQueue } from './turn-queue.js';

export interface BegunCall extends Pick<CallLimits, 'timeoutMs' | 'signal' | 'retry' | 'onTimings'> {
  /** Names the call and the server in error messages. */
  readonly subject: string;
}

export interface ClientCallsOptions {
  /** The name of the client's class, for error messages. */
  readonly name: string;
  readonly signal: AbortSignal | undefined;
  readonly maxConcurrency: number;
}

export class ClientCalls {
  readonly #name: string;
  readonly #server: OpenServer;
  readonly #signal: AbortSignal | undefined;
  readonly #calls = new Set<Call>();
  readonly #turns: TurnQueue;
  readonly #maxConcurrency: number;
  #closing: Promise<void> | undefined;

  constructor(server: OpenServer, { name, signal, maxConcurrency }: ClientCallsOptions) {
    this.#name = name;
    this.#server = server;
    this.#signal = signal;
    this.#maxConcurrency = maxConcurrency;
    this.#turns = server.turns;
  }

  /** Throws UNAVAILABLE when the client is closed. */
  begin({ timeoutMs, signal, subject, retry }: BegunCall): Call {
    if (this.#closing !== undefined) throw this.#closed('UNAVAILABLE');
    const call = new Call({ timeoutMs, signals: [this.#signal, signal], subject });
    call.idempotent = retry.idempotent;
    this.#calls.add(call);
    return call;
  }

  /** The same for a call whose user may never come back: an abort ends it. */
  beginStream(begun: BegunCall): Call {
    const call = this.begin(begun);
    call.onAbort(() => this.end(call));
    return call;
  }

  end(call: Call): void {
    call.end();
    this.#calls.delete(call);
    this.#turns.end(call);
  }

  /** Runs a call from begin to end. Rejects with TritonErrors only. */
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

  /**
   * Sends a request of the call when it is the call's turn. The call keeps its turn until its end. A failed request is sent again as
   * the retry policy says, but never if the wait would outlast the deadline.
   */
  send<T>(call: Call, begun: BegunCall, attempt: () => Promise<T>): Promise<T> {
    const begin = begun.onTimings === undefined ? 0 : performance.now();
    const turn = this.#turns.take(call);
    if (turn === undefined) return this.attempts(call, begun, attempt, begin);
    return turn.then(() => this.attempts(call, begun, attempt, begin));
  }

  /** Does the same without taking a turn. */
  async attempts<T>(
    call: Call,
    { retry, onTimings }: BegunCall,
    attempt: () => Promise<T>,
    begin = onTimings === undefined ? 0 : performance.now(),
  ): Promise<T> {
    for (let count = 1; ; count++) {
      call.throwIfOver();
      const clock = onTimings === undefined ? undefined : new CallClock(count, performance.now() - begin);
      call.clock = clock;
      const outcome = await settled(attempt);
      if (clock !== undefined) tellTimings(onTimings!, clock.timings('answer' in outcome));
      if ('answer' in outcome) return outcome.answer;
      const { failure } = outcome;
      call.throwIfAborted();
      const delay = retryDelay(failure, count, retry, Math.random());
      if (delay === undefined || delay >= call.remainingMs) throw failure;
      call.reason = failure.message;
      await call.sleep(delay);
      call.reason = undefined;
    }
  }

  /**
   * Runs the parts of a call, up to `maxConcurrency` at once. The first part that fails aborts the others; its error is thrown.
   */
  async parts<T>(call: Call, count: number, work: (part: Call, index: number) => Promise<T>): Promise<T[]> {
    const results: T[] = [];
    const running = new Set<Call>();
    let next = 0;
    const line = async (): Promise<void> => {
      while (next < count) {
        const index = next++;
        const part = call.part();
        running.add(part);
        try {
          part.throwIfAborted();
          results[index] = await work(part, index);
        } finally {
          running.delete(part);
          part.end();
          this.#turns.end(part);
        }
      }
    };
    try {
      await Promise.all(Array.from({ length: Math.min(count, this.#maxConcurrency) }, line));
      return results;
    } catch (error) {
      next = count;
      for (const part of running) part.abort(new TritonError('CANCELLED', 'another part of the call failed'));
      throw error;
    }
  }

  /** Cancels the calls in progress, and closes the connections. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const call of this.#calls) call.abort(this.#closed('CANCELLED'));
    await this.#server.close();
  }

  #closed(code: 'UNAVAILABLE' | 'CANCELLED'): TritonError {
    return new TritonError(code, `${this.#name} is closed`);
  }
}

type Outcome<T> = { readonly answer: T } | { readonly failure: TritonError };

async function settled<T>(attempt: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { answer: await attempt() };
  } catch (error) {
    return { failure: TritonError.from(error) };
  }
}
