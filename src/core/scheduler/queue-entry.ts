// A request that waits, and the level of priority that it waits in.

import type { CompleteQueuePolicy } from '../../model/complete-batcher.js';
import type { LinkedList } from './linked-list.js';

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

/** A request's place in the queue. */
export interface QueueEntry {
  readonly request: QueuedRequest;
  readonly level: Level;
  readonly enqueuedAt: number;
  readonly expiresAt: number;
  readonly sequence: number;
  list: LinkedList<QueueEntry>;
  previous: QueueEntry | undefined;
  next: QueueEntry | undefined;
  heapIndex: number;
}

/** The requests of one level of priority. */
export interface Level {
  readonly priority: number;
  readonly policy: CompleteQueuePolicy;
  /** Those that wait, then the expired ones whose timeout action is DELAY: behind all unexpired ones of the level. */
  readonly lists: readonly [waiting: LinkedList<QueueEntry>, delayed: LinkedList<QueueEntry>];
  size: number;
}

/** Whether it is behind all unexpired requests of its level, because it has expired. */
function isDelayed({ list, level }: QueueEntry): boolean {
  return list === level.lists[1];
}

/** Whether an entry that has just come stands behind another one. */
export function isBehind({ level }: QueueEntry, other: QueueEntry): boolean {
  return level.priority > other.level.priority || (level === other.level && !isDelayed(other));
}
