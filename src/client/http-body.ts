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
  #rest: Buffer | undefined;

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

  /** Takes the next bytes, `bytes[start…end)`, which may be used again afterwards. */
  add(bytes: Buffer, start: number, end: number): void {
    const offset = this.#length;
    this.#length += end - start;
    const stated = this.#stated;
    if (this.#body === undefined && stated !== undefined && this.#length <= stated && this.#length * GROWTH >= stated)
      this.#gather(stated);
    if (this.#body === undefined) this.#chunks.push(Buffer.from(bytes.subarray(start, end)));
    // They may lie there already.
    else if (bytes !== this.#rest) bytes.copy(this.#body, offset, start, end);
  }

  /** Where what is still to come may be received to, if there is memory for all of it. */
  rest(): Buffer | undefined {
    this.#rest = this.#body?.subarray(this.#length);
    return this.#rest;
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
