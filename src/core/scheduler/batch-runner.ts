// Runs the batches of a model version on its instances: from the moment that an instance gets a batch until all requests
// of the batch have their outcomes. It decides nothing: the scheduler asks for an instance with room, and is told when
// there is one again.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { Execution, ExecutionDone, ModelInstance } from '../instance/model-instance.js';
import type { PendingRequest } from '../pending-request.js';
import { INTERRUPTIONS } from '../refusals.js';
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
  /** Called when no instance will be free any more, though there are some, and when one is again. */
  onStalled: ((isStalled: boolean) => void) | undefined;
  readonly #config: CompleteModelConfig;
  readonly #statistics: InferenceStatistics;
  readonly #outcomes: RequestOutcomes;
  readonly #log: SchedulerLog;
  readonly #slots: InstanceSlots;
  readonly #running = new Set<Run>();
  readonly #limit: ExecutionLimit<Run>;
  /** What requests fail with since `stop`. */
  #stopped: TritonError | undefined;
  /** What requests fail with while no instance will be free. */
  #stalled: TritonError | undefined;
  /** What requests fail with until there is an instance again. */
  #forsaken: TritonError | undefined;

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

  /** Starts using an instance. */
  addInstance(instance: ModelInstance): void {
    this.#slots.add(instance);
    this.#forsaken = undefined;
    this.#checkStalled();
    this.scheduler?.dispatch(false);
  }

  /** Gives no more batches to an instance; tells how many instances are left. */
  removeInstance(instance: ModelInstance): number {
    this.#slots.remove(instance);
    this.#checkStalled();
    return this.#slots.count;
  }

  /** Instances that take batches. */
  get instances(): number {
    return this.#slots.working;
  }

  /** Why no batch runs any more, or until further notice; undefined while batches run. */
  get refusal(): TritonError | undefined {
    return this.#stopped ?? this.#stalled ?? this.#forsaken;
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

  /** Fails the requests that are queued, and those that come to be queued, until there is an instance again. */
  forsake(error: TritonError): void {
    this.#forsaken = error;
    this.scheduler?.failQueued(error);
  }

  /** Fails the requests that are queued or run. Executions under way are cancelled and abandoned. */
  stop(error: TritonError): void {
    this.#stopped = error;
    this.scheduler?.failQueued(error);
    for (const run of this.#running) this.#abandon(run, error, 'OTHER');
    this.#limit.stop();
  }

  /** An execution has ended. False when it was abandoned before. */
  #end(run: Run): boolean {
    const { slot } = run;
    slot.running--;
    this.#limit.end(run);
    if (run.isStuck) {
      slot.stuck--;
      this.#checkStalled();
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
    this.#checkStalled();
  }

  /** A queued request would wait for ever when no instance will be free. */
  #checkStalled(): void {
    const isStalled = this.#slots.count > 0 && this.#slots.working === 0;
    if (isStalled === (this.#stalled !== undefined)) return;
    const message = `model '${this.#config.name}' is not ready: ${INTERRUPTIONS.stalled}`;
    this.#stalled = isStalled ? new TritonError('UNAVAILABLE', message) : undefined;
    if (this.#stalled !== undefined) this.scheduler?.failQueued(this.#stalled);
    this.onStalled?.(isStalled);
  }
}
