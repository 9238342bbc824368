// A binary heap whose items know their place in it, so that they can leave it from anywhere. An item that stayed until its
// turn came would keep the memory of its request alive as long.

export interface HeapItem {
  /** The heap's own mark: where the item is, or -1. */
  heapIndex: number;
}

/** The item that stands before all others is the first. */
export class Heap<E extends HeapItem> {
  /** Only the heap sets it. */
  first: E | undefined;
  readonly #before: (a: E, b: E) => boolean;
  readonly #entries: E[] = [];

  /** An item may be in one heap at a time, and its order must not change while it is in one. */
  constructor(before: (a: E, b: E) => boolean) {
    this.#before = before;
  }

  get size(): number {
    return this.#entries.length;
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
    if (index === 0) this.first = undefined;
    if (last === entry) return;
    if (index > 0 && this.#before(last, this.#entries[(index - 1) >> 1]!)) this.#rise(last, index);
    else this.#sink(last, index);
  }

  // Puts `entry` at `index`, whose occupant has moved away, or above it.
  #rise(entry: E, index: number): void {
    const entries = this.#entries;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (!this.#before(entry, entries[parent]!)) break;
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
      if (child + 1 < entries.length && this.#before(entries[child + 1]!, entries[child]!)) child++;
      if (!this.#before(entries[child]!, entry)) break;
      this.#place(entries[child]!, index);
      index = child;
    }
    this.#place(entry, index);
  }

  #place(entry: E, index: number): void {
    this.#entries[index] = entry;
    entry.heapIndex = index;
    if (index === 0) this.first = entry;
  }
}
