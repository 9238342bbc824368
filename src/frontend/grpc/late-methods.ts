// Methods whose module is imported when a client first calls one of them. Tables read and write their messages, and a starting
// server needs no such table.

import type { InflightRequest } from '../../core/response-sink.js';
import { TritonError } from '../../errors.js';
import type { StreamHandler, StreamMethod } from './stream-call.js';
import type { UnaryMethod } from './unary-call.js';

export class LateMethods<Methods extends Readonly<Record<string, UnaryMethod | StreamMethod>>> {
  readonly #import: () => Promise<Methods>;
  #methods: Methods | undefined;

  constructor(importMethods: () => Promise<Methods>) {
    this.#import = importMethods;
  }

  /** `waits` has the method's own value. */
  unary(choose: (methods: Methods) => UnaryMethod, waits = false): UnaryMethod {
    return {
      waits,
      serve: (message, answer, head) => {
        if (this.#methods !== undefined) return choose(this.#methods).serve(message, answer, head);
        let inflight: InflightRequest | undefined;
        let isCancelled = false;
        this.#load()
          .then((methods) => {
            inflight = choose(methods).serve(message, answer, head);
            if (isCancelled) inflight?.cancel();
          })
          .catch((thrown: unknown) => answer.fail(TritonError.from(thrown)));
        return {
          cancel: () => {
            isCancelled = true;
            inflight?.cancel();
          },
        };
      },
    };
  }

  stream(choose: (methods: Methods) => StreamMethod): StreamMethod {
    return {
      open: (stream) => {
        if (this.#methods !== undefined) return choose(this.#methods).open(stream);
        let handler: StreamHandler | undefined;
        let over = false;
        // The stream gives no message until the module is there to read it.
        stream.hold();
        this.#load().then(
          (methods) => {
            if (over) return;
            handler = choose(methods).open(stream);
            stream.resume();
          },
          (thrown: unknown) => stream.fail(TritonError.from(thrown)),
        );
        return {
          message: (bytes) => handler?.message(bytes),
          halfClosed: () => handler?.halfClosed(),
          cancel() {
            over = true;
            handler?.cancel();
          },
          drain() {
            over = true;
            if (handler === undefined) stream.finish();
            else handler.drain();
          },
        };
      },
    };
  }

  async #load(): Promise<Methods> {
    return (this.#methods ??= await this.#import());
  }
}
