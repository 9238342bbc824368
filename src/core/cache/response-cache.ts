// Answers kept in memory, for all models that ask for it together: bounded in bytes. The answer that was used longest ago goes
// first, as in Triton's local cache. A lookup gives the kept answer itself, not a copy: nobody writes to it.

import { LinkedList, type Linked } from '../../linked-list.js';
import { Pace, type PacedWork } from '../../pacing/paced-work.js';
import { pacedPromise } from '../../pacing/paced-workers.js';
import type { Answer } from '../scheduler/pending-request.js';

interface Entry extends Linked<Entry> {
  readonly key: string;
  readonly kept: KeptAnswers;
  readonly answer: Answer;
  readonly byteSize: number;
}

/** The answers of one load of a model, by their keys. A model that is loaded again may answer differently. */
export type KeptAnswers = Map<string, Entry>;

// What an entry takes beside its tensors' bytes, rather more than less: measured at 600 to 700 bytes with one output.
const ENTRY_BYTES = 400;
const OUTPUT_BYTES = 300;
const DIMENSION_BYTES = 8;
/** To forget an answer takes as long as to read so many bytes. */
const FORGETTING_BYTES = 512;

/** Lookups and insertions so far, and how long they took, in milliseconds. */
export interface CacheUsage {
  readonly lookups: number;
  /** Requests that were answered without an execution of their own. */
  readonly hits: number;
  /** Requests that were answered by an execution of their own. The others failed, or are under way. */
  readonly misses: number;
  readonly evictions: number;
  readonly lookupMs: number;
  readonly insertionMs: number;
}

export class ResponseCache {
  /** Most bytes of all entries together. */
  readonly capacity: number;
  /** In the order of their last use. To look for the first in a map takes longer the more entries have left it. */
  readonly #used = new LinkedList<Entry>();
  readonly #usage = { lookups: 0, hits: 0, misses: 0, evictions: 0, lookupMs: 0, insertionMs: 0 };
  #byteSize = 0;
  #size = 0;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  /** Bytes of all entries together. */
  get byteSize(): number {
    return this.#byteSize;
  }

  /** Answers that are kept. */
  get size(): number {
    return this.#size;
  }

  get usage(): CacheUsage {
    return this.#usage;
  }

  get(kept: KeptAnswers, key: string): Answer | undefined {
    const startedAt = performance.now();
    const entry = kept.get(key);
    if (entry !== undefined) {
      this.#used.remove(entry);
      this.#used.push(entry);
    }
    this.#usage.lookups++;
    this.#usage.lookupMs += performance.now() - startedAt;
    return entry?.answer;
  }

  /** Keeps a copy of an answer and returns how many bytes it takes; nothing is kept when they are more than the capacity. */
  insert(kept: KeptAnswers, key: string, answer: Answer): number {
    const byteSize = byteSizeOf(answer);
    if (byteSize > this.capacity) return byteSize;
    const startedAt = performance.now();
    const before = kept.get(key);
    if (before !== undefined) this.#remove(before);
    for (const oldest of this.#used) {
      if (this.#byteSize + byteSize <= this.capacity) break;
      this.#remove(oldest);
      this.#usage.evictions++;
    }
    const entry: Entry = { key, kept, answer: copyOf(answer), byteSize, previous: undefined, next: undefined };
    kept.set(key, entry);
    this.#used.push(entry);
    this.#size++;
    this.#byteSize += byteSize;
    this.#usage.insertionMs += performance.now() - startedAt;
    return byteSize;
  }

  countHit(): void {
    this.#usage.hits++;
  }

  countMiss(): void {
    this.#usage.misses++;
  }

  /** Forgets these answers. Others have their turn while many are forgotten. */
  forget(kept: KeptAnswers): void {
    void pacedPromise(this.#forget(kept));
  }

  *#forget(kept: KeptAnswers): PacedWork<void> {
    const pace = new Pace();
    for (const entry of kept.values()) {
      this.#remove(entry);
      if (pace.spend(FORGETTING_BYTES)) yield;
    }
  }

  #remove(entry: Entry): void {
    entry.kept.delete(entry.key);
    this.#used.remove(entry);
    this.#size--;
    this.#byteSize -= entry.byteSize;
  }
}

function byteSizeOf({ outputs, parameters }: Answer): number {
  let bytes = ENTRY_BYTES;
  for (const { shape, bytes: data } of outputs) {
    bytes += OUTPUT_BYTES + DIMENSION_BYTES * shape.length + data.byteLength;
  }
  for (const [name, value] of Object.entries(parameters ?? {})) bytes += 2 * (name.length + String(value).length) + 64;
  return bytes;
}

// An answer's tensors are views of a whole batch's results: kept as they are, one row would hold on to all of them.
function copyOf(answer: Answer): Answer {
  return { ...answer, outputs: answer.outputs.map((output) => ({ ...output, bytes: new Uint8Array(output.bytes) })) };
}
