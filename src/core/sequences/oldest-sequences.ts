// The oldest strategy: the next requests of all sequences that have a slot are batched dynamically, whatever their slots. A
// request comes to the batcher when the one before it in its sequence has been executed.

import type { CompleteDynamicBatcher } from '../../model/complete-batcher.js';
import { BatchQueue } from '../scheduler/batch-queue.js';
import { InstanceSequences, type SequenceDecision } from './instance-sequences.js';
import type { LiveSequence, SequencedRequest } from './live-sequence.js';

export interface OldestOptions {
  /** How many sequences may be candidates for a batch. */
  readonly slots: number;
  readonly maxBatchSize: number;
  readonly batcher: CompleteDynamicBatcher;
  /** The last request of a sequence may be executed again: it keeps its slot until it has its outcome. */
  readonly iterative?: boolean;
  readonly compatible: (first: SequencedRequest, next: SequencedRequest) => boolean;
}

export class OldestSequences extends InstanceSequences {
  readonly #queue: BatchQueue<SequencedRequest>;
  readonly #iterative: boolean;

  constructor({ slots, maxBatchSize, batcher, iterative = false, compatible }: OldestOptions) {
    super(slots);
    this.#iterative = iterative;
    this.#queue = new BatchQueue({ maxBatchSize, batcher, compatible });
  }

  override remove(sequence: LiveSequence): void {
    super.remove(sequence);
    if (sequence.first !== undefined) this.#queue.remove(sequence.first);
  }

  offer(sequence: LiveSequence, now: number): void {
    const { first, running } = sequence;
    if (first === undefined || running || first.entry !== undefined) return;
    if (first.decided) this.noteCancelled(sequence);
    else this.#queue.enqueue(first, now);
  }

  cancelled(request: SequencedRequest): void {
    const sequence = request.live!;
    this.#queue.remove(request);
    if (sequence.first === request && !sequence.running) this.noteCancelled(sequence);
  }

  next(now: number): SequenceDecision {
    const decision = this.#queue.next(now);
    if (decision.kind !== 'run') return decision;
    for (const request of decision.batch) {
      const sequence = request.live!;
      sequence.shift();
      sequence.running = true;
      if (request.sequence?.end === true && !this.#iterative) this.release(sequence);
    }
    return decision;
  }
}
