// Counts the memory of BYTES elements: a few bytes of a request become an object of a hundred for the callable. The objects
// share the budget of the requests' bytes, until the request has ended.

import { invalidArg, TritonError } from '../errors.js';
import { beyondLimit, REQUEST_LIMITS } from '../model/request-limits.js';
import type { Room } from './room.js';

/**
 * Bytes that an element takes beside its content, with its place in an array, as measured on Node 20: 58 for a short string, and
 * 125 for a Uint8Array.
 */
export const ELEMENT_BYTES = { string: 64, bytes: 128 } as const;

/** So little is not counted: it belongs to every request. */
const FREE_BYTES = 64 * 1024;

export class RequestElements {
  readonly #room: Room | undefined;
  /** More of these bytes would not fit beside the request if it were alone. */
  readonly #most: number;
  #count = 0;
  #bytes = 0;

  /** `requestBytes`: what the inputs take on the wire. */
  constructor(room: Room | undefined, requestBytes: number) {
    this.#room = room;
    this.#most = room === undefined ? Infinity : Math.max(FREE_BYTES, room.largest - requestBytes / 2);
  }

  /** Throws INVALID_ARG when a request cannot have that many more, and counts nothing. */
  check(elements: number, dtype: keyof typeof ELEMENT_BYTES): void {
    const { bytesElements } = REQUEST_LIMITS;
    if (this.#count + elements > bytesElements) throw beyondLimit('elements of datatype BYTES', bytesElements);
    const each = ELEMENT_BYTES[dtype];
    if (this.#bytes + elements * each <= this.#most) return;
    const fit = this.#count + Math.floor((this.#most - this.#bytes) / each);
    throw invalidArg(
      `expected a request with at most ${fit} elements of datatype BYTES, got more: each takes ${each} bytes of maxInflightBytes`,
    );
  }

  /** Counts the elements of an input. Throws as {@link check} does. */
  add(elements: number, dtype: keyof typeof ELEMENT_BYTES): void {
    this.check(elements, dtype);
    this.#count += elements;
    this.#bytes += elements * ELEMENT_BYTES[dtype];
  }

  /** Takes room for all of them, and returns its bytes. Throws UNAVAILABLE when others have it now. */
  take(): number {
    if (this.#room === undefined || this.#bytes <= FREE_BYTES) return 0;
    if (this.#room.take(this.#bytes)) return this.#bytes;
    throw new TritonError(
      'UNAVAILABLE',
      `there is no room for ${this.#count} elements of datatype BYTES beside what all clients hold (maxInflightBytes): try again later`,
    );
  }
}
