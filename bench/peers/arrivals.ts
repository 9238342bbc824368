// When requests come and what each asks, the same in every run: all of it follows from a seed.

export interface BatchingArrival {
  readonly atMs: number;
  readonly rows: number;
  readonly priority: number;
  /** Requests with the same question have the same answer. */
  readonly question: number;
  /** The model refuses to answer. */
  readonly fails: boolean;
  /** The client loses patience so long after the request was due. */
  readonly cancelAfterMs: number | undefined;
}

const SECONDS = 3;
const PLAIN = { rows: 1, priority: 2, question: 0, fails: false, cancelAfterMs: undefined } as const;

/** The same random numbers every time (mulberry32). */
function randomNumbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let bits = Math.imul(state ^ (state >>> 15), 1 | state);
    bits = (bits + Math.imul(bits ^ (bits >>> 7), 61 | bits)) ^ bits;
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** So many requests per second at random moments; `rest` says what each one is. */
function poisson(
  perSecond: number,
  seed: number,
  rest: (random: () => number) => Partial<BatchingArrival>,
): readonly BatchingArrival[] {
  const random = randomNumbers(seed);
  const arrivals: BatchingArrival[] = [];
  for (let atMs = 0; atMs < SECONDS * 1000; atMs -= (Math.log(1 - random()) * 1000) / perSecond) {
    arrivals.push({ ...PLAIN, atMs, ...rest(random) });
  }
  return arrivals;
}

/** Of one to three rows, a tenth of them urgent. */
export function randomArrivals(perSecond: number, seed: number): readonly BatchingArrival[] {
  return poisson(perSecond, seed, (random) => ({
    rows: 1 + Math.floor(random() * 3),
    priority: random() < 0.1 ? 1 : 2,
  }));
}

/** Of one to three rows, a tenth of them as `exception` says. */
export function exceptionalArrivals(perSecond: number, seed: number, exception: Partial<BatchingArrival>) {
  return poisson(perSecond, seed, (random) => ({
    rows: 1 + Math.floor(random() * 3),
    ...(random() < 0.1 ? exception : {}),
  }));
}

/** Of one row; the k-th of the questions is asked 1/k as often as the first. */
export function repeatedQuestions(perSecond: number, seed: number, questions: number): readonly BatchingArrival[] {
  const shares: number[] = [];
  for (let k = 1; k <= questions; k++) shares.push((shares.at(-1) ?? 0) + 1 / k);
  return poisson(perSecond, seed, (random) => {
    const drawn = random() * shares.at(-1)!;
    return { question: 1 + shares.findIndex((share) => share > drawn) };
  });
}

/** So many requests of one row at once, again and again. */
export function bursts(size: number, everyMs: number): readonly BatchingArrival[] {
  const count = Math.floor((SECONDS * 1000) / everyMs) * size;
  return Array.from({ length: count }, (_, i) => ({ ...PLAIN, atMs: Math.floor(i / size) * everyMs }));
}
