// The body of an answer, as it comes: in memory that nothing else lies in, laid out so that what follows the JSON can be viewed as
// typed arrays.

import type { AnswerHeaders } from './http-wire.js';

/** The stated length is only a claim: memory is taken for so many times what has come. */
const GROWTH = 32;

export class HttpBody {
  readonly #maxBytes: number;
  /** Undefined when the answer does not say. */
  readonly #stated: number | undefined;
  /** This byte lies on a multiple of 8. */
  readonly #aligned: number;
  #chunks: Buffer[] = [];
  #length = 0;
  #body: Buffer | undefined;

  constructor(headers: AnswerHeaders, maxBytes: number) {
    const stated = Number(headers['content-length']);
    const aligned = Number(headers['inference-header-content-length']);
    this.#maxBytes = maxBytes;
    this.#stated = Number.isSafeInteger(stated) ? stated : undefined;
    this.#aligned = Number.isSafeInteger(aligned) ? aligned : 0;
  }

  /** More has come, or is announced, than is taken. */
  get isTooLarge(): boolean {
    return Math.max(this.#length, this.#stated ?? 0) > this.#maxBytes;
  }

  /** Takes the next bytes, which are not used afterwards where their copy is made at once. */
  add(chunk: Buffer): void {
    const offset = this.#length;
    this.#length += chunk.length;
    if (this.#body !== undefined) {
      chunk.copy(this.#body, offset);
      return;
    }
    this.#chunks.push(chunk);
    if (this.#stated !== undefined && this.#length <= this.#stated && this.#length * GROWTH >= this.#stated)
      this.#gather(this.#stated);
  }

  /** All that has come. */
  end(): Buffer {
    if (this.#body === undefined || this.#length !== this.#body.length) this.#gather(this.#length);
    return this.#body!;
  }

  #gather(length: number): void {
    const start = this.#aligned > 0 && this.#aligned <= length ? (8 - (this.#aligned % 8)) % 8 : 0;
    const body = Buffer.from(new ArrayBuffer(start + length), start, length);
    let offset = this.#body?.copy(body) ?? 0;
    for (const chunk of this.#chunks) offset += chunk.copy(body, offset);
    this.#chunks = [];
    this.#body = body;
  }
}
