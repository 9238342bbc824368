// The queue entries that have a deadline, soonest first. Entries that left the queue meanwhile stay until they
// surface, so that cancelling costs nothing here.

export interface Expiring {
  readonly expiresAt: number;
  readonly queued: boolean;
}

/** A binary min-heap by `expiresAt`. */
export class DeadlineHeap<E extends Expiring> {
  readonly #entries: E[] = [];

  push(entry: E): void {
    const entries = this.#entries;
    let index = entries.length;
    entries.push(entry);
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (entries[parent]!.expiresAt <= entry.expiresAt) break;
      entries[index] = entries[parent]!;
      index = parent;
    }
    entries[index] = entry;
  }

  /** The queued entry with the soonest deadline. */
  peek(): E | undefined {
    while (this.#entries.length > 0 && !this.#entries[0]!.queued) this.#removeFirst();
    return this.#entries[0];
  }

  /** Takes out a queued entry whose deadline has passed. */
  popExpired(now: number): E | undefined {
    const first = this.peek();
    if (first === undefined || first.expiresAt > now) return undefined;
    this.#removeFirst();
    return first;
  }

  #removeFirst(): void {
    const entries = this.#entries;
    const last = entries.pop()!;
    if (entries.length === 0) return;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= entries.length) break;
      if (child + 1 < entries.length && entries[child + 1]!.expiresAt < entries[child]!.expiresAt) child++;
      if (entries[child]!.expiresAt >= last.expiresAt) break;
      entries[index] = entries[child]!;
      index = child;
    }
    entries[index] = last;
  }
}
