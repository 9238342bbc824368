// Methods whose module is imported when one of them is first called. Their messages are read and written by tables,
// and a start needs none of those.

import { TritonError } from '../../errors.js';
import type { StreamHandler, StreamMethod } from './stream-call.js';
import type { UnaryMethod } from './unary-call.js';

export class LateMethods<Methods extends Readonly<Record<string, UnaryMethod | StreamMethod>>> {
  readonly #import: () => Promise<Methods>;
  #methods: Methods | undefined;

  constructor(importMethods: () => Promise<Methods>) {
    this.#import = importMethods;
  }

  /** `waits` as the method itself says. */
  unary(choose: (methods: Methods) => UnaryMethod, waits = false): UnaryMethod {
    return {
      waits,
      serve: (message, answer, call) => {
        if (this.#methods !== undefined) return choose(this.#methods).serve(message, answer, call);
        // Nothing to cancel meanwhile: the answer to a call that has ended goes nowhere.
        this.#load()
          .then((methods) => choose(methods).serve(message, answer, call))
          .catch((thrown: unknown) => answer.fail(TritonError.from(thrown)));
        return undefined;
      },
    };
  }

  stream(choose: (methods: Methods) => StreamMethod): StreamMethod {
    return {
      open: (stream) => {
        if (this.#methods !== undefined) return choose(this.#methods).open(stream);
        let handler: StreamHandler | undefined;
        let over = false;
        // Until there is somebody to read, no message is given.
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
