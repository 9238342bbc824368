// A request that waits: its place in the line of its priority and shape.

import type { CompleteQueuePolicy } from '../../model/complete-batcher.js';
import type { LinkedList } from '../../linked-list.js';

/** What the queue needs to know of a request. */
export interface QueuedRequest {
  /** Rows it adds to a batch, at least 1. */
  readonly rows: number;
  /** Priority level it asked for; 0 for none. */
  readonly priority: number;
  /** Its own timeout; 0 for none. */
  readonly timeoutMicroseconds: number;
  /** For the "Exceeds maximum queue size" message. */
  readonly id: string;
  /** The queue's own mark on a waiting request. */
  entry: QueueEntry | undefined;
}

/** A level of priority. Its limits count for all requests of the level, whatever their shapes. */
export interface Level {
  readonly priority: number;
  readonly policy: CompleteQueuePolicy;
  /** Requests waiting. */
  size: number;
}

/** The requests of one level that may share batches. */
export interface Lane {
  readonly level: Level;
  readonly waiting: LinkedList<QueueEntry>;
  /** Expired requests whose timeout action is DELAY: behind all unexpired ones. */
  readonly delayed: LinkedList<QueueEntry>;
}

/** When a request expires. */
export interface Deadline {
  readonly expiresAt: number;
  /** Order of arrival; a request that was delayed arrives anew. */
  readonly sequence: number;
}

/** A request's place in the queue. */
export interface QueueEntry extends Deadline {
  readonly request: QueuedRequest;
  lane: Lane;
  /** The queue's own mark: the group that it waits in. */
  group: object;
  readonly enqueuedAt: number;
  sequence: number;
  list: LinkedList<QueueEntry>;
  previous: QueueEntry | undefined;
  next: QueueEntry | undefined;
  heapIndex: number;
}

/** The order of deadlines; equal ones are in the order of arrival. */
export function isSooner(a: Deadline, b: Deadline): boolean {
  return a.expiresAt < b.expiresAt || (a.expiresAt === b.expiresAt && a.sequence < b.sequence);
}

/** Whether it stands behind all unexpired requests of its level, because it has expired. */
export function isDelayed({ list, lane }: QueueEntry): boolean {
  return list === lane.delayed;
}

/** The order in which requests run: by priority, the expired ones of a level last, then by arrival. */
export function isAhead(a: QueueEntry, b: QueueEntry): boolean {
  const [level, other] = [a.lane.level, b.lane.level];
  if (level !== other) return level.priority < other.priority;
  const wasDelayed = isDelayed(a);
  return wasDelayed === isDelayed(b) ? a.sequence < b.sequence : !wasDelayed;
}
