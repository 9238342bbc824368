// Decides which requests of sequences run when and where. All requests of a sequence go to one instance, in order, one at a
// time. A new sequence takes the lowest free slot of all instances, or waits in the backlog, in order of arrival. Pure: no
// timers, no I/O; time is an argument, in milliseconds of any monotonic clock. Follows Triton's sequence batcher
// (core/src/sequence_batch_scheduler.cc). Differences: idle time counts from the last answer where that is later than the last
// request, a sequence that ends holds nobody back, and a START behind a cancelled request runs.

import { invalidArg, TritonError } from '../../errors.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import { Heap } from '../scheduler/heap.js';
import { LinkedList } from '../../linked-list.js';
import { isSooner } from '../scheduler/queue-entry.js';
import type { InstanceSequences, SequenceDecision } from './instance-sequences.js';
import { LiveSequence, type SequencedRequest, type SequenceEnd, type SequenceFailure } from './live-sequence.js';

export interface SequenceBatcherOptions {
  readonly modelName: string;
  /** Milliseconds after which a sequence that does nothing is over. */
  readonly idle: number;
  /** Most sequences at a time. */
  readonly maxLiveSequences: number;
  /** A request without an id is a sequence of its own. Requests may be executed again. */
  readonly iterative: boolean;
  /** Called for each waiting request that will not run, also where its client is gone. */
  readonly onFailed: (request: SequencedRequest, failure: SequenceFailure) => void;
  /** A sequence is over. It may still have a request that runs. */
  readonly onOver: (sequence: LiveSequence, how: SequenceEnd) => void;
}

/** What has become of the instance of a lost sequence. */
type Loss = 'ended' | 'stalled';

export class SequenceBatcher {
  readonly #options: SequenceBatcherOptions;
  /** The sequences that further requests can name. */
  readonly #byId = new Map<RequestSequence['id'], LiveSequence>();
  /** Ids of sequences whose instance has ended or stalled, until their clients know it or the idle time is over. */
  readonly #lost = new Map<RequestSequence['id'], { readonly until: number; readonly how: Loss }>();
  /** None of them is to be forgotten before. To look for the first in a map takes longer the more have left it. */
  #lostUntil = Infinity;
  readonly #instances: InstanceSequences[] = [];
  readonly #backlog = new LinkedList<LiveSequence>();
  readonly #deadlines = new Heap<LiveSequence>(isSooner);
  /** Longest idle first, because all have the same time. */
  readonly #idle = new LinkedList<LiveSequence>();
  #lastSerial = 0;
  #lastOwnId = 0;
  #live = 0;
  #waiting = 0;
  #isClosing = false;

  constructor(options: SequenceBatcherOptions) {
    this.#options = options;
  }

  /** Sequences that are not over. */
  get live(): number {
    return this.#live;
  }

  /** Sequences without a slot. */
  get backlog(): number {
    return this.#waiting;
  }

  /** Whether a request can still come for a sequence that is under way. */
  get mayGoOn(): boolean {
    return !this.#isClosing && this.#byId.size > 0;
  }

  /** Whether a request belongs to a sequence that is under way. */
  continues({ sequence }: Pick<SequencedRequest, 'sequence'>): boolean {
    return sequence !== undefined && !sequence.start && this.#byId.has(sequence.id);
  }

  /** Sequences may take the slots of an instance from now on. */
  add(instance: InstanceSequences, now: number): void {
    this.#instances.push(instance);
    this.#fill(now);
  }

  /** An instance has ended, and with it all that it kept of its sequences. */
  remove(instance: InstanceSequences, now: number): void {
    this.#instances.splice(this.#instances.indexOf(instance), 1);
    for (const sequence of instance.sequences) {
      this.#lose(sequence, 'ended', now);
      const error = new TritonError(
        'UNAVAILABLE',
        sequence.isOwn ? this.#lossOfOwn() : this.#lossOf(sequence.id, 'ended'),
      );
      this.#end(sequence, 'lost', { error, reason: 'OTHER' });
    }
  }

