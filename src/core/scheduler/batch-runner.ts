// Runs the batches of a model version on its instances: from the moment that an instance gets a batch until all requests
// of the batch have their outcomes. It decides nothing: the scheduler asks for an instance with room, and is told when
// there is one again.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { Execution, ExecutionDone, ModelInstance } from '../instance/model-instance.js';
import type { PendingRequest } from '../pending-request.js';
import { type Interruption, INTERRUPTIONS } from '../refusals.js';
import type { FailureReason, InferenceStatistics } from '../statistics.js';
import { ExecutionLimit } from './execution-limit.js';
import { InstanceSlots, type Slot } from './instance-slots.js';
import { NO_TIMES, type RequestOutcomes } from './request-outcomes.js';
import type { SchedulerLog } from './scheduler-log.js';
import type { Scheduler } from './scheduler.js';

/** What the scheduler of a model version and whoever runs its batches share. */
export interface SchedulerParts {
  readonly config: CompleteModelConfig;
  readonly statistics: InferenceStatistics;
  readonly outcomes: RequestOutcomes;
  readonly log: SchedulerLog;
}

/** Makes a model's scheduler, which decides what `runner` runs. */
export type MakeScheduler = (parts: SchedulerParts, runner: BatchRunner) => Scheduler;

/** What it takes a batch of small requests to get to another thread, and its results back. */
const HOP_MILLISECONDS = 0.1;

/** For how long requests wait for the first of their instances to be there again, in milliseconds. */
const RESTART_GRACE = 1000;
/** For how long callables that nobody waits for may go on before they are torn down, in milliseconds. */
const SETTLING_GRACE = 1000;
/** These were accepted, and count as failed: in other words than those that are refused meanwhile. */
const WAITED_IN_VAIN = 'all instances ended while the request waited';

/** Requests that run together. */
interface RunBatch {
  readonly batch: PendingRequest[];
  readonly rows: number;
}

/** An execution under way. An abandoned one has let go of its requests. */
interface Run {
  readonly slot: Slot;
  batch: PendingRequest[];
  /** It has not ended long after it was told to. */
  isStuck: boolean;
}

export class BatchRunner {
  /** Who decides what runs. */
  scheduler: Scheduler | undefined;
  /** Called when no instance will be free any more, or there is none, with the reason; and when one is again. */
  onInterrupted: ((by: Interruption | undefined) => void) | undefined;
  readonly #config: CompleteModelConfig;
  readonly #statistics: InferenceStatistics;
  readonly #outcomes: RequestOutcomes;
  readonly #log: SchedulerLog;
  readonly #slots: InstanceSlots;
  readonly #running = new Set<Run>();
  readonly #limit: ExecutionLimit<Run>;
  /** What requests fail with since `stop`. */
  #stopped: TritonError | undefined;
  #interruption: Interruption | undefined;
  /** What requests fail with while no instance will be free, or has been there for a while. */
  #interrupted: TritonError | undefined;
  /** Runs while no instance is left. */
  #grace: NodeJS.Timeout | undefined;
  #onSettled: (() => void) | undefined;
  /** Nothing runs any more, and nothing comes. */
  #isClosed = false;

