// The direct strategy: a sequence has one row of all batches of its instance. The first waiting request of every slot goes
// when the instance has room. Slots below the highest of them that have no request stay empty, and count as rows.

import type { ReleaseReason } from '../scheduler/request-group.js';
import { IDLE, InstanceSequences, type SequenceDecision } from './instance-sequences.js';
import type { LiveSequence, SequencedRequest } from './live-sequence.js';

export interface DirectOptions {
  readonly slots: number;
  /** Milliseconds; 0 for none. */
  readonly delay: number;
  /** The part of the slots that is enough for a batch. It counts where there is a delay. */
  readonly utilization: number;
  /** The last request of a sequence may be executed again: it keeps its slot until it has its outcome. */
  readonly iterative?: boolean;
  /** Whether a request's tensors fit into a batch that begins with another request. */
  readonly compatible: (first: SequencedRequest, next: SequencedRequest) => boolean;
}

export class DirectSequences extends InstanceSequences {
  readonly #slots: (LiveSequence | undefined)[];
  readonly #options: DirectOptions;

  constructor(options: DirectOptions) {
    super(options.slots);
    this.#options = options;
    this.#slots = Array.from({ length: options.slots }, () => undefined);
  }

  override take(sequence: LiveSequence): void {
    super.take(sequence);
    this.#slots[sequence.slot] = sequence;
  }

  override release(sequence: LiveSequence): void {
    if (sequence.holdsSlot) this.#slots[sequence.slot] = undefined;
    super.release(sequence);
  }

  /** Its next request is found in its slot. */
  offer(sequence: LiveSequence): void {
    if (sequence.first?.decided === true) this.noteCancelled(sequence);
  }

  cancelled(request: SequencedRequest): void {
    this.noteCancelled(request.live!);
  }

  next(now: number): SequenceDecision {
    const ready = this.#slots.filter((sequence) => sequence !== undefined && isReady(sequence)) as LiveSequence[];
    if (ready.length === 0) return IDLE;
    const reason = this.#reason(ready, now);
    if (typeof reason === 'number') return { kind: 'wait', until: reason };
    const first = ready[0]!.first!;
    const { compatible, iterative } = this.#options;
    const joining = ready.filter((sequence) => sequence.first === first || compatible(first, sequence.first!));
    const batch: SequencedRequest[] = [];
    // The slots of requests that wait for the next batch are empty, at its end too.
    const rows = ready.at(-1)!.slot + 1;
    for (const sequence of joining) {
      const request = sequence.shift()!;
      batch.push(request);
      sequence.running = true;
      // Its slot is another sequence's from now on.
      if (request.sequence?.end === true && !iterative) this.release(sequence);
    }
    return { kind: 'run', batch, rows, reason: joining.length < ready.length ? 'shape' : reason };
  }

  /** Why the waiting requests go now, or when they will. */
  #reason(ready: readonly LiveSequence[], now: number): ReleaseReason | number {
    const { slots, delay, utilization } = this.#options;
    if (ready.length === slots) return 'full';
    if (delay === 0 || utilization === 0) return 'idle';
    // As numbers of 32 bits, like Triton: 3 of 5 slots are 0.6 of them.
    if (Math.fround(ready.length / slots) >= Math.fround(utilization)) return 'preferred';
    const oldest = Math.min(...ready.map((sequence) => sequence.first!.waitsSince));
    return now >= oldest + delay ? 'delay' : oldest + delay;
  }
}

function isReady({ running, first }: LiveSequence): boolean {
  return !running && first !== undefined && !first.decided;
}
