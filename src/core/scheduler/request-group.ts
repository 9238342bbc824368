// Waiting requests that may be looked at together for a batch: all requests of a model, or all of one shape. It decides what
// its next batch is and when that is due. Pure: time is an argument.

import { BatchScan, type BatchScanOptions } from './batch-scan.js';
import { LinkedList } from '../../linked-list.js';
import { isAhead, type Lane, type Level, type QueuedRequest, type QueueEntry } from './queue-entry.js';

/** Why a batch was released. */
export type ReleaseReason = 'full' | 'preferred' | 'delay' | 'idle' | 'shape' | 'single';

export interface RequestGroupOptions<R> extends BatchScanOptions<R> {
  /** How long the oldest request waits for others, in milliseconds. */
  readonly delay: number;
}

export class RequestGroup<R extends QueuedRequest> {
  /** The shape of its requests; '' for requests of any shape. */
  readonly signature: string;
  heapIndex = -1;
  /** When its next batch is due, as {@link schedule} found. */
  dueAt = Infinity;
  readonly #delay: number;
  /** Ascending priority: the most urgent level first. Created when first used. */
  readonly #lanes: Lane[] = [];
  /** The requests of the next batch, as far as they were looked at. */
  readonly #head: BatchScan<R>;

  constructor(signature: string, options: RequestGroupOptions<R>) {
    this.signature = signature;
    this.#delay = options.delay;
    this.#head = new BatchScan(options);
  }

  /** Where requests of a level wait. */
  laneOf(level: Level): Lane {
    const lanes = this.#lanes;
    let index = 0;
    while (index < lanes.length && lanes[index]!.level.priority < level.priority) index++;
    const found = lanes[index];
    if (found?.level === level) return found;
    const lane: Lane = { level, waiting: new LinkedList(), delayed: new LinkedList() };
    lanes.splice(index, 0, lane);
    return lane;
  }

  add(entry: QueueEntry): void {
    entry.list.push(entry);
    // A request behind all that were looked at changes nothing for them.
    const { end } = this.#head;
    if (end !== undefined && isAhead(entry, end)) this.#head.clear();
  }

  /** Puts an entry in front of all others of its list. */
  addFirst(entry: QueueEntry): void {
    this.#head.clear();
    entry.list.unshift(entry);
  }

  remove(entry: QueueEntry): void {
    this.#head.clear();
    entry.list.remove(entry);
  }

  get first(): QueueEntry | undefined {
    return this.behind(undefined);
  }

  /** The request behind another one, or the first of all. */
  behind(entry: QueueEntry | undefined): QueueEntry | undefined {
    if (entry?.next !== undefined) return entry.next;
    for (const { level, waiting, delayed } of this.#lanes) {
      if (entry === undefined || level.priority > entry.lane.level.priority) {
        const found = waiting.first ?? delayed.first;
        if (found !== undefined) return found;
      } else if (entry.list === waiting && delayed.first !== undefined) {
        return delayed.first;
      }
    }
    return undefined;
  }

  /** Finds when the next batch is due; -Infinity: an instance that is free may have it at once. There must be a request. */
  schedule(): number {
    const head = this.#head;
    if (head.closed === undefined) {
      for (let entry = this.behind(head.last); entry !== undefined && head.add(entry); entry = this.behind(entry));
    }
    const waits =
      this.#delay !== 0 && head.best === 0 && head.closed === undefined && head.rows < head.largestPreferred;
    this.dueAt = waits ? head.oldest + this.#delay : -Infinity;
    return this.dueAt;
  }

  /** The next batch, if no request that comes behind it will join it. To be called after {@link schedule}. */
  closedCut(): { readonly count: number; readonly reason: ReleaseReason } | undefined {
    const { count, best, closed } = this.#head;
    return closed !== undefined && (best === 0 || best === count) ? { count, reason: closed } : undefined;
  }

  /** How many of the first requests a batch takes that is due, and why now. To be called after {@link schedule}. */
  cut(now: number): { readonly count: number; readonly reason: ReleaseReason } {
    const { count, best, closed, oldest } = this.#head;
    // The same sum as in `schedule`, so that the answer at that very moment is not to wait again.
    const delayPassed = this.#delay !== 0 && now >= oldest + this.#delay;
    if (best !== 0 && !delayPassed) {
      return { count: best, reason: best === count && closed !== undefined ? closed : 'preferred' };
    }
    if (closed !== undefined) return { count, reason: closed };
    if (delayPassed) return { count, reason: 'delay' };
    return { count, reason: this.#delay === 0 ? 'idle' : 'preferred' };
  }
}
