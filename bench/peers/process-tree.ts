// A process and all that came of it, as Linux tells of them in /proc: their CPU time and memory, and their end.

import { readdirSync, readFileSync } from 'node:fs';

interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  /** When it began: with the pid, the same process. */
  readonly startedAt: string;
  /** Clock ticks. */
  readonly cpu: number;
  readonly rssPages: number;
}

const TICKS_PER_SECOND = 100; // USER_HZ, the same on every Linux that Node runs on
const PAGE_BYTES = 4096;

/** Of `/proc/PID/stat`. The name may have spaces and parentheses in it. */
export function parseStat(text: string): ProcessEntry {
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  const field = (number: number): number => Number(fields[number - 3]);
  return {
    pid: Number.parseInt(text, 10),
    parent: field(4),
    startedAt: fields[22 - 3] ?? '',
    cpu: field(14) + field(15),
    rssPages: field(24),
  };
}

function readEntry(pid: number): ProcessEntry | undefined {
  try {
    return parseStat(readFileSync(`/proc/${pid}/stat`, 'latin1'));
  } catch {
    return undefined; // it has ended
  }
}

/** Those of the processes that descend from `root`, with it, whatever their order. */
export function descendants<T extends { readonly pid: number; readonly parent: number }>(
  root: number,
  all: readonly T[],
): readonly T[] {
  const found = new Set([root]);
  for (let size = 0; size !== found.size;) {
    size = found.size;
    for (const { pid, parent } of all) if (found.has(parent)) found.add(pid);
  }
  return all.filter(({ pid }) => found.has(pid));
}

export class ProcessTree {
  readonly #root: number;
  /** Some stay behind as orphans, so each that was seen is remembered. */
  readonly #seen = new Map<number, string>();

  constructor(root: number) {
    this.#root = root;
  }

  /** CPU in microseconds, resident memory in bytes. */
  usage(): { readonly cpu: number; readonly rss: number } {
    const entries = this.#entries();
    const sum = (of: (entry: ProcessEntry) => number): number => entries.reduce((total, entry) => total + of(entry), 0);
    return { cpu: (sum(({ cpu }) => cpu) * 1e6) / TICKS_PER_SECOND, rss: sum(({ rssPages }) => rssPages) * PAGE_BYTES };
  }

  /** Ends all of them: those that were told to and did not, at once. */
  async end(): Promise<void> {
    for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
      for (const { pid } of this.#entries()) {
        try {
          process.kill(pid, signal);
        } catch {
          // it has ended
        }
      }
      const deadline = performance.now() + 5000;
      while (this.#entries().length > 0 && performance.now() < deadline) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    }
  }

  #entries(): readonly ProcessEntry[] {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const all = pids.flatMap((name) => readEntry(Number(name)) ?? []);
    const family = new Map(descendants(this.#root, all).map((entry) => [entry.pid, entry]));
    for (const entry of all) if (this.#seen.get(entry.pid) === entry.startedAt) family.set(entry.pid, entry);
    for (const { pid, startedAt } of family.values()) this.#seen.set(pid, startedAt);
    return [...family.values()].filter(({ rssPages }) => rssPages > 0); // not those that nobody has waited for
  }
}
