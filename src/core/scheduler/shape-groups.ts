// The requests of a model that keeps a queue for each shape (`groupByShape`). Of the shapes whose batches are due, the one runs
// next that has the most urgent request, and of equals the oldest: as if all were one queue.

import { Heap } from './heap.js';
import { isAhead, type QueuedRequest } from './queue-entry.js';
import { RequestGroup, type RequestGroupOptions } from './request-group.js';

/** Up to this number of groups, none is forgotten. */
const MOST_KEPT = 256;

export class ShapeGroups<R extends QueuedRequest> {
  readonly #options: RequestGroupOptions<R>;
  readonly #groups = new Map<string, RequestGroup<R>>();
  /** How often a group has become empty since the empty ones were forgotten. */
  #emptied = 0;
  /** Groups with changes since the last decision, none of them empty. They are in no heap. */
  readonly #changed = new Set<RequestGroup<R>>();
  /** Groups whose batches are due. */
  readonly #ready = new Heap<RequestGroup<R>>((a, b) => isAhead(a.first!, b.first!));
  /** Groups that wait for more requests. */
  readonly #waiting = new Heap<RequestGroup<R>>((a, b) => a.dueAt < b.dueAt);

  constructor(options: RequestGroupOptions<R>) {
    this.#options = options;
  }

  /** The group of a shape, made when it is new. */
  of(signature: string): RequestGroup<R> {
    let group = this.#groups.get(signature);
    if (group === undefined) this.#groups.set(signature, (group = new RequestGroup(signature, this.#options)));
    return group;
  }

  /** Empty groups included. */
  all(): Iterable<RequestGroup<R>> {
    return this.#groups.values();
  }

  /** The requests of a group are about to change. */
  changes(group: RequestGroup<R>): void {
    if (this.#changed.has(group)) return;
    this.#changed.add(group);
    if (group.dueAt === -Infinity) this.#ready.remove(group);
    else this.#waiting.remove(group);
  }

  /** A request has left a group. Empty groups are kept for the next requests of their shapes, and forgotten when they are many. */
  left(group: RequestGroup<R>): void {
    if (group.first !== undefined) return;
    this.#changed.delete(group);
    if (++this.#emptied >= Math.max(MOST_KEPT, this.#groups.size / 2)) this.#forgetEmpty();
  }

  #forgetEmpty(): void {
    this.#emptied = 0;
    if (this.#groups.size <= MOST_KEPT) return;
    for (const [signature, { first }] of this.#groups) if (first === undefined) this.#groups.delete(signature);
  }

  /** The group whose batch runs next; undefined while no batch is due. */
  next(now: number): RequestGroup<R> | undefined {
    for (const group of this.#changed) {
      if (group.schedule() > now) this.#waiting.push(group);
      else this.#makeReady(group);
    }
    this.#changed.clear();
    for (let group = this.#waiting.first; group !== undefined && group.dueAt <= now; group = this.#waiting.first) {
      this.#waiting.remove(group);
      this.#makeReady(group);
    }
    return this.#ready.first;
  }

  /** Whether batches of several shapes are due, by the last call of {@link next}. */
  get areSeveral(): boolean {
    return this.#ready.size > 1;
  }

  /** When the next batch is due, if none is. */
  get dueAt(): number {
    return this.#waiting.first?.dueAt ?? Infinity;
  }

  #makeReady(group: RequestGroup<R>): void {
    group.dueAt = -Infinity;
    this.#ready.push(group);
  }
}
