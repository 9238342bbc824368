// Requests on a stream of requests, each with a promise for its only answer.

import { TritonError } from '../errors.js';
import { FreeIds } from './free-ids.js';
import type { InferStream, SendOptions } from './infer-stream.js';
import { adviceOfRefusal, withRetryAdvice } from './retry-advice.js';

interface Waiter {
  readonly resolve: (outputs: unknown) => void;
  readonly reject: (error: TritonError) => void;
}

export class AnsweredStream {
  readonly #stream: InferStream<never, unknown>;
  readonly #waiting = new Map<string, Waiter>();
  readonly #ids = new FreeIds();
  #isReading = false;
  #isOver = false;

  constructor(stream: InferStream<never, unknown>) {
    this.#stream = stream;
  }

  /** Whether it takes no more requests. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** Requests reach the server in the order of the calls. */
  infer(inputs: unknown, options: SendOptions): Promise<unknown> {
    const requestId = options.requestId ?? this.#ids.next(this.#waiting);
    return new Promise((resolve, reject) => {
      if (this.#waiting.has(requestId)) {
        throw new TritonError('INVALID_ARG', `requestId '${requestId}' is that of a request without its answer`);
      }
      this.#waiting.set(requestId, { resolve, reject });
      this.#stream.send(inputs as never, { ...options, requestId }).catch((error: unknown) => {
        const failure = TritonError.from(error);
        // A mistake in the request itself does not end the stream.
        if (failure.code === 'INVALID_ARG') this.#take(requestId)?.reject(failure);
        else this.#break(failure);
      });
      if (!this.#isReading) void this.#read();
    });
  }

  /** No more requests come. Requests that have no answer yet are cancelled. */
  end(): void {
    if (this.#waiting.size > 0) return this.cancel();
    this.#isOver = true;
    this.#stream.end();
  }

  /** Ends the stream at once. */
  cancel(): void {
    this.#break(new TritonError('CANCELLED', 'the stream of the sequence was cancelled'));
  }

  async #read(): Promise<void> {
    this.#isReading = true;
    try {
      for await (const { requestId, outputs, error } of this.#stream) {
        const waiter = this.#take(requestId);
        if (waiter === undefined) return this.#break(this.#unasked(requestId));
        // In a stream errors have no code. The text of a refusal may prove that nothing was executed.
        if (error === undefined) waiter.resolve(outputs);
        else waiter.reject(withRetryAdvice(error, adviceOfRefusal(error.message, undefined)));
      }
      this.#break(new TritonError('UNAVAILABLE', 'the server ended the stream of the sequence'));
    } catch (error) {
      this.#break(TritonError.from(error));
    }
  }

  /** MLServer gives all answers of a stream the id of its first request: nobody can tell whose they are. */
  #unasked(requestId: string): TritonError {
    const waiting = [...this.#waiting.keys()].map((id) => `'${id}'`).join(', ') || 'no request';
    return new TritonError(
      'INTERNAL',
      `the server answered request '${requestId}' of a stream, where ${waiting} waited: it takes no sequences over gRPC`,
    );
  }

  #take(requestId: string): Waiter | undefined {
    const waiter = this.#waiting.get(requestId);
    this.#waiting.delete(requestId);
    return waiter;
  }

  #break(error: TritonError): void {
    this.#isOver = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
    void this.#stream.return();
  }
}