  constructor({ config, statistics, outcomes, log }: SchedulerParts) {
    this.#config = config;
    this.#statistics = statistics;
    this.#outcomes = outcomes;
    this.#log = log;
    this.#slots = new InstanceSlots(config.concurrency);
    this.#limit = new ExecutionLimit<Run>(config, {
      onExpired: (run, error) => this.#abandon(run, error, 'BACKEND'),
      onStuck: (run, reason) => this.#giveUp(run, reason),
    });
  }

  /** Starts using instances; when there are none, as after the last one has ended. */
  start(instances: readonly ModelInstance[]): void {
    for (const instance of instances) this.#slots.add(instance);
    this.#checkInstances();
    this.scheduler?.dispatch(false);
  }

  /** Starts using an instance. */
  addInstance(instance: ModelInstance): void {
    this.start([instance]);
  }

  /** Gives no more batches to an instance. */
  removeInstance(instance: ModelInstance): void {
    this.#slots.remove(instance);
    this.#checkInstances();
    this.#checkSettled();
  }

  /** The thread of an instance is blocked, or is not any more. It gets no batches meanwhile; those that it has may still end. */
  blockInstance(instance: ModelInstance, isBlocked: boolean): void {
    this.#slots.block(instance, isBlocked);
    this.#checkInstances();
    if (!isBlocked) this.scheduler?.dispatch(false);
  }

  /** Why no instance takes a batch; undefined while one does. */
  get interruption(): Interruption | undefined {
    return this.#interruption;
  }

  /** Instances that take batches. */
  get instances(): number {
    return this.#slots.working;
  }

  /** Why no batch runs any more, or until further notice; undefined while batches run. */
  get refusal(): TritonError | undefined {
    return this.#stopped ?? this.#interrupted;
  }

  /** The instance that gets the next batch; undefined while none has room. */
  free(): Slot | undefined {
    return this.#slots.free();
  }

  indexOf(slot: Slot): number {
    return this.#slots.indexOf(slot);
  }

  /** Runs a batch; true when it ended before this returns, that is: when it was computed in this thread. */
  run(slot: Slot, { batch, rows }: RunBatch, now: number): boolean {
    for (const request of batch) {
      request.dispatchedAt = now;
      this.#statistics.recordDispatch(now - request.startedAt);
    }
    const run: Run = { slot, batch, isStuck: false };
    this.#running.add(run);
    this.#limit.begin(run);
    this.#slots.begin(slot);
    let ended = false;
    const done: ExecutionDone = (results, times, metrics) => {
      if (ended) return;
      ended = true;
      if (metrics !== undefined) this.#statistics.custom.apply(metrics);
      // What was abandoned leaves nothing but room for the next.
      if (this.#end(run)) {
        // The instance works on its next batch while the answers to this one are written. One that is done sooner than a batch gets
        // there and back had better get more requests at a time: those of the rest of this turn too.
        if (slot.instance.inOtherThread && times.computeInfer >= HOP_MILLISECONDS) this.scheduler?.dispatch(true);
        this.#outcomes.finish({ batch: run.batch, rows }, results, times);
      }
      this.scheduler?.dispatch(false);
    };
    let execution: Execution;
    try {
      execution = slot.instance.execute(batch, done, this.#config.decoupled ? this.#outcomes.streamTo(run) : undefined);
    } catch (error) {
      const failure = { kind: 'error', error: TritonError.from(error) } as const;
      done(
        batch.map(() => failure),
        NO_TIMES,
      );
      return true;
    }
    if (!ended) for (let i = 0; i < batch.length; i++) batch[i]!.executing(execution, batch, i);
    return ended;
  }

  /** Fails the requests that are queued or run. Executions under way are cancelled and abandoned. */
  stop(error: TritonError): void {
    this.#stopped = error;
    this.scheduler?.failQueued(error);
    for (const run of this.#running) this.#abandon(run, error, 'OTHER');
    this.#limit.stop();
    this.close();
    this.#checkSettled();
  }

  /**
   * Resolves when no callable works any more. Clients of what still works have gone, and its signals are aborted: a callable that
   * does not heed them is not waited for.
   */
  async settled(): Promise<void> {
    if (!this.#isWorking) return;
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, SETTLING_GRACE)));
    await Promise.race([late, new Promise<void>((resolve) => (this.#onSettled = resolve))]);
    clearTimeout(timer);
  }

  /** Its last request has ended: instances that end are nobody's concern any more. */
  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#grace);
  }

  get #isWorking(): boolean {
    return this.#stopped === undefined && this.#slots.running > 0;
  }

  #checkSettled(): void {
    if (!this.#isWorking) this.#onSettled?.();
  }

  /** An execution has ended. False when it was abandoned before. */
  #end(run: Run): boolean {
    const { slot } = run;
    slot.running--;
    this.#limit.end(run);
    this.#checkSettled();
    if (run.isStuck) {
      slot.stuck--;
      this.#checkInstances();
    }
    return this.#running.delete(run);
  }

  /** Fails what an execution has not answered yet, and tells it so. Its instance stays busy until it ends. */
  #abandon(run: Run, error: TritonError, reason: FailureReason): void {
    const { batch } = run;
    this.#running.delete(run);
    // A callable that never settles must not keep its requests alive.
    run.batch = [];
    for (const request of batch) {
      request.abandon();
      this.#outcomes.fail(request, error, reason);
    }
  }

  /** A callable does not come to an end: its instance is ended, or counts for nothing until it does. */
  #giveUp(run: Run, reason: string): void {
    const { slot } = run;
    this.#log.stuck(this.#slots.indexOf(slot), reason);
    if (slot.instance.end !== undefined) return slot.instance.end(reason);
    run.isStuck = true;
    slot.stuck++;
    this.#checkInstances();
  }

  #checkInstances(): void {
    const by = this.#whyNone();
    if (by === this.#interruption || this.#isClosed) return;
    this.#interruption = by;
    clearTimeout(this.#grace);
    this.#interrupted = undefined;
    // A queued request would wait for ever when no instance will be free, or when a thread does not start again.
    if (by === 'stalled') this.#refuse(INTERRUPTIONS.stalled);
    // What waits may be answered yet: the thread usually goes on.
    if (by === 'blocked') this.#interrupted = this.#notReady(INTERRUPTIONS.blocked);
    if (by === 'ended') this.#grace = setTimeout(() => this.#refuse(WAITED_IN_VAIN), RESTART_GRACE);
    this.onInterrupted?.(by);
  }

  #whyNone(): Interruption | undefined {
    const { working, count, areStuck } = this.#slots;
    if (working > 0) return undefined;
    if (count === 0) return 'ended';
    return areStuck ? 'stalled' : 'blocked';
  }

  /** Refuses what waits and what comes, until an instance takes a batch again. */
  #refuse(reason: string): void {
    this.#interrupted = this.#notReady(reason);
    this.scheduler?.failQueued(this.#interrupted);
  }

  #notReady(reason: string): TritonError {
    return new TritonError('UNAVAILABLE', `model '${this.#config.name}' is not ready: ${reason}`);
  }
}
