// A sequence that is under way, and the requests of it that wait.

import type { TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import type { SequenceEndReason } from '../../model/sequence-batching.js';
import type { QueuedRequest } from '../scheduler/queue-entry.js';
import { Ring } from '../../ring.js';

/** What the sequence batcher needs to know of a request. */
export interface SequencedRequest extends QueuedRequest {
  /** An iterative request without one is given its own. */
  sequence?: RequestSequence | undefined;
  readonly inputs: readonly (InferTensor | undefined)[];
  /** Moment of arrival. */
  readonly startedAt: number;
  /** Since when it waits for its next execution. */
  readonly waitsSince: number;
  /** Whether its outcome is fixed: its client is gone. */
  readonly decided: boolean;
  /** The batcher's own mark: the sequence that it belongs to. */
  live: LiveSequence | undefined;
}

/** Why a sequence is over. `lost`: its instance has ended. `timedOut`: it waited too long for an instance. */
export type SequenceEnd = SequenceEndReason | 'lost' | 'timedOut';

/** A refusal of all requests of a sequence that wait. */
export interface SequenceFailure {
  readonly error: TritonError;
  readonly reason: 'REJECTED' | 'CANCELED' | 'OTHER';
}

/** The instance that sequences belong to. */
export interface SequenceHolder {
  /** The first request of a sequence may run as soon as the instance has room. */
  offer(sequence: LiveSequence, now: number): void;
  /** The client of a waiting request is gone. */
  cancelled(request: SequencedRequest): void;
  /** A sequence is over. */
  remove(sequence: LiveSequence): void;
}

export class LiveSequence {
  readonly id: RequestSequence['id'];
  /** A number that no other sequence of the model has, not even one of the same id; ascending. */
  readonly serial: number;
  /** The instance that it belongs to; undefined while it is in the backlog. */
  instance: SequenceHolder | undefined = undefined;
  /** Its slot there, which it may have given away; -1 before it has one. */
  slot = -1;
  holdsSlot = false;
  /** It was made for its only request, of an iterative model: nobody else can name it. */
  isOwn = false;
  /** Whether a request of it is being executed, or held up until its reader has taken its answers. */
  running = false;
  /** Whether no further request can come: its id is free again. */
  ending = false;
  /** Why it is over with its last request, where `ending` says that there is one: END has come, or another START elsewhere. */
  endsAs: 'ended' | 'restarted' = 'ended';
  isOver = false;
  /** Whether nothing of it waits or runs. */
  isIdle = false;
  /** Since when nothing of it waits or runs. */
  idleSince = 0;
  /** When it leaves the backlog unserved; Infinity for never. */
  expiresAt = Infinity;
  heapIndex = -1;
  previous: LiveSequence | undefined = undefined;
  next: LiveSequence | undefined = undefined;
  /** Undefined while nothing waits: most sequences wait for their clients. */
  #waiting: Ring<SequencedRequest> | undefined;
  /** The request that was executed and is to be executed again, before all others. */
  #resumed: SequencedRequest | undefined;

  constructor(id: RequestSequence['id'], serial: number) {
    this.id = id;
    this.serial = serial;
  }

  /** Order of arrival, for the deadlines. */
  get sequence(): number {
    return this.serial;
  }

  get waiting(): number {
    return (this.#waiting?.length ?? 0) + (this.#resumed === undefined ? 0 : 1);
  }

  /** The next of its requests. */
  get first(): SequencedRequest | undefined {
    return this.#resumed ?? this.#waiting?.at(0);
  }

  /** Whether the client of any request is gone that waits before the next START. For a sequence of the backlog. */
  get isCancelled(): boolean {
    for (let i = 0; i < this.waiting; i++) {
      const request = this.#waiting!.at(i)!;
      if (i > 0 && request.sequence?.start === true) return false;
      if (request.decided) return true;
    }
    return false;
  }

  /** Whether a START waits behind the next request: with it the sequence begins afresh. */
  get beginsAgain(): boolean {
    const behind = this.#resumed === undefined ? 1 : 0;
    for (let i = behind; i < (this.#waiting?.length ?? 0); i++) if (beginsAfresh(this.#waiting!.at(i)!)) return true;
    return false;
  }

  push(request: SequencedRequest): void {
    (this.#waiting ??= new Ring()).push(request);
    request.live = this;
  }

  /** A request that was executed is to be executed again. */
  resume(request: SequencedRequest): void {
    this.#resumed = request;
  }

  shift(): SequencedRequest | undefined {
    const resumed = this.#resumed;
    this.#resumed = undefined;
    if (resumed !== undefined) return resumed;
    const request = this.#waiting?.shift();
    if (this.#waiting?.length === 0) this.#waiting = undefined;
    return request;
  }

  /** Takes out the next request, and those behind it up to the START with which the sequence begins afresh. */
  shiftUntilStart(): SequencedRequest[] {
    const taken: SequencedRequest[] = [];
    do taken.push(this.shift()!);
    while (this.first !== undefined && !beginsAfresh(this.first));
    return taken;
  }
}

/** The START of a client that is gone begins nothing. */
function beginsAfresh({ sequence, decided }: SequencedRequest): boolean {
  return sequence?.start === true && !decided;
}
