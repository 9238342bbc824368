// The calls of one client that are under way, and its end: whatever is begun ends with an answer, an error or the client.
// Requests are sent when it is their call's turn, and again where that is safe.

import { TritonError } from '../errors.js';
import { Call } from './call.js';
import { CallClock } from './call-timings.js';
import type { CallLimits } from './client-options.js';
import { retryDelay } from './retry-policy.js';
import type { Transport } from './transport.js';
import { TurnQueue, type ConcurrencyLimits } from './turn-queue.js';

export interface BegunCall extends Pick<CallLimits, 'timeoutMs' | 'signal' | 'retry' | 'onTimings'> {
  /** What is called and where, for messages. */
  readonly subject: string;
}

export interface ClientCallsOptions extends ConcurrencyLimits {
  /** Of the client's class, for messages. */
  readonly name: string;
  readonly signal: AbortSignal | undefined;
}

export class ClientCalls {
  readonly #name: string;
  readonly #transport: Transport;
  readonly #signal: AbortSignal | undefined;
  readonly #calls = new Set<Call>();
  readonly #turns: TurnQueue;
  readonly #maxConcurrency: number;
  #closing: Promise<void> | undefined;

  constructor(transport: Transport, { name, signal, maxConcurrency, maxQueueSize }: ClientCallsOptions) {
    this.#name = name;
    this.#transport = transport;
    this.#signal = signal;
    this.#maxConcurrency = maxConcurrency;
    this.#turns = new TurnQueue({ maxConcurrency, maxQueueSize });
  }

  /** Throws UNAVAILABLE when the client is closed. */
  begin({ timeoutMs, signal, subject, retry }: BegunCall): Call {
    if (this.#closing !== undefined) throw this.#closed('UNAVAILABLE');
    const call = new Call({ timeoutMs, signals: [this.#signal, signal], subject });
    call.idempotent = retry.idempotent;
    this.#calls.add(call);
    return call;
  }

  end(call: Call): void {
    call.end();
    this.#calls.delete(call);
    this.#turns.end(call);
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

  /**
   * Sends a request of the call when it is the call's turn, which it has until its end. What fails is sent again as the policy says,
   * and never when the wait would outlast the deadline.
   */
  send<T>(call: Call, begun: BegunCall, attempt: () => Promise<T>): Promise<T> {
    const begin = begun.onTimings === undefined ? 0 : performance.now();
    const turn = this.#turns.take(call);
    if (turn === undefined) return this.attempts(call, begun, attempt, begin);
    return turn.then(() => this.attempts(call, begun, attempt, begin));
  }

  /** The same without a turn. */
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
      if (clock !== undefined) onTimings?.(clock.timings('answer' in outcome));
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
   * The parts of a call, as many at once as may be; the first that fails aborts the others, and its error is told.
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

type Outcome<T> = { readonly answer: T } | { readonly failure: TritonError };

async function settled<T>(attempt: () => Promise<T>): Promise<Outcome<T>> {
  try {
    return { answer: await attempt() };
  } catch (error) {
    return { failure: TritonError.from(error) };
  }
}