  /** Accepts a request. Gives true where it starts a sequence anew that is under way. Throws INVALID_ARG or UNAVAILABLE. */
  accept(request: SequencedRequest, now: number): boolean {
    const known = this.#known(request);
    const sequence = known ?? this.#begin(request);
    this.#stir(sequence);
    sequence.push(request);
    if (request.sequence?.end === true) this.#close(sequence);
    const { instance } = sequence;
    if (instance === undefined) this.#await(sequence, request);
    else instance.offer(sequence, now);
    if (sequence.slot < 0) this.#fill(now);
    return known !== undefined && request.sequence?.start === true;
  }

  /** The client of a request that waits is gone. Its sequence is over when its turn comes, or begins afresh with a START behind it. */
  cancel(request: SequencedRequest): void {
    // A sequence that is over fails its requests one after the other, and each may end the client of the next.
    if (request.live?.isOver === false) request.live.instance?.cancelled(request);
  }

  /** What an instance that has room should do. */
  next(instance: InstanceSequences, now: number): SequenceDecision {
    for (const sequence of instance.takeCancelled()) this.#cancel(sequence, now);
    this.#fill(now);
    const decision = instance.next(now);
    // What END gave away may be taken at once.
    if (decision.kind === 'run') this.#fill(now);
    return decision;
  }

