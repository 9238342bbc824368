// The numbers of free slots, lowest first. Slots that were never used are no entries: an instance may have many.

export class FreeSlots {
  readonly #count: number;
  /** The lowest slot that was never taken. */
  #fresh = 0;
  /** A binary heap of the slots that were given back. */
  readonly #released: number[] = [];

  constructor(count: number) {
    this.#count = count;
  }

  /** The lowest free slot; undefined when none is free. */
  get lowest(): number | undefined {
    return this.#released[0] ?? (this.#fresh < this.#count ? this.#fresh : undefined);
  }

  /** Takes the lowest free slot, of which there is one. */
  take(): number {
    const heap = this.#released;
    const [slot] = heap;
    if (slot === undefined) return this.#fresh++;
    const last = heap.pop()!;
    if (heap.length > 0) this.#sink(last);
    return slot;
  }

  release(slot: number): void {
    const heap = this.#released;
    let index = heap.length;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (heap[parent]! <= slot) break;
      heap[index] = heap[parent]!;
      index = parent;
    }
    heap[index] = slot;
  }

  /** Puts a slot in the place of the lowest. */
  #sink(slot: number): void {
    const heap = this.#released;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= heap.length) break;
      if (child + 1 < heap.length && heap[child + 1]! < heap[child]!) child++;
      if (heap[child]! >= slot) break;
      heap[index] = heap[child]!;
      index = child;
    }
    heap[index] = slot;
  }
}
