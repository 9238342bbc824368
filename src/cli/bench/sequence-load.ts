// Load of sequences: each sender has one under way, and begins the next when it has ended.

import type { InferSequence } from '../../client/infer-sequence.js';
import type { Answered } from './run-load.js';

interface Begun {
  readonly sequence: InferSequence<never, unknown>;
  sent: number;
}

export class SequenceLoad {
  readonly #client: { sequence(): InferSequence<never, unknown> };
  readonly #inputs: unknown;
  readonly #length: number;
  /** By sender. */
  readonly #begun = new Map<number, Begun>();

  constructor(client: { sequence(): InferSequence<never, unknown> }, inputs: unknown, length: number) {
    this.#client = client;
    this.#inputs = inputs;
    this.#length = length;
  }

  /** The sender's next request. A sequence of which one has failed is given up. */
  async send(sender: number): Promise<Answered> {
    const begun = this.#begun.get(sender) ?? { sequence: this.#client.sequence(), sent: 0 };
    const { sequence } = begun;
    const isLast = ++begun.sent >= this.#length;
    if (isLast) this.#begun.delete(sender);
    else this.#begun.set(sender, begun);
    try {
      await (isLast ? sequence.end(this.#inputs as never) : sequence.infer(this.#inputs as never));
      return { answers: 1, firstMs: undefined };
    } catch (error) {
      this.#begun.delete(sender);
      await sequence[Symbol.asyncDispose]();
      throw error;
    }
  }

  async end(): Promise<void> {
    await Promise.all(Array.from(this.#begun.values(), ({ sequence }) => sequence[Symbol.asyncDispose]()));
  }
}
