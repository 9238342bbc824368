// The JSON in front of binary tensors as it was parsed before: requests of one client mostly differ in their tensors alone, and so
// do the answers to it.
// Equal means byte for byte, and what is kept is small: a few short headers.

import type { JsonValue } from '../json/json-value.js';

const MOST_KEPT = 8;
const LONGEST_KEPT = 4096;

interface KnownHeader {
  readonly text: string;
  readonly json: JsonValue;
}

export class KnownHeaders {
  readonly #known: KnownHeader[] = [];
  #oldest = 0;

  /** What the first `length` bytes of a body were parsed to; undefined when that is not known. */
  find(body: Buffer, length: number): JsonValue | undefined {
    let text: string | undefined;
    for (const known of this.#known) {
      if (known.text.length !== length) continue;
      text ??= body.toString('latin1', 0, length);
      if (known.text === text) return known.json;
    }
    return undefined;
  }

  /** Bytes of its own to be parsed, so that what is made of them keeps no body; undefined when it is not to be kept. */
  copy(body: Buffer, length: number): Buffer | undefined {
    return length > LONGEST_KEPT ? undefined : Buffer.from(body.subarray(0, length));
  }

  /** `json` was parsed from such bytes, and never changes. */
  add(header: Buffer, json: JsonValue): void {
    this.#known[this.#oldest] = { text: header.toString('latin1'), json };
    this.#oldest = (this.#oldest + 1) % MOST_KEPT;
  }
}