  /** The execution of a request has ended, and it will not be executed again. */
  executed(request: SequencedRequest, now: number): void {
    const sequence = request.live!;
    sequence.running = false;
    if (sequence.isOver) return;
    if (sequence.waiting > 0) sequence.instance?.offer(sequence, now);
    else if (sequence.ending) this.#end(sequence, sequence.endsAs);
    else if (this.#isClosing) this.#end(sequence, 'unloaded');
    else this.#rest(sequence, now);
  }

  /** A new sequence elsewhere has this id: nobody can continue the old one here. Its waiting requests still run. */
  supersede(id: RequestSequence['id']): void {
    const sequence = this.#byId.get(id);
    if (sequence === undefined) return;
    this.#close(sequence);
    sequence.endsAs = 'restarted';
    if (sequence.isIdle) this.#end(sequence, 'restarted');
  }

  /** The execution of a request has ended. It is to be executed once more, in the next batch, or when {@link letGo} is called. */
  resume(request: SequencedRequest, now: number, isHeld = false): void {
    const sequence = request.live!;
    sequence.running = isHeld;
    if (sequence.isOver) {
      if (!request.decided) this.#options.onFailed(request, { error: this.#overTooSoon(sequence), reason: 'OTHER' });
    } else {
      sequence.resume(request);
      if (request.decided) this.#cancel(sequence, now);
      else if (!isHeld) sequence.instance?.offer(sequence, now);
    }
  }

  /** A request that was held may be executed. */
  letGo(request: SequencedRequest, now: number): void {
    const sequence = request.live!;
    sequence.running = false;
    if (!sequence.isOver) sequence.instance?.offer(sequence, now);
  }

  /** Ends sequences that were idle for too long. To be called after the requests that have come by then are read. */
  expireIdle(now: number): void {
    const idleSince = now - this.#options.idle;
    for (let first = this.#idle.first; first !== undefined && first.idleSince <= idleSince; first = this.#idle.first) {
      this.#end(first, 'expired');
    }
    this.#fill(now);
  }

  /** When {@link expireIdle} has something to do next; Infinity for never. */
  get idleUntil(): number {
    const { first } = this.#idle;
    return first === undefined ? Infinity : first.idleSince + this.#options.idle;
  }

  /** Ends sequences that were in the backlog for too long. */
  expire(now: number): void {
    for (let due = this.#deadlines.first; due !== undefined && due.expiresAt <= now; due = this.#deadlines.first) {
      this.#end(due, 'timedOut', TIMED_OUT);
    }
    if (now >= this.#lostUntil) this.#forgetLost(now);
    this.#fill(now);
  }

  #forgetLost(now: number): void {
    this.#lostUntil = Infinity;
    // In the order of their losses.
    for (const [id, { until }] of this.#lost) {
      if (until > now) {
        this.#lostUntil = until;
        return;
      }
      this.#lost.delete(id);
    }
  }

  /** When {@link expire} has something to do next; Infinity for never. */
  nextExpiry(): number {
    return Math.min(this.#lostUntil, this.#deadlines.first?.expiresAt ?? Infinity);
  }

  /** No request comes any more. Waiting requests still run. A sequence without waiting requests is over. */
  close(): void {
    this.#isClosing = true;
    this.#lost.clear();
    this.#lostUntil = Infinity;
    for (let first = this.#idle.first; first !== undefined; first = this.#idle.first) this.#end(first, 'unloaded');
  }

  /** Fails all requests that wait, and ends all sequences. Clients of lost ones are still told so, unless it is closed. */
  failAll(error: TritonError, now: number): void {
    const failure = { error, reason: 'OTHER' } as const;
    for (const { sequences } of this.#instances) {
      for (const sequence of sequences) {
        if (!this.#isClosing) this.#lose(sequence, 'stalled', now);
        this.#end(sequence, 'unloaded', failure);
      }
    }
    for (let first = this.#backlog.first; first !== undefined; first = this.#backlog.first) {
      this.#end(first, 'unloaded', failure);
    }
  }

  /** The sequence under way that a request belongs to; undefined where it begins one. */
  #known({ rows, sequence }: SequencedRequest): LiveSequence | undefined {
    const { modelName: model, iterative } = this.#options;
    if (rows !== 1) {
      throw invalidArg(
        `inference request to model '${model}' must specify batch-size 1 due to requirements of sequence batcher`,
      );
    }
    if (!hasId(sequence)) {
      if (iterative) return undefined;
      throw invalidArg(`inference request to model '${model}' must specify a non-zero or non-empty correlation ID`);
    }
    const { id, start } = sequence;
    const known = this.#byId.get(id);
    if (known !== undefined || start) return known;
    const lost = this.#lost.get(id);
    if (lost !== undefined) {
      this.#lost.delete(id);
      throw invalidArg(this.#lossOf(id, lost.how));
    }
    throw invalidArg(
      `inference request for sequence ${id} to model '${model}' must specify the START flag on the first request of the sequence`,
    );
  }

  /** The client of a sequence that is not over has yet to learn that it is. */
  #lose(sequence: LiveSequence, how: Loss, now: number): void {
    const { id, ending } = sequence;
    if (ending || this.#byId.get(id) !== sequence) return;
    const until = now + this.#options.idle;
    this.#lost.set(id, { until, how });
    this.#lostUntil = Math.min(this.#lostUntil, until);
  }

  #lossOf(id: RequestSequence['id'], how: Loss): string {
    return `sequence ${id} of model '${this.#options.modelName}' was lost when the instance that kept it ${how}: it must begin again with the START flag`;
  }

  #lossOfOwn(): string {
    return `an instance of model '${this.#options.modelName}' ended while it was working on the request`;
  }

  #overTooSoon({ id }: LiveSequence): TritonError {
    const { modelName } = this.#options;
    return new TritonError('UNAVAILABLE', `sequence ${id} of model '${modelName}' was ended between two executions`);
  }

  #begin(request: SequencedRequest): LiveSequence {
    const { modelName, maxLiveSequences } = this.#options;
    if (this.#live >= maxLiveSequences) {
      const limit = `its maxLiveSequences of ${maxLiveSequences} are under way`;
      throw new TritonError('UNAVAILABLE', `model '${modelName}' takes no new sequence: ${limit}`);
    }
    this.#live++;
    const { sequence: given } = request;
    if (!hasId(given)) {
      const own = new LiveSequence(++this.#lastOwnId, ++this.#lastSerial);
      request.sequence = { id: own.id, start: true, end: false };
      own.isOwn = true;
      // It is over with its only request.
      own.ending = true;
      return own;
    }
    const begun = new LiveSequence(given.id, ++this.#lastSerial);
    this.#lost.delete(given.id);
    this.#byId.set(given.id, begun);
    return begun;
  }

  /** Its id is free for another sequence. */
  #close(sequence: LiveSequence): void {
    sequence.ending = true;
    if (this.#byId.get(sequence.id) === sequence) this.#byId.delete(sequence.id);
  }

  /** A sequence waits for a slot, behind the others. */
  #await(sequence: LiveSequence, { timeoutMicroseconds, startedAt }: SequencedRequest): void {
    if (sequence.waiting === 1) {
      this.#waiting++;
      this.#backlog.push(sequence);
    }
    const until = timeoutMicroseconds === 0 ? Infinity : startedAt + timeoutMicroseconds / 1000;
    if (until >= sequence.expiresAt) return;
    this.#deadlines.remove(sequence);
    sequence.expiresAt = until;
    this.#deadlines.push(sequence);
  }

  #leaveBacklog(sequence: LiveSequence): void {
    this.#waiting--;
    this.#backlog.remove(sequence);
    this.#deadlines.remove(sequence);
  }

