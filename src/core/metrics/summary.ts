// Keeps quantiles of the last minute's observations, as Triton's summaries do. Five sketches all get every value. Every 12
// seconds one of them is emptied, in turn, and the one emptied longest ago answers. An observation only stores a value in
// a buffer; the sketches get whole buffers.

import { QuantileSketch, type TargetQuantile } from './quantile-sketch.js';

/** Milliseconds. */
const WINDOW = 60_000;
const SKETCHES = 5;
const TURN = WINDOW / SKETCHES;
const BUFFERED = 500;

export class Summary {
  readonly targets: readonly TargetQuantile[];
  readonly #sketches: readonly QuantileSketch[];
  readonly #buffer = new Float64Array(BUFFERED);
  #buffered = 0;
  #oldest = 0;
  #turnAt: number;
  #count = 0;
  #sum = 0;

  /** `now` here and below: milliseconds of one monotonic clock. */
  constructor(targets: readonly TargetQuantile[], now: number) {
    this.targets = targets;
    this.#sketches = Array.from({ length: SKETCHES }, () => new QuantileSketch(targets));
    this.#turnAt = now + TURN;
  }

  /** Of all values ever. */
  get count(): number {
    return this.#count;
  }

  /** Of all values ever. */
  get sum(): number {
    return this.#sum;
  }

  observe(value: number, now: number): void {
    if (now >= this.#turnAt) this.#turn(now);
    if (this.#buffered === BUFFERED) this.#flush();
    this.#buffer[this.#buffered++] = value;
    this.#count++;
    this.#sum += value;
  }

  /** The value of each target; NaN when nothing was observed in the last minute. */
  quantiles(now: number): readonly number[] {
    if (now >= this.#turnAt) this.#turn(now);
    this.#flush();
    return this.targets.map(({ quantile }) => this.#sketches[this.#oldest]!.query(quantile));
  }

  /** Forgets values that are too old. Buffered values were observed before the turn was due. */
  #turn(now: number): void {
    this.#flush();
    const turns = Math.floor((now - this.#turnAt) / TURN) + 1;
    for (let i = 0; i < Math.min(turns, SKETCHES); i++) {
      this.#sketches[this.#oldest]!.reset();
      this.#oldest = (this.#oldest + 1) % SKETCHES;
    }
    this.#turnAt += turns * TURN;
  }

  #flush(): void {
    if (this.#buffered === 0) return;
    const values = this.#buffer.subarray(0, this.#buffered).sort();
    for (const sketch of this.#sketches) sketch.insert(values);
    this.#buffered = 0;
  }
}
