// Keeps parsed JSON of messages with binary tensors. Most requests of a client differ only in their tensors, or in their id as
// well. The same holds for their answers. A header is known when it equals a kept one but for a plain id. Requests of sequences
// differ in a few parameters too: each form of them is kept.

import type { JsonValue } from '../json/json-value.js';
import { findId, isPlainId } from './id-place.js';

/** Texts before an id that are kept. A header that is looked for is compared with each: clients write the id first. */
const MOST_BEFORE_ID = 8;
const MOST_KEPT = 512;
export const LONGEST_KEPT = 4096;
/** Headers with longer ids are parsed each time. */
export const LONGEST_ID = 128;
/** Keeping a header costs more than parsing it, so this many must be found again for each that is kept. */
const FOUND_PER_KEPT = 8;
/** Where that is not so, one in so many headers is kept all the same: requests may become alike. */
const TRIED = 64;
const MOST_CREDIT = MOST_KEPT * FOUND_PER_KEPT;

/** A parsed header of one request. All requests with this header share the parsed form. */
export interface ParsedHeader<Parsed = JsonValue> {
  readonly json: Parsed;
  /** The id of this request; undefined when the JSON's own id applies. */
  readonly id: string | undefined;
}

interface Known<Parsed> {
  /** The text before the id; undefined without an id. */
  readonly before: string | undefined;
  readonly parsed: ParsedHeader<Parsed>;
}

export class KnownHeaders<Parsed = JsonValue> {
  readonly #before: string[] = [];
  #oldest = 0;
  /** By the text from the end of the id on, or the whole text. */
  #known = new Map<string, Known<Parsed>>();
  /** The headers that were kept before these. A Map from which entries are deleted all the time costs the collector more than two. */
  #older = this.#known;
  /** How many headers may be kept before others are found again, times {@link FOUND_PER_KEPT}. */
  #credit = MOST_CREDIT;
  #untried = 0;

  /** The parsed form of the first `length` bytes of a body; undefined for an unknown header. */
  find(body: Buffer, length: number): ParsedHeader<Parsed> | undefined {
    const found = this.#find(body, length);
    if (found !== undefined && this.#credit < MOST_CREDIT) this.#credit++;
    return found;
  }

  #find(body: Buffer, length: number): ParsedHeader<Parsed> | undefined {
    if (length > LONGEST_KEPT + LONGEST_ID) return undefined;
    const text = body.toString('latin1', 0, length);
    for (const before of this.#before) {
      if (!text.startsWith(before)) continue;
      const end = text.indexOf('"', before.length);
      if (end < 0 || end - before.length > LONGEST_ID) continue;
      const known = this.#get(text.slice(end));
      if (known?.before !== before) continue;
      const id = text.slice(before.length, end);
      return isPlainId(id) ? { json: known.parsed.json, id } : undefined;
    }
    const whole = this.#get(text);
    return whole?.before === undefined ? whole?.parsed : undefined;
  }

  /** Copies the header for parsing, so that the parsed form does not keep the body. Undefined for a header that is not kept. */
  copy(body: Buffer, length: number): Buffer | undefined {
    if (length > LONGEST_KEPT) return undefined;
    if (this.#credit >= FOUND_PER_KEPT) this.#credit -= FOUND_PER_KEPT;
    else if (++this.#untried % TRIED !== 0) return undefined;
    return Buffer.from(body.subarray(0, length));
  }

  /** Keeps the parsed form of a header, which never changes. */
  add(header: Buffer, json: Parsed): void {
    const text = header.toString('latin1');
    const place = findId(text);
    const before = place && text.slice(0, place.start);
    if (before !== undefined && !this.#before.includes(before)) {
      this.#before[this.#oldest] = before;
      this.#oldest = (this.#oldest + 1) % MOST_BEFORE_ID;
    }
    this.#keep(place ? text.slice(place.end) : text, { before, parsed: { json, id: undefined } });
  }

  #get(text: string): Known<Parsed> | undefined {
    const known = this.#known.get(text);
    if (known !== undefined) return known;
    const older = this.#older.get(text);
    if (older !== undefined) this.#keep(text, older);
    return older;
  }

  #keep(text: string, known: Known<Parsed>): void {
    if (this.#known.size >= MOST_KEPT) {
      this.#older = this.#known;
      this.#known = new Map();
    }
    this.#known.set(text, known);
  }
}