  /** Gives free slots to the backlog. */
  #fill(now: number): void {
    for (let first = this.#backlog.first; first !== undefined; first = this.#backlog.first) {
      const instance = this.#lowestFree();
      if (instance === undefined) return;
      if (first.isCancelled) {
        this.#cancel(first, now);
        continue;
      }
      this.#leaveBacklog(first);
      instance.take(first);
      instance.offer(first, now);
    }
  }

  /** The instance with the lowest free slot, of several the one with the fewest sequences. */
  #lowestFree(): InstanceSequences | undefined {
    let best: InstanceSequences | undefined;
    for (const instance of this.#instances) {
      const slot = instance.isBlocked ? undefined : instance.free.lowest;
      if (slot === undefined) continue;
      const lowest = best?.free.lowest ?? Infinity;
      if (slot < lowest || (slot === lowest && instance.sequences.size < best!.sequences.size)) best = instance;
    }
    return best;
  }

  #rest(sequence: LiveSequence, now: number): void {
    sequence.idleSince = now;
    this.#idle.push(sequence);
    sequence.isIdle = true;
  }

  #stir(sequence: LiveSequence): void {
    if (!sequence.isIdle) return;
    sequence.isIdle = false;
    this.#idle.remove(sequence);
  }

  /** A client of a sequence is gone. Others may wait for their answers: without a text a stream would not tell them of an error. */
  #cancel(sequence: LiveSequence, now: number): void {
    const message = `sequence ${sequence.id} of model '${this.#options.modelName}' is over: the client of one of its requests is gone`;
    const failure = { error: new TritonError('CANCELLED', message), reason: 'CANCELED' } as const;
    if (!sequence.beginsAgain) return this.#end(sequence, 'cancelled', failure);
    for (const request of sequence.shiftUntilStart()) this.#options.onFailed(request, failure);
    sequence.instance?.offer(sequence, now);
  }

  /** A sequence is over. Its waiting requests fail. */
  #end(sequence: LiveSequence, how: SequenceEnd, failure?: SequenceFailure): void {
    if (sequence.isOver) return;
    sequence.isOver = true;
    this.#live--;
    this.#stir(sequence);
    this.#close(sequence);
    if (sequence.instance === undefined) this.#leaveBacklog(sequence);
    else sequence.instance.remove(sequence);
    for (let request = sequence.shift(); request !== undefined; request = sequence.shift()) {
      if (failure !== undefined) this.#options.onFailed(request, failure);
    }
    this.#options.onOver(sequence, how);
  }
}

function hasId(sequence: RequestSequence | undefined): sequence is RequestSequence {
  return sequence !== undefined && sequence.id !== 0 && sequence.id !== '';
}

const TIMED_OUT: SequenceFailure = {
  error: new TritonError('UNAVAILABLE', 'timeout of the corresponding sequence has been expired'),
  reason: 'REJECTED',
};
