// The queue entries that have a deadline, soonest first; those with the same deadline in order of arrival.
// Entries know their place, so that one that leaves the queue leaves the heap too: a heap that kept it until
// its deadline would keep its request's memory alive as long.

export interface Expiring {
  readonly expiresAt: number;
  /** Order of arrival. */
  readonly sequence: number;
  /** The heap's own mark: where the entry is, or -1. */
  heapIndex: number;
}

/** A binary min-heap by `expiresAt`, then `sequence`. */
export class DeadlineHeap<E extends Expiring> {
  readonly #entries: E[] = [];

  /** The entry with the soonest deadline. */
  get first(): E | undefined {
    return this.#entries[0];
  }

  push(entry: E): void {
    this.#entries.push(entry);
    this.#rise(entry, this.#entries.length - 1);
  }

  /** Takes an entry out, if it is in the heap. */
  remove(entry: E): void {
    const index = entry.heapIndex;
    if (index < 0) return;
    entry.heapIndex = -1;
    const last = this.#entries.pop()!;
    if (last === entry) return;
    if (index > 0 && before(last, this.#entries[(index - 1) >> 1]!)) this.#rise(last, index);
    else this.#sink(last, index);
  }

  // Puts `entry` at `index`, whose occupant has moved away, or above it.
  #rise(entry: E, index: number): void {
    const entries = this.#entries;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!before(entry, entries[parent]!)) break;
      this.#place(entries[parent]!, index);
      index = parent;
    }
    this.#place(entry, index);
  }

  // Puts `entry` at `index`, whose occupant has moved away, or below it.
  #sink(entry: E, index: number): void {
    const entries = this.#entries;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= entries.length) break;
      if (child + 1 < entries.length && before(entries[child + 1]!, entries[child]!)) child++;
      if (!before(entries[child]!, entry)) break;
      this.#place(entries[child]!, index);
      index = child;
    }
    this.#place(entry, index);
  }

  #place(entry: E, index: number): void {
    this.#entries[index] = entry;
    entry.heapIndex = index;
  }
}

function before(a: Expiring, b: Expiring): boolean {
  return a.expiresAt < b.expiresAt || (a.expiresAt === b.expiresAt && a.sequence < b.sequence);
}
