// The shell around SequenceBatcher: one per model version that batches by sequences. It gives instances with room the batches
// that the batcher decides on, tells instances of sequences that are over, and owns the timers of the model.

import { PLAIN_BATCHER } from '../../model/complete-batcher.js';
import { TritonError } from '../../errors.js';
import type { CompleteModelConfig, CompleteSequenceBatching } from '../../model/complete-model-config.js';
import type { ModelInferRequest } from '../../model/exchange.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import type { ExecutionResult } from '../instance/model-instance.js';
import { ServedTimer } from '../../pacing/served-timer.js';
import { batchCompatibility } from '../scheduler/batch-compatibility.js';
import type { BatchRunner, MakeScheduler, SchedulerParts } from '../scheduler/batch-runner.js';
import { LONGEST_TIMER } from '../scheduler/execution-limit.js';
import type { Slot } from '../scheduler/instance-slots.js';
import type { PendingRequest } from '../scheduler/pending-request.js';
import type { Scheduler } from '../scheduler/scheduler.js';
import { DirectSequences } from './direct-sequences.js';
import type { InstanceSequences, SequenceRelease } from './instance-sequences.js';
import type { LiveSequence, SequenceEnd } from './live-sequence.js';
import { OldestSequences } from './oldest-sequences.js';
import { SequenceBatcher } from './sequence-batcher.js';

/** Delays shorter than this many milliseconds are waited out by polling: a timer's floor is about 1.1 ms. */
const SHORTEST_TIMER = 1.5;

/** The scheduler of models that batch by sequences. */
export const sequenceBatching: MakeScheduler = (parts, runner) => new SequenceScheduler(parts, runner);

class SequenceScheduler implements Scheduler {
  readonly #parts: SchedulerParts;
  readonly #runner: BatchRunner;
  readonly #batcher: SequenceBatcher;
  readonly #config: CompleteSequenceBatching;
  readonly #instances = new Map<Slot, InstanceSequences>();
  #immediate: NodeJS.Immediate | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** When the timer is due. */
  #armedFor = Infinity;
  /** Due when the sequence that is idle longest is over, or before. */
  #idleTimer: ServedTimer | undefined;
  /** Who waits until no request can continue a sequence. */
  #drained: (() => void)[] = [];

