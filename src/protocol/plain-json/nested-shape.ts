// Finds the shape of nested lists in the text of a JSON array, which is well-formed. All lists of one level must have the same
// length, as in a tensor. The text is walked over once, with pauses.

import { invalidArg, type TritonError } from '../../errors.js';
import { type PacedWork, PAUSE_BYTES } from '../../pacing/paced-work.js';
import { formatShape } from '../../tensor/shape.js';
import type { DataText } from '../http/tensor-data-reader.js';

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN = 0x5b;
const BACKSLASH = 0x5c;
const CLOSE = 0x5d;
const OPEN_OBJECT = 0x7b;

/**
 * Returns the lengths of the lists by level, as many as the declared shape has axes. Throws INVALID_ARG for lists of other depth
 * or of different lengths. `what` names the input in messages.
 */
export function* nestedShape(text: DataText, declared: readonly number[], what: string): PacedWork<number[]> {
  const walk = new NestedWalk(text, declared, what);
  while (!walk.advance(PAUSE_BYTES)) yield;
  return walk.shape;
}

class NestedWalk {
  readonly #text: DataText;
  readonly #declared: readonly number[];
  readonly #what: string;
  readonly #rank: number;
  #pos: number;
  #depth = 0;
  #inString = false;
  /** Elements so far of the open list of each level. */
  readonly #counts: number[];
  /** The length of each level's lists; -1 before the first of them has ended. */
  readonly #lengths: number[];

  constructor(text: DataText, declared: readonly number[], what: string) {
    this.#text = text;
    this.#declared = declared;
    this.#what = what;
    this.#rank = declared.length;
    this.#pos = text.start;
    this.#counts = declared.map(() => 0);
    this.#lengths = declared.map(() => -1);
  }

  /** A level below an empty list has no lists: it is as long as declared, or empty. */
  get shape(): number[] {
    return this.#lengths.map((length, level) => (length >= 0 ? length : Math.max(0, this.#declared[level]!)));
  }

  /** Walks over about `bytes` bytes. Returns true at the end. */
  advance(bytes: number): boolean {
    const { bytes: text, end } = this.#text;
    const stop = Math.min(end, this.#pos + bytes);
    while (this.#pos < stop) {
      if (this.#inString) {
        this.#walkString(stop);
        continue;
      }
      const byte = text[this.#pos]!;
      if (byte === OPEN) this.#open();
      else if (byte === CLOSE) this.#close();
      else if (byte > 0x20 && byte !== COMMA) this.#element(byte);
      else this.#pos++;
    }
    return this.#pos >= end;
  }

  #open(): void {
    if (this.#depth === this.#rank) throw this.#misfit(`a list inside a list of level ${this.#rank}`);
    if (this.#depth > 0) this.#counts[this.#depth - 1]!++;
    this.#counts[this.#depth++] = 0;
    this.#pos++;
  }

  #close(): void {
    const length = this.#counts[--this.#depth]!;
    const before = this.#lengths[this.#depth]!;
    if (before >= 0 && before !== length) {
      throw this.#misfit(`lists of ${before} and of ${length} elements at level ${this.#depth + 1}`);
    }
    this.#lengths[this.#depth] = length;
    this.#pos++;
  }

  #element(byte: number): void {
    if (byte === OPEN_OBJECT) throw this.#misfit('an object inside a list');
    if (this.#depth !== this.#rank) throw this.#misfit(`a value in a list of level ${this.#depth}`);
    this.#counts[this.#depth - 1]!++;
    this.#pos++;
    if (byte === QUOTE) this.#inString = true;
    else this.#walkNumber();
  }

  // A pause inside a number would count it twice. A list ends with a bracket, so the walk stays within it.
  #walkNumber(): void {
    const { bytes } = this.#text;
    let pos = this.#pos;
    for (let byte = bytes[pos]!; byte > 0x20 && byte !== COMMA && byte !== CLOSE; byte = bytes[pos]!) pos++;
    this.#pos = pos;
  }

  #walkString(stop: number): void {
    const { bytes } = this.#text;
    let pos = this.#pos;
    while (pos < stop) {
      const byte = bytes[pos]!;
      pos += byte === BACKSLASH ? 2 : 1;
      if (byte === QUOTE) {
        this.#inString = false;
        break;
      }
    }
    this.#pos = pos;
  }

  #misfit(got: string): TritonError {
    const expected = this.#rank === 1 ? 'a flat list' : `nested lists of ${this.#rank} levels`;
    return invalidArg(
      `${this.#what} must be ${expected}, as its shape ${formatShape(this.#declared)} says, got ${got}`,
    );
  }
}
