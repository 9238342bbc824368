// The fields of one HEADERS block as they were received. All messages whose blocks were byte for byte the same share a list
// (hpack/block-cache.ts). So lists never change, and each is read once.

import { listElements, parseDigits } from '../ascii.js';
import { findProblem, type MessagePart } from './check-fields.js';

const BYTES_BESIDE_FIELD = 32;
const NOT_CHECKED = Symbol('not checked');

export class HeaderList {
  /** Names and values in turn, pseudo-header fields first, one character a byte. Not to be changed. */
  readonly fields: readonly string[];
  /** Whether fields are missing because together they are larger than the limit. */
  readonly isCut: boolean;
  /** For the receiver: its conclusions from these fields. All messages with the same block share it. */
  memo: unknown = undefined;
  /** What keeping them costs, as HTTP/2 counts it: names, values, and 32 bytes for each field. */
  readonly bytes: number;
  /** Of fields without a problem: how much data they announce. */
  readonly contentLength: number | undefined;
  readonly #hasOnlyAllowedBytes: boolean;
  #checkedAs: MessagePart | typeof NOT_CHECKED = NOT_CHECKED;
  #problem: string | undefined;

  constructor(
    fields: readonly string[],
    { isCut = false, hasOnlyAllowedBytes = true }: { isCut?: boolean; hasOnlyAllowedBytes?: boolean } = {},
  ) {
    this.fields = fields;
    this.isCut = isCut;
    this.#hasOnlyAllowedBytes = hasOnlyAllowedBytes;
    this.bytes = fields.reduce((sum, { length }) => sum + length, (fields.length / 2) * BYTES_BESIDE_FIELD);
    // The same length on several lines is one length.
    const lengths = this.get('content-length');
    this.contentLength = lengths === undefined ? undefined : parseDigits(listElements(lengths)[0]);
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
