// Finds long runs of white space in a text ahead of its walk, which cannot pause within a run. It looks at one byte in 64 KiB: a run
// of that length has one of these. Bytes in strings count too, and do no harm: a walk only asks where white space may be.

import { LONG_RUN_BYTES, type LongRuns } from './json-scanner.js';

/** What a look at one byte costs, in bytes of a walk. */
const SAMPLE_COST = 16;

export class SpaceRuns implements LongRuns {
  readonly #bytes: Uint8Array;
  readonly #end: number;
  /** Pairs of start and end, in order. */
  readonly #runs: number[] = [];
  /** The next byte to look at. */
  #at: number;
  /** No run that is still to be found begins before this. */
  #first: number;
  /** The start of the run that is being measured. */
  #start = -1;
  /** The first run that the walk has not passed. */
  #next = 0;

  constructor(bytes: Uint8Array, start: number, end: number) {
    this.#bytes = bytes;
    this.#end = end;
    this.#at = this.#first = start;
  }

  /** Does work in proportion to about `count` bytes. Returns true when all runs are found. */
  advance(count: number): boolean {
    const bytes = this.#bytes;
    let left = count;
    while (this.#at < this.#end) {
      if (left <= 0) return false;
      if (this.#start < 0) {
        left -= SAMPLE_COST;
        if (!isSpace(bytes[this.#at]!)) {
          this.#at += LONG_RUN_BYTES;
          continue;
        }
        let start = this.#at;
        while (start > this.#first && isSpace(bytes[start - 1]!)) start--;
        left -= this.#at - start;
        this.#start = start;
      }
      const stop = Math.min(this.#end, this.#at + Math.max(left, 1));
      let at = this.#at;
      while (at < stop && isSpace(bytes[at]!)) at++;
      left -= at - this.#at;
      this.#at = at;
      if (at === stop && stop < this.#end) return false;
      if (at - this.#start >= LONG_RUN_BYTES) this.#runs.push(this.#start, at);
      this.#first = at;
      this.#start = -1;
      this.#at = at + LONG_RUN_BYTES;
    }
    return true;
  }

  /** The end of the long run that `offset` lies in; `offset` itself where it lies in none. Offsets must not go back. */
  endOfRun(offset: number): number {
    const runs = this.#runs;
    while (this.#next < runs.length && runs[this.#next + 1]! <= offset) this.#next += 2;
    return this.#next < runs.length && runs[this.#next]! <= offset ? runs[this.#next + 1]! : offset;
  }
}

/** The runs of a text; undefined where it has no room for one. */
export function spaceRuns(bytes: Uint8Array, end: number): SpaceRuns | undefined {
  return end > LONG_RUN_BYTES ? new SpaceRuns(bytes, 0, end) : undefined;
}

function isSpace(byte: number): boolean {
  return byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
}
