// The result of `streamSample` and `streamBatch`: the answers to one request as they come. The request is sent when the reader asks
// for the first answer. It is cancelled at the server when the reader leaves the loop. The time limit applies to each answer: it
// runs while the reader waits, and not while the reader is busy.

import { TritonError } from '../errors.js';
import type { Call } from './call.js';

/** A stream that was begun. */
export interface OpenStream<T> {
  /** The next answer; undefined after the last. */
  next(): Promise<T | undefined>;
  cancel(): void;
}

/** A stream whose first answer has come already. */
export function withFirst<T>(first: T | undefined, rest: OpenStream<T>): OpenStream<T> {
  let isFirst = true;
  return {
    next: () => {
      if (!isFirst) return rest.next();
      isFirst = false;
      return Promise.resolve(first);
    },
    cancel: () => rest.cancel(),
  };
}

/** How to begin it, and what to do once it has ended. */
export interface StreamSource<T> {
  /** Throws when the client is closed. */
  begin(): Call;
  open(call: Call): Promise<OpenStream<T>>;
  ended(call: Call): void;
}

/**
 * The answers to one request, in order.
 *
 * @example
 * for await (const { token } of client.streamSample({ prompt: 'Once' })) {
 *   if (token === undefined) break; // The server stops generating.
 * }
 */
export class OutputStream<T> implements AsyncIterableIterator<T> {
  readonly #source: StreamSource<T>;
  #call: Call | undefined;
  #stream: OpenStream<T> | undefined;
  #ended = false;
  /** Settles when all earlier calls of `next` have settled. */
  #last: Promise<unknown> = Promise.resolve();

  /** Made by a client only. */
  constructor(source: StreamSource<T>) {
    this.#source = source;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** The next answer. May be called again before it has come. */
  next(): Promise<IteratorResult<T, undefined>> {
    const result = this.#last.then(() => this.#advance());
    this.#last = result.catch(() => {});
    return result;
  }

  /** Drops the rest, as `break` in a loop does, and tells the server to stop. A reader that waits for an answer gets none. */
  async return(): Promise<IteratorResult<T, undefined>> {
    this.#end(new TritonError('CANCELLED', 'the stream was left'));
    return { done: true, value: undefined };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  async #advance(): Promise<IteratorResult<T, undefined>> {
    if (this.#ended) return { done: true, value: undefined };
    try {
      this.#call ??= this.#source.begin();
      const call = this.#call;
      call.throwIfAborted();
      call.restart();
      this.#stream ??= await this.#source.open(call);
      const value = await this.#stream.next();
      call.pause();
      if (value !== undefined) return { done: false, value };
      this.#end(undefined);
    } catch (error) {
      if (!this.#ended) {
        const failure = TritonError.from(error);
        this.#end(failure);
        throw failure;
      }
    }
    return { done: true, value: undefined };
  }

  #end(error: TritonError | undefined): void {
    if (this.#ended) return;
    this.#ended = true;
    const call = this.#call;
    if (call === undefined) return;
    this.#stream?.cancel();
    if (error !== undefined) call.abort(error);
    call.end();
    this.#source.ended(call);
  }
}
