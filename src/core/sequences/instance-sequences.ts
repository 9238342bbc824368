// The sequences that have a slot of one instance, and which of their requests form its next batch. What a strategy decides is
// in `direct-sequences.ts` and `oldest-sequences.ts`. Pure: time is an argument.

import type { ReleaseReason } from '../scheduler/request-group.js';
import { FreeSlots } from './free-slots.js';
import type { LiveSequence, SequencedRequest, SequenceHolder } from './live-sequence.js';

/** A batch for an instance. Each request is of another sequence. */
export interface SequenceRelease {
  readonly kind: 'run';
  readonly batch: SequencedRequest[];
  /** With the empty slots, where the strategy has any. */
  readonly rows: number;
  readonly reason: ReleaseReason;
}

export type SequenceDecision =
  SequenceRelease | { readonly kind: 'wait'; readonly until: number } | { readonly kind: 'idle' };

export const IDLE = { kind: 'idle' } as const;

export abstract class InstanceSequences implements SequenceHolder {
  readonly free: FreeSlots;
  readonly sequences = new Set<LiveSequence>();
  /** It takes no new sequences meanwhile. */
  isBlocked = false;
  readonly #cancelled = new Set<LiveSequence>();

  constructor(slots: number) {
    this.free = new FreeSlots(slots);
  }

  /** Gives a sequence the lowest free slot, of which there is one. */
  take(sequence: LiveSequence): void {
    sequence.instance = this;
    sequence.slot = this.free.take();
    sequence.holdsSlot = true;
    this.sequences.add(sequence);
  }

  /** Another sequence may have its slot. */
  release(sequence: LiveSequence): void {
    if (!sequence.holdsSlot) return;
    sequence.holdsSlot = false;
    this.free.release(sequence.slot);
  }

  remove(sequence: LiveSequence): void {
    this.release(sequence);
    this.sequences.delete(sequence);
    this.#cancelled.delete(sequence);
  }

  abstract offer(sequence: LiveSequence, now: number): void;

  abstract cancelled(request: SequencedRequest): void;

  /** A request of the sequence is one whose client is gone. */
  protected noteCancelled(sequence: LiveSequence): void {
    this.#cancelled.add(sequence);
  }

  /** Sequences that do not go on as they are, because the client of their next request is gone. */
  takeCancelled(): LiveSequence[] {
    if (this.#cancelled.size === 0) return [];
    const over = [...this.#cancelled].filter((sequence) => !sequence.running && sequence.first?.decided === true);
    for (const sequence of over) this.#cancelled.delete(sequence);
    return over;
  }

  /** What the instance, which has room, should do. */
  abstract next(now: number): SequenceDecision;
}
