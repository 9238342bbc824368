// Counts observations in buckets, as Prometheus histograms do. The exponent of the value's double gives the first
// bucket to look at, and one or two comparisons finish the search. A search among 18 bounds takes several times as
// long, because the processor mispredicts every branch. Nothing is allocated.

const DOUBLE = new Float64Array(1);
const WORDS = new Uint32Array(DOUBLE.buffer);
DOUBLE[0] = 1;
/** Which of the two words has the exponent. */
const HIGH = WORDS[1] === 0 ? 0 : 1;
const EXPONENTS = 2048;

/** How to find buckets; the same for all histograms with one list of bounds. */
interface Buckets {
  readonly bounds: Float64Array;
  /** By exponent: the bucket of the least positive value that has it. */
  readonly firsts: Uint16Array;
}

const BUCKETS = new WeakMap<readonly number[], Buckets>();

export class Histogram {
  /** Upper bounds, ascending; a value that equals a bound belongs below it. Above the last there is one more bucket. */
  readonly bounds: readonly number[];
  readonly #buckets: Buckets;
  readonly #counts: Float64Array;
  #sum = 0;

  /** The list of bounds must not change any more. */
  constructor(bounds: readonly number[]) {
    this.bounds = bounds;
    this.#buckets = bucketsOf(bounds);
    this.#counts = new Float64Array(bounds.length + 1);
  }

  observe(value: number): void {
    DOUBLE[0] = value;
    const { bounds, firsts } = this.#buckets;
    let bucket = value > 0 ? firsts[WORDS[HIGH]! >>> 20]! : 0;
    while (bucket < bounds.length && value > bounds[bucket]!) bucket++;
    this.#counts[bucket]!++;
    this.#sum += value;
  }

  /** Adds counts from elsewhere: one number per bucket, the last one for values above all bounds. */
  add(counts: readonly number[], sum: number): void {
    for (let i = 0; i < this.#counts.length; i++) this.#counts[i]! += counts[i] ?? 0;
    this.#sum += sum;
  }

  get sum(): number {
    return this.#sum;
  }

  get count(): number {
    return this.#counts.reduce((sum, count) => sum + count, 0);
  }

  /** Observations in each bucket alone. */
  get counts(): readonly number[] {
    return Array.from(this.#counts);
  }

  /** Observations up to each bound, all smaller ones included. */
  cumulative(): readonly number[] {
    let sum = 0;
    return this.bounds.map((_, index) => (sum += this.#counts[index]!));
  }
}

function bucketsOf(list: readonly number[]): Buckets {
  const known = BUCKETS.get(list);
  if (known !== undefined) return known;
  const buckets = { bounds: Float64Array.from(list), firsts: new Uint16Array(EXPONENTS) };
  for (let exponent = 0; exponent < EXPONENTS; exponent++) {
    WORDS[HIGH] = exponent << 20;
    WORDS[1 - HIGH] = 0;
    const value = DOUBLE[0]!;
    const bucket = buckets.bounds.findIndex((bound) => value <= bound);
    buckets.firsts[exponent] = bucket < 0 ? list.length : bucket;
  }
  BUCKETS.set(list, buckets);
  return buckets;
}
