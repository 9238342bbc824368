// The JSON in front of binary tensors as it was parsed before: requests of one client mostly differ in their tensors alone, or in
// their id as well, and so do the answers to it. Equal means byte for byte, but for a plain id, and what is kept is small: a few
// short headers.

import type { JsonValue } from '../json/json-value.js';
import { findId, isPlainId } from './id-place.js';

const MOST_KEPT = 8;
const LONGEST_KEPT = 4096;
/** Of ids that are told apart; there is hardly one that is longer. */
const LONGEST_ID = 128;

/** What a header was parsed to. */
export interface ParsedHeader {
  readonly json: JsonValue;
  /** In the place of the id in the JSON, which is another request's; undefined: that one counts. */
  readonly id: string | undefined;
}

class KnownHeader {
  readonly parsed: ParsedHeader;
  readonly #text: string;
  /** What stands around the id; undefined where there is none. */
  readonly #around: { readonly before: string; readonly after: string } | undefined;

  constructor(text: string, json: JsonValue) {
    const place = findId(text);
    this.parsed = { json, id: undefined };
    this.#text = text;
    this.#around = place && { before: text.slice(0, place.start), after: text.slice(place.end) };
  }

  mayBe(length: number): boolean {
    if (this.#around === undefined) return length === this.#text.length;
    const idLength = length - this.#around.before.length - this.#around.after.length;
    return idLength >= 0 && idLength <= LONGEST_ID;
  }

  find(text: string): ParsedHeader | undefined {
    if (text === this.#text) return this.parsed;
    if (this.#around === undefined) return undefined;
    const { before, after } = this.#around;
    if (!text.startsWith(before) || !text.endsWith(after)) return undefined;
    const id = text.slice(before.length, text.length - after.length);
    return isPlainId(id) ? { json: this.parsed.json, id } : undefined;
  }
}

export class KnownHeaders {
  readonly #known: KnownHeader[] = [];
  #oldest = 0;

  /** What the first `length` bytes of a body were parsed to; undefined when that is not known. */
  find(body: Buffer, length: number): ParsedHeader | undefined {
    let text: string | undefined;
    for (const known of this.#known) {
      if (!known.mayBe(length)) continue;
      text ??= body.toString('latin1', 0, length);
      const parsed = known.find(text);
      if (parsed !== undefined) return parsed;
    }
    return undefined;
  }

  /** Bytes of its own to be parsed, so that what is made of them keeps no body; undefined when it is not to be kept. */
  copy(body: Buffer, length: number): Buffer | undefined {
    return length > LONGEST_KEPT ? undefined : Buffer.from(body.subarray(0, length));
  }

  /** `json` was parsed from such bytes, and never changes. */
  add(header: Buffer, json: JsonValue): void {
    this.#known[this.#oldest] = new KnownHeader(header.toString('latin1'), json);
    this.#oldest = (this.#oldest + 1) % MOST_KEPT;
  }
}
