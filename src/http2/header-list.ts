// The fields of one HEADERS block as they were received. Lists are shared by all messages whose blocks were byte for byte
// the same (hpack/block-cache.ts), so they never change, and what is concluded from one is concluded once.

import { listElements, parseDigits } from '../ascii.js';
import { findProblem, type MessagePart } from './check-fields.js';

const BYTES_BESIDE_FIELD = 32;
const NOT_CHECKED = Symbol('not checked');

export class HeaderList {
  /** Names and values in turn, pseudo-header fields first, one character a byte. Not to be changed. */
  readonly fields: readonly string[];
  /** Whether fields are missing because together they are larger than the limit. */
  readonly isCut: boolean;
  /** For the receiver: what it concluded from these fields. All messages with the same block share it. */
  memo: unknown = undefined;
  readonly #hasOnlyAllowedBytes: boolean;
  #checkedAs: MessagePart | typeof NOT_CHECKED = NOT_CHECKED;
  #problem: string | undefined;
  #contentLength: number | undefined;
  #hasLookedForContentLength = false;
  #bytes: number | undefined;

  constructor(
    fields: readonly string[],
    { isCut = false, hasOnlyAllowedBytes = true }: { isCut?: boolean; hasOnlyAllowedBytes?: boolean } = {},
  ) {
    this.fields = fields;
    this.isCut = isCut;
    this.#hasOnlyAllowedBytes = hasOnlyAllowedBytes;
  }

  /** The value of a field by its lower-case name; of several lines all, joined by commas (RFC 9110, section 5.3). */
  get(name: string): string | undefined {
    const { fields } = this;
    let value: string | undefined;
    for (let i = 0; i < fields.length; i += 2) {
      if (fields[i] !== name) continue;
      value = value === undefined ? fields[i + 1]! : `${value}${name === 'cookie' ? '; ' : ', '}${fields[i + 1]!}`;
    }
    return value;
  }

  /** What keeping them costs, as HTTP/2 counts it: names, values, and 32 bytes for each field. */
  get bytes(): number {
    if (this.#bytes === undefined) {
      this.#bytes = (this.fields.length / 2) * BYTES_BESIDE_FIELD;
      for (const text of this.fields) this.#bytes += text.length;
    }
    return this.#bytes;
  }

  /** Of fields without a problem: how much data they announce. */
  get contentLength(): number | undefined {
    if (!this.#hasLookedForContentLength) {
      this.#hasLookedForContentLength = true;
      // The same length on several lines is one length.
      this.#contentLength = parseDigits(listElements(this.get('content-length') ?? '')[0]);
    }
    return this.#contentLength;
  }

  /** Why these fields cannot be that part of a message (RFC 9113, section 8.1.1); undefined when they can. */
  problemAs(part: MessagePart): string | undefined {
    if (this.#checkedAs !== part) {
      this.#checkedAs = part;
      this.#problem = this.#hasOnlyAllowedBytes
        ? findProblem(this.fields, part)
        : 'a name or a value has forbidden bytes';
    }
    return this.#problem;
  }
}
