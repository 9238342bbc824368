// What `npm run reliability` runs: checks, each with a process of its own, and the figures that they come to.

export interface Figure {
  readonly what: string;
  readonly got: string;
  /** What it is held against, where something is. */
  readonly wanted?: string;
  readonly isMet?: boolean;
}

export interface CheckOptions {
  readonly seed: number;
  /** The short form, or the one that takes its time. */
  readonly isFull: boolean;
}

export interface Check {
  readonly about: string;
  /** What the short and the full form do, in words. */
  readonly run: (options: CheckOptions) => Promise<readonly Figure[]>;
}

/** A figure that must be within a bound. */
export function atMost(what: string, got: number, bound: number, unit = ''): Figure {
  const tell = (value: number) => `${Number(value.toPrecision(3))}${unit}`;
  return { what, got: tell(got), wanted: `≤ ${tell(bound)}`, isMet: got <= bound };
}

export function atLeast(what: string, got: number, bound: number, unit = ''): Figure {
  const tell = (value: number) => `${Number(value.toPrecision(3))}${unit}`;
  return { what, got: tell(got), wanted: `≥ ${tell(bound)}`, isMet: got >= bound };
}

export function plain(what: string, got: string | number): Figure {
  return { what, got: String(got) };
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? NaN;
}

/** Of this process, without garbage: its code runs with `--expose-gc`. */
export async function memory(): Promise<{ readonly heap: number; readonly resident: number }> {
  const { gc } = globalThis as { readonly gc?: () => void };
  if (gc === undefined) throw new Error('expected node --expose-gc');
  for (let i = 0; i < 4; i++) {
    gc();
    await pause(50);
  }
  const { heapUsed, rss, external } = process.memoryUsage();
  return { heap: heapUsed + external, resident: rss };
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

/** So many at a time, until `count` have been begun. */
export async function crowd(size: number, count: number, one: (index: number) => Promise<void>): Promise<void> {
  let next = 0;
  const member = async () => {
    while (next < count) await one(next++);
  };
  await Promise.all(Array.from({ length: size }, member));
}
