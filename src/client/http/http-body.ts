// Collects the body of an answer in memory of its own. The layout lets typed arrays view the bytes behind the JSON.

import { parseDigits } from '../../ascii.js';
import type { AnswerHeaders } from './http-wire.js';

/** The stated length is only a claim: memory for it is allocated up to this multiple of the received bytes. */
const GROWTH = 32;

export class HttpBody {
  readonly #maxBytes: number;
  /** Undefined when the answer does not state its length. */
  readonly #stated: number | undefined;
  /** This byte lies on a multiple of 8. */
  readonly #aligned: number;
  #length = 0;
  /** The received bytes, and room for more. */
  #body: Buffer | undefined;
  #rest: Buffer | undefined;

  constructor(headers: AnswerHeaders, maxBytes: number) {
    this.#maxBytes = maxBytes;
    this.#stated = parseDigits(headers['content-length']);
    this.#aligned = parseDigits(headers['inference-header-content-length']) ?? 0;
  }

  /** Whether the received bytes, or the stated length, exceed the limit. */
  get isTooLarge(): boolean {
    return Math.max(this.#length, this.#stated ?? 0) > this.#maxBytes;
  }

  /** Takes the next bytes, `bytes[start…end)`. The caller may reuse their memory afterwards. */
  add(bytes: Buffer, start: number, end: number): void {
    const offset = this.#length;
    this.#length += end - start;
    if (this.#body === undefined || this.#body.length < this.#length) this.#resize(this.#capacity(), offset);
    // Bytes received into `rest()` lie there already.
    if (bytes !== this.#rest) bytes.copy(this.#body!, offset, start, end);
  }

  /** The memory into which the rest of the body may be received, if there is room for all of it. */
  rest(): Buffer | undefined {
    this.#rest = this.#body?.length === this.#stated ? this.#body?.subarray(this.#length) : undefined;
    return this.#rest;
  }

  /** Returns all received bytes. */
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

  /** Moves the first `used` bytes to memory of another size. Clearing the memory would cost more than all else for a large answer. */
  #resize(capacity: number, used: number): void {
    const start = (8 - (this.#aligned % 8)) % 8;
    // Only the bytes before the body are cleared: the body itself is written before anyone reads it.
    const body = Buffer.allocUnsafeSlow(start + capacity)
      .fill(0, 0, start)
      .subarray(start);
    this.#body?.copy(body, 0, 0, used);
    this.#body = body;
  }
}
