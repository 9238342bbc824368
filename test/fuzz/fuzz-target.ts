// What a decoder is fuzzed by: inputs made by its grammar and spoilt, and a check that throws when something happens that must not.
// Everything follows from a seed, so that a number names an input.
import { Random } from '../support/random-life/random.js';
import { spoil } from './spoil.js';

export interface FuzzTarget {
  readonly about: string;
  /** An input that is right, or nearly so. */
  readonly make: (random: Random) => Buffer;
  /** Whether the input was taken for good. Throws when it was read otherwise than by somebody else, or refused by no error of ours. */
  readonly check: (input: Buffer) => boolean;
}

/** What was wrong with an input. */
export class FuzzFinding extends Error {
  readonly seed: number;
  readonly input: Buffer;

  constructor(seed: number, input: Buffer, cause: unknown) {
    const what = cause instanceof Error ? (cause.stack ?? cause.message) : String(cause);
    super(`seed ${seed}: ${what}\ninput (hex): ${input.toString('hex')}`, { cause });
    this.seed = seed;
    this.input = input;
  }
}

export interface FuzzReport {
  runs: number;
  /** Inputs that were taken for good. */
  accepted: number;
  /** The longest that one input took, in milliseconds. */
  slowestMs: number;
}

/** The seed of the input that is read now, for other threads. */
export const underWay = new Float64Array(new SharedArrayBuffer(8));

/** The input that a seed means. */
export function inputOf({ make }: FuzzTarget, seed: number): Buffer {
  const random = new Random(seed);
  const input = make(random);
  if (random.chance(0.25)) return input;
  return spoil(random, input, () => make(random));
}

/** Checks the inputs of so many seeds, from the first one on. Throws a {@link FuzzFinding}. */
export function fuzz(target: FuzzTarget, first: number, runs: number, report = newReport()): FuzzReport {
  for (let seed = first; seed < first + runs; seed++) {
    underWay[0] = seed;
    const input = inputOf(target, seed);
    const begin = performance.now();
    try {
      if (target.check(input)) report.accepted++;
    } catch (error) {
      throw new FuzzFinding(seed, input, error);
    }
    report.slowestMs = Math.max(report.slowestMs, performance.now() - begin);
    report.runs++;
  }
  return report;
}

export function newReport(): FuzzReport {
  return { runs: 0, accepted: 0, slowestMs: 0 };
}

/** Where something is cut into pieces: it follows from the bytes, so that an input alone shows what was wrong. */
export function randomOf(input: Uint8Array): Random {
  let hash = input.length;
  for (const byte of input) hash = (Math.imul(hash, 31) + byte) | 0;
  return new Random(hash);
}

/** Throws unless it is so. */
export function must(isSo: boolean, otherwise: () => string): void {
  if (!isSo) throw new Error(otherwise());
}
