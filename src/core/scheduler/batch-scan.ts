// Adds up the requests at the head of the queue that go together, whatever the time. It is kept while they wait, so that a long queue is not looked at again with each arrival.

import type { QueuedRequest, QueueEntry } from './queue-entry.js';

export interface BatchScanOptions<R> {
  /** Most rows of a batch. */
  readonly maxRows: number;
  /** Sizes to cut a batch at. */
  readonly preferred: ReadonlySet<number>;
  /** Whether requests wait for a preferred size: then one that would pass them all is left for the next batch. */
  readonly waits: boolean;
  /** Whether a request's tensors can be in one batch with the tensors of its first request. */
  readonly compatible: (first: R, next: R) => boolean;
}

export class BatchScan<R extends QueuedRequest> {
  /** A batch of this size waits for no more. */
  readonly largestPreferred: number;
  count = 0;
  rows = 0;
  /** The cut at the best preferred size, or, where requests wait, before the first that passes them all; 0 for none. */
  best = 0;
  /** Why no more requests fit; undefined when they all do so far. */
  closed: 'full' | 'shape' | undefined;
  /** When the first of them came. */
  oldest = Infinity;
  /** The last of them. */
  last: QueueEntry | undefined;
  /** The last that was looked at. A request that comes in front of it changes everything. */
  end: QueueEntry | undefined;
  #first: R | undefined;
  readonly #maxRows: number;
  readonly #preferred: ReadonlySet<number>;
  readonly #waits: boolean;
  readonly #compatible: (first: R, next: R) => boolean;

  constructor({ maxRows, preferred, waits, compatible }: BatchScanOptions<R>) {
    this.#maxRows = maxRows;
    this.#preferred = preferred;
    this.#waits = waits;
    this.largestPreferred = Math.max(1, ...preferred);
    this.#compatible = compatible;
  }

  /** Forgets all of them. */
  clear(): void {
    this.count = 0;
    this.rows = 0;
    this.best = 0;
    this.closed = undefined;
    this.oldest = Infinity;
    this.last = undefined;
    this.end = undefined;
    this.#first = undefined;
  }

  /** Takes the request behind the last one in, while the batch is not closed. False when it has closed. */
  add(entry: QueueEntry): boolean {
    const request = entry.request as R;
    const grown = this.rows + request.rows;
    this.end = entry;
    if (this.#first === undefined) {
      this.#first = request;
    } else {
      if (this.#waits && this.best === 0 && grown > this.largestPreferred) this.best = this.count;
      if (grown > this.#maxRows) this.closed = 'full';
      else if (!this.#compatible(this.#first, request)) this.closed = 'shape';
      if (this.closed !== undefined) return false;
    }
    this.last = entry;
    this.count++;
    this.rows = grown;
    if (entry.enqueuedAt < this.oldest) this.oldest = entry.enqueuedAt;
    if (this.#preferred.has(grown)) this.best = this.count;
    if (grown >= this.#maxRows) this.closed = 'full';
    return this.closed === undefined;
  }
}
