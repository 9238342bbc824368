// The body of an answer, as it comes: in memory that nothing else lies in, laid out so that what follows the JSON can be viewed as
// typed arrays.

import { parseDigits } from '../ascii.js';
import type { AnswerHeaders } from './http-wire.js';

/** The stated length is only a claim: memory is taken for so many times what has come. */
const GROWTH = 32;

export class HttpBody {
  readonly #maxBytes: number;
  /** Undefined when the answer does not say. */
  readonly #stated: number | undefined;
  /** This byte lies on a multiple of 8. */
  readonly #aligned: number;
  #length = 0;
  /** As much of it as has come, and room for more. */
  #body: Buffer | undefined;
  #rest: Buffer | undefined;

  constructor(headers: AnswerHeaders, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#stated = parseDigits(headers['content-length']);
    this.#aligned = parseDigits(headers['inference-header-content-length']) ?? 0;
  }

  /** More has come, or is announced, than is taken. */
  get isTooLarge(): boolean {
    return Math.max(this.#length, this.#stated ?? 0) > this.#maxBytes;
  }

  /** Takes the next bytes, `bytes[start…end)`, which may be used again afterwards. */
  add(bytes: Buffer, start: number, end: number): void {
    const offset = this.#length;
    this.#length += end - start;
    if (this.#body === undefined || this.#body.length < this.#length) this.#resize(this.#capacity(), offset);
    // They may lie there already.
    if (bytes !== this.#rest) bytes.copy(this.#body!, offset, start, end);
  }

  /** Where what is still to come may be received to, if there is memory for all of it. */
  rest(): Buffer | undefined {
    this.#rest = this.#body?.length === this.#stated ? this.#body?.subarray(this.#length) : undefined;
    return this.#rest;
  }

  /** All that has come. */
  end(): Buffer {
    if (this.#body?.length !== this.#length) this.#resize(this.#length, this.#length);
    return this.#body!;
  }

  #capacity(): number {
    const needed = this.#length;
    const stated = this.#stated;
    const isCredible = stated !== undefined && needed <= stated && needed * GROWTH >= stated;
    return isCredible ? stated : Math.max(needed, Math.min(2 * needed, this.#maxBytes));
  }

  /** Memory of another size, with the first `used` bytes of before. Cleared memory would cost more than all else of a large answer. */
  #resize(capacity: number, used: number): void {
    const start = (8 - (this.#aligned % 8)) % 8;
    // What lies before the body stays as it is; the rest is written before anybody has it.
    const body = Buffer.allocUnsafeSlow(start + capacity)
      .fill(0, 0, start)
      .subarray(start);
    this.#body?.copy(body, 0, 0, used);
    this.#body = body;
  }
}