  /** Decides what `runner` runs. */
  constructor(parts: SchedulerParts, runner: BatchRunner) {
    const { config, outcomes, statistics } = parts;
    this.#parts = parts;
    this.#runner = runner;
    this.#config = config.sequenceBatching!;
    this.#batcher = new SequenceBatcher({
      modelName: config.name,
      idle: this.#config.maxSequenceIdleMicroseconds / 1000,
      maxLiveSequences: this.#config.maxLiveSequences,
      iterative: this.#config.iterative,
      onFailed: (request, { error, reason }) => {
        if (!request.decided) statistics.pending--;
        outcomes.fail(request as PendingRequest, error, reason);
      },
      onOver: (sequence, how) => this.#over(sequence, how),
    });
    runner.scheduler = this;
  }

  enqueue(request: PendingRequest): void {
    const { refusal } = this.#runner;
    const { outcomes, statistics, log } = this.#parts;
    if (refusal !== undefined) return outcomes.fail(request, refusal, 'OTHER');
    if (this.#config.iterative) request.memory = undefined;
    const now = request.startedAt;
    this.#meetInstances(now);
    this.#batcher.expire(now);
    // Its client may have left while it was prepared.
    const { decided } = request;
    if (!decided) statistics.pending++;
    try {
      if (this.#batcher.accept(request, now)) log.sequenceConflict(request.sequence!.id);
    } catch (error) {
      if (!decided) statistics.pending--;
      return outcomes.refuse(request, TritonError.from(error));
    }
    if (decided) this.#batcher.cancel(request);
    this.#count();
    if (log.level >= 2) log.queued(request, statistics.pending);
    this.#wake();
  }

  cancelled(request: PendingRequest): void {
    const waits = !request.isDispatched && request.live !== undefined;
    if (waits && !request.decided) this.#parts.statistics.pending--;
    this.#parts.outcomes.cancel(request);
    if (!waits) return;
    this.#batcher.cancel(request);
    this.#wake();
  }

  dispatch(now: boolean): void {
    if (now) this.#dispatch();
    else this.#wake();
  }

  failQueued(error: TritonError): void {
    this.#disarm();
    clearImmediate(this.#immediate);
    this.#immediate = undefined;
    if (this.#runner.isStopped) this.#batcher.close();
    this.#batcher.failAll(error, performance.now());
    this.#count();
  }

  instanceEnded(slot: Slot): void {
    const instance = this.#instances.get(slot);
    if (instance === undefined) return;
    this.#instances.delete(slot);
    this.#batcher.remove(instance, performance.now());
    this.#count();
    this.#wake();
  }

  continues(request: Pick<ModelInferRequest, 'sequence'>): boolean {
    return this.#batcher.continues(request);
  }

  supersede(id: RequestSequence['id']): void {
    this.#batcher.supersede(id);
    this.#count();
  }

  drain(accepting: boolean): Promise<void> {
    if (!accepting) this.#batcher.close();
    this.#count();
    if (!this.#batcher.mayGoOn) return Promise.resolve();
    return new Promise((resolve) => this.#drained.push(resolve));
  }

  // Decides at the end of the current turn of the event loop, so that requests that arrived together are seen together.
  #wake(): void {
    this.#immediate ??= setImmediate(() => {
      this.#immediate = undefined;
      this.#dispatch();
    });
  }

  #dispatch(): void {
    const now = performance.now();
    this.#meetInstances(now);
    this.#batcher.expire(now);
    let until = Infinity;
    for (const [slot, instance] of this.#instances) {
      while (this.#hasRoom(slot)) {
        const decision = this.#batcher.next(instance, now);
        if (decision.kind === 'wait') until = Math.min(until, decision.until);
        if (decision.kind !== 'run') break;
        // At most one batch of a callable that computes in this very thread: it must not keep the event loop from everything
        // else while requests wait.
        if (this.#run(slot, decision)) return this.#wake();
      }
    }
    this.#count();
    this.#arm(Math.min(until, this.#batcher.nextExpiry()), now);
    this.#armIdle(now);
  }

  #hasRoom(slot: Slot): boolean {
    return this.#runner.hasRoom(slot) && (!this.#config.preserveOrdering || slot.running === 0);
  }

  #run(slot: Slot, { batch, rows, reason }: SequenceRelease): boolean {
    const { statistics, log } = this.#parts;
    const requests = batch as PendingRequest[];
    const at = performance.now();
    statistics.pending -= requests.length;
    statistics.recordRelease(reason, rows);
    if (log.level >= 1) {
      const release = { kind: 'run', batch: requests, rows, reason } as const;
      log.released(release, { at, instance: this.#runner.indexOf(slot), waiting: statistics.pending });
    }
    // The runner lets go of the requests that it has answered.
    const executed = requests.slice();
    const onEnded = (results: readonly ExecutionResult[]) => {
      const now = performance.now();
      executed.forEach((request, index) => {
        if (results[index]?.kind === 'again') this.#again(request, now);
        else this.#batcher.executed(request, now);
      });
    };
    return this.#runner.run(slot, { batch: requests, rows, onEnded }, at);
  }

  /** A request is to be executed again, once its reader has taken its answers. */
  #again(request: PendingRequest, now: number): void {
    const { slow } = request;
    if (!request.decided) this.#parts.statistics.pending++;
    this.#batcher.resume(request, now, slow !== undefined);
    void slow?.then(() => {
      this.#batcher.letGo(request, performance.now());
      this.#wake();
    });
  }

  /** Sequences may be given to the instances that have come. */
  #meetInstances(now: number): void {
    for (const slot of this.#runner.slots) {
      const known = this.#instances.get(slot);
      if (known !== undefined) {
        known.isBlocked = slot.isBlocked;
        continue;
      }
      const instance = sequencesOf(this.#parts.config);
      this.#instances.set(slot, instance);
      this.#batcher.add(instance, now);
    }
  }

  #over(sequence: LiveSequence, how: SequenceEnd): void {
    const { sequences } = this.#parts.statistics;
    if (how === 'expired' || how === 'timedOut') sequences.expired++;
    // The callable's side sees END itself, a lost instance keeps nothing, and no instance has had a sequence that timed out.
    if (how === 'ended' || how === 'lost' || how === 'timedOut') return;
    for (const [slot, instance] of this.#instances) {
      if (instance === sequence.instance) slot.instance.endSequence?.(sequence.serial, how);
    }
  }

  #count(): void {
    const { sequences } = this.#parts.statistics;
    sequences.live = this.#batcher.live;
    sequences.backlog = this.#batcher.backlog;
    if (!this.#batcher.mayGoOn) for (const resolve of this.#drained.splice(0)) resolve();
    if (this.#batcher.live > 0) return;
    this.#idleTimer?.clear();
    this.#idleTimer = undefined;
    // Ids of lost sequences may still be there.
    if (this.#batcher.nextExpiry() === Infinity) this.#disarm();
  }

  /** A timer that is due earlier stays: arming one for each request would cost more than a dispatch in vain now and then. */
  #arm(until: number, now: number): void {
    if (until >= this.#armedFor) return;
    this.#disarm();
    const delay = until - now;
    if (delay < SHORTEST_TIMER) return this.#wake();
    this.#armedFor = until;
    this.#timer = setTimeout(
      () => {
        this.#disarm();
        this.#dispatch();
      },
      Math.min(Math.ceil(delay), LONGEST_TIMER),
    );
  }

  #armIdle(now: number): void {
    const { idleUntil } = this.#batcher;
    if (this.#idleTimer !== undefined || idleUntil === Infinity) return;
    this.#idleTimer = new ServedTimer(
      () => {
        this.#idleTimer = undefined;
        this.#batcher.expireIdle(performance.now());
        this.#dispatch();
      },
      Math.min(Math.max(0, Math.ceil(idleUntil - now)), LONGEST_TIMER),
    );
  }

  #disarm(): void {
    clearTimeout(this.#timer);
    this.#armedFor = Infinity;
  }
}

function sequencesOf(config: CompleteModelConfig): InstanceSequences {
  const { maxBatchSize, sequenceBatching: batching } = config;
  const { iterative, maxCandidateSequences, maxQueueDelayMicroseconds, minimumSlotUtilization, preferredBatchSize } =
    batching!;
  const slots = Math.max(1, maxBatchSize);
  const compatible = batchCompatibility(config);
  if (batching!.strategy !== 'oldest') {
    const delay = maxQueueDelayMicroseconds / 1000;
    return new DirectSequences({ slots, delay, utilization: minimumSlotUtilization, iterative, compatible });
  }
  return new OldestSequences({
    slots: maxCandidateSequences || slots,
    maxBatchSize,
    iterative,
    batcher: { ...PLAIN_BATCHER, maxQueueDelayMicroseconds, preferredBatchSize },
    compatible,
  });
}
