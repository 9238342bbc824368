// Runs the batches of a model version on its instances: from the moment that an instance gets a batch until all requests
// of the batch have their outcomes. It decides nothing: the scheduler asks for an instance with room. When an instance has
// room again, the runner tells the scheduler.

import { TritonError } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type {
  AheadExecution,
  Execution,
  ExecutionDone,
  ExecutionResult,
  ExecutionTimes,
  ModelInstance,
} from '../instance/model-instance.js';
import type { PendingRequest } from './pending-request.js';
import { type Interruption, INTERRUPTIONS } from '../refusals.js';
import type { FailureReason, InferenceStatistics } from './statistics.js';
import { ExecutionLimit } from './execution-limit.js';
import { InstanceSlots, type Slot } from './instance-slots.js';
import { type Linked, LinkedList } from '../../linked-list.js';
import { ServedTimer } from '../../pacing/served-timer.js';
import { NO_TIMES, type RequestOutcomes } from './request-outcomes.js';
import type { SchedulerLog } from './scheduler-log.js';
import type { Scheduler } from './scheduler.js';

/** The objects that the scheduler of a model version shares with the runner of its batches. */
export interface SchedulerParts {
  readonly config: CompleteModelConfig;
  readonly statistics: InferenceStatistics;
  readonly outcomes: RequestOutcomes;
  readonly log: SchedulerLog;
}

/** Makes a model's scheduler, which decides what `runner` runs. */
export type MakeScheduler = (parts: SchedulerParts, runner: BatchRunner) => Scheduler;

/** How long a batch of small requests and its results take to another thread and back. */
const HOP_MILLISECONDS = 0.1;

/** How long requests wait for the first instance to come back, in milliseconds. */
const RESTART_GRACE = 1000;
/** How long callables that nobody waits for may go on before they are torn down, in milliseconds. */
const SETTLING_GRACE = 1000;
/** The message for accepted requests, which count as failed. Requests that are refused meanwhile get another message. */
const WAITED_IN_VAIN = 'all instances ended while the request waited';

/** Requests that run together. */
interface RunBatch {
  readonly batch: PendingRequest[];
  readonly rows: number;
  /** Called once when the execution has ended, however, before its requests are answered. */
  readonly onEnded?: ((results: readonly ExecutionResult[]) => void) | undefined;
}

/** The scheduler of a batch that is handed to an instance ahead. */
export interface AheadOwner {
  /** The batch began at this moment. */
  began(at: number): void;
  /** The batch did not begin, and will not. Its requests belong to the scheduler again. */
  takenBack(): void;
}

/** An execution under way. An abandoned one has let go of its requests. */
interface Run extends Linked<Run> {
  /** The list that it is in; undefined when it has ended or was abandoned. */
  list: LinkedList<Run> | undefined;
  readonly slot: Slot;
  batch: PendingRequest[];
  readonly rows: number;
  readonly onEnded: RunBatch['onEnded'];
  hasEnded: boolean;
  /** Of a batch that was handed over ahead and that nobody has seen begin yet. */
  ahead: { readonly owner: AheadOwner; readonly execution: AheadExecution } | undefined;
  /** It was cancelled long ago and has not ended. */
  isStuck: boolean;
}

export class BatchRunner {
  /** Decides which batches run. */
  scheduler: Scheduler | undefined;
  /** Called with the reason when no instance will be free any more or none is left, and without one when an instance is free again. */
  onInterrupted: ((by: Interruption | undefined) => void) | undefined;
  readonly #config: CompleteModelConfig;
  readonly #statistics: InferenceStatistics;
  readonly #outcomes: RequestOutcomes;
  readonly #log: SchedulerLog;
  readonly #slots: InstanceSlots;
  // These are lists: V8 keeps the old tables of a changing set, with their contents, until it marks the heap.
  readonly #running = new LinkedList<Run>();
  /** Batches that were handed over ahead, the last one first, and that nobody has seen begin yet. */
  readonly #ahead = new LinkedList<Run>();
  readonly #takesAhead: boolean;
  /** Undefined where executions may take any time. */
  readonly #limit: ExecutionLimit<Run> | undefined;
  /** The error for requests after `stop`. */
  #stopped: TritonError | undefined;
  #interruption: Interruption | undefined;
  /** The error for requests while no instance will be free, or while there has been none for some time. */
  #interrupted: TritonError | undefined;
  /** Runs while no instance is left. */
  #grace: ServedTimer | undefined;
  #onSettled: (() => void) | undefined;
  /** Nothing runs any more, and nothing comes. */
  #isClosed = false;

  constructor({ config, statistics, outcomes, log }: SchedulerParts) {
    this.#config = config;
    this.#statistics = statistics;
    this.#outcomes = outcomes;
    this.#log = log;
    this.#slots = new InstanceSlots(config.concurrency);
    this.#takesAhead = !config.decoupled && (config.executionTimeoutMicroseconds ?? 0) === 0;
    if (config.executionTimeoutMicroseconds) {
      this.#limit = new ExecutionLimit<Run>(config, {
        onExpired: (run, error) => this.#abandon(run, error, 'BACKEND'),
        onStuck: (run, reason) => this.#giveUp(run, reason),
      });
    }
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
    this.settle();
    const slot = this.#slots.remove(instance);
    if (slot !== undefined) this.scheduler?.instanceEnded?.(slot);
    this.#checkInstances();
    this.#checkSettled();
  }

  /** Records that the thread of an instance is blocked, or no longer is. Meanwhile it gets no batches; its current ones may still end. */
  blockInstance(instance: ModelInstance, isBlocked: boolean): void {
    if (isBlocked) this.settle();
    this.#slots.block(instance, isBlocked);
    this.#checkInstances();
    this.scheduler?.dispatch(false);
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

  /** Whether no batch will run any more. */
  get isStopped(): boolean {
    return this.#stopped !== undefined;
  }

  /** The instance that gets the next batch; undefined while none has room. */
  free(): Slot | undefined {
    return this.#slots.free();
  }

  /**
   * An instance that works and may be given a batch ahead, because its callable ends sooner than answers travel. Undefined while
   * there is none.
   */
  busy(): Slot | undefined {
    // Limits and spans need the moment when an execution begins. For a batch given ahead it is not known in time.
    return this.#takesAhead ? this.#slots.free(true) : undefined;
  }

  /** The instances, for a scheduler that chooses among them, in the order in which they came. */
  get slots(): readonly Slot[] {
    return this.#slots.all;
  }

  /** Whether a given instance has room for a batch. */
  hasRoom(slot: Slot): boolean {
    return this.#slots.hasRoom(slot);
  }

  indexOf(slot: Slot): number {
    return this.#slots.indexOf(slot);
  }

  /** Runs a batch; true when it ended before this returns, that is: when it was computed in this thread. */
  run(slot: Slot, { batch, rows, onEnded }: RunBatch, now: number): boolean {
    for (const request of batch) this.#dispatched(request, now);
    const run = this.#begin(slot, { batch, rows, onEnded });
    this.#runs(run);
    this.#limit?.begin(run);
    const { instance } = slot;
    let execution: Execution;
    try {
      execution = instance.execute(
        batch,
        (...ended) => this.#done(run, ...ended),
        this.#config.decoupled ? this.#outcomes.streamTo(run) : undefined,
      );
    } catch (error) {
      this.#failRun(run, error);
      return true;
    }
    if (!run.hasEnded) for (let i = 0; i < batch.length; i++) batch[i]!.executing(execution, batch, i);
    return run.hasEnded;
  }

  /**
   * Hands a batch to an instance that {@link busy} gave. It begins when the batches before it have ended, unless it is called back
   * by then; its owner learns which.
   */
  runAhead(slot: Slot, { batch, rows }: RunBatch, owner: AheadOwner): void {
    const run = this.#begin(slot, { batch, rows });
    try {
      const execution = slot.instance.executeAhead!(batch, (...ended) => this.#done(run, ...ended));
      run.ahead = { owner, execution };
    } catch (error) {
      const now = performance.now();
      owner.began(now);
      for (const request of batch) this.#dispatched(request, now);
      this.#runs(run);
      return this.#failRun(run, error);
    }
    this.#ahead.unshift(run);
    run.list = this.#ahead;
    for (const request of batch) request.settle = this.#settle;
  }

  /** Calls all batches back that have not begun. Afterwards each request either waits in the queue or runs. */
  settle(): void {
    const now = performance.now();
    // An instance begins its batches in order. The last one is called back first: none must begin after a predecessor was called back.
    for (let run = this.#ahead.first; run !== undefined; run = this.#ahead.first) {
      const { owner, execution } = run.ahead!;
      if (!execution.takeBack()) {
        this.#began(run, now);
        continue;
      }
      leave(run);
      run.slot.running--;
      for (const request of run.batch) request.settle = undefined;
      owner.takenBack();
    }
  }

  readonly #settle = (): void => this.settle();

  #begin(slot: Slot, { batch, rows, onEnded }: RunBatch): Run {
    this.#slots.begin(slot);
    return {
      slot,
      batch,
      rows,
      onEnded,
      hasEnded: false,
      ahead: undefined,
      isStuck: false,
      list: undefined,
      previous: undefined,
      next: undefined,
    };
  }

  #runs(run: Run): void {
    this.#running.push(run);
    run.list = this.#running;
  }

  #dispatched(request: PendingRequest, at: number): void {
    request.dispatchedAt = at;
    this.#statistics.recordDispatch(at - request.waitsSince);
  }

  /** A batch that was handed over ahead has begun. */
  #began(run: Run, at: number): void {
    const { batch } = run;
    const { owner, execution } = run.ahead!;
    run.ahead = undefined;
    leave(run);
    this.#runs(run);
    owner.began(at);
    for (let i = 0; i < batch.length; i++) {
      const request = batch[i]!;
      request.settle = undefined;
      this.#dispatched(request, Math.max(at, request.startedAt));
      if (!run.hasEnded) request.executing(execution, batch, i);
    }
  }

  #done(run: Run, ...[results, times, metrics]: Parameters<ExecutionDone>): void {
    if (run.hasEnded) return;
    run.hasEnded = true;
    const { slot, rows } = run;
    if (run.ahead !== undefined) this.#began(run, performance.now() - durationOf(times));
    this.#slots.took(slot, times.computeInfer);
    if (metrics !== undefined) this.#statistics.custom.apply(metrics);
    const wasAwaited = this.#end(run);
    if (wasAwaited && this.#outcomes.isIterative) this.#outcomes.putBack(run.batch, results, times);
    run.onEnded?.(results);
    if (!wasAwaited) {
      // An abandoned run has no results to deliver. Its end makes room for the next batch, and the callable ran all the same.
      this.#statistics.recordExecution(rows, times);
    } else {
      // The instance works on its next batch while the answers to this one are written. An instance that is faster than a batch's
      // way there and back waits for the end of this turn instead. Its next batch then has more requests.
      if (
        slot.instance.inOtherThread &&
        slot.running < this.#config.concurrency &&
        times.computeInfer >= HOP_MILLISECONDS
      ) {
        this.scheduler?.dispatch(true);
        slot.instance.flush?.();
      }
      this.#outcomes.finish({ batch: run.batch, rows }, results, times);
    }
    this.scheduler?.dispatch(false);
  }

  #failRun(run: Run, thrown: unknown): void {
    const failure = { kind: 'error', error: TritonError.from(thrown) } as const;
    this.#done(
      run,
      run.batch.map(() => failure),
      NO_TIMES,
    );
  }

  /** Fails the requests that are queued or run. Executions under way are cancelled and abandoned, and instances do not matter any more. */
  stop(error: TritonError): void {
    this.#stopped = error;
    this.settle();
    this.scheduler?.failQueued(error);
    for (let run = this.#running.first; run !== undefined; run = this.#running.first)
      this.#abandon(run, error, 'OTHER');
    this.#limit?.stop();
    this.#isClosed = true;
    this.#grace?.clear();
    this.#checkSettled();
  }

  /**
   * Resolves when no callable works any more. The clients of callables that still work have gone, and their signals are aborted.
   * A callable that ignores its signal is not waited for.
   */
  async settled(): Promise<void> {
    if (!this.#isWorking) return;
    await new Promise<void>((resolve) => {
      const timer = new ServedTimer(resolve, SETTLING_GRACE, { keepsAlive: true, renewals: 1 });
      this.#onSettled = () => {
        timer.clear();
        resolve();
      };
    });
  }

  get #isWorking(): boolean {
    return this.#stopped === undefined && this.#slots.running > 0;
  }

  #checkSettled(): void {
    if (this.#onSettled !== undefined && !this.#isWorking) this.#onSettled();
  }

  /** An execution has ended. False when it was abandoned before. */
  #end(run: Run): boolean {
    const { slot } = run;
    slot.running--;
    this.#limit?.end(run);
    this.#checkSettled();
    if (run.isStuck) {
      slot.stuck--;
      this.#checkInstances();
    }
    return leave(run);
  }

  /** Fails the requests that an execution has not answered yet, and cancels it. Its instance stays busy until it ends. */
  #abandon(run: Run, error: TritonError, reason: FailureReason): void {
    const { batch } = run;
    leave(run);
    // A callable that never settles must not keep its requests alive.
    run.batch = [];
    for (const request of batch) {
      request.abandon();
      this.#outcomes.fail(request, error, reason);
    }
  }

  /** Gives up on a callable that does not end: its instance is ended, or does not count until the callable ends. */
  #giveUp(run: Run, reason: string): void {
    const { slot } = run;
    this.settle();
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
    this.#grace?.clear();
    this.#interrupted = undefined;
    // A queued request would wait for ever when no instance will be free, or when a thread does not start again.
    if (by === 'stalled') this.#refuse(INTERRUPTIONS.stalled);
    // The thread usually goes on, so waiting requests may still be answered.
    if (by === 'blocked') this.#interrupted = this.#notReady(INTERRUPTIONS.blocked);
    if (by === 'ended') {
      this.#grace = new ServedTimer(() => this.#refuse(WAITED_IN_VAIN), RESTART_GRACE, { keepsAlive: true });
    }
    this.onInterrupted?.(by);
  }

  #whyNone(): Interruption | undefined {
    const { working, count, areStuck } = this.#slots;
    if (working > 0) return undefined;
    if (count === 0) return 'ended';
    return areStuck ? 'stalled' : 'blocked';
  }

  /** Refuses waiting and new requests, until an instance takes a batch again. */
  #refuse(reason: string): void {
    this.#interrupted = this.#notReady(reason);
    this.scheduler?.failQueued(this.#interrupted);
  }

  #notReady(reason: string): TritonError {
    return new TritonError('UNAVAILABLE', `model '${this.#config.name}' is not ready: ${reason}`);
  }
}

function durationOf({ computeInput, computeInfer, computeOutput }: ExecutionTimes): number {
  return computeInput + computeInfer + computeOutput;
}

/** False: it had left before. */
function leave(run: Run): boolean {
  if (run.list === undefined) return false;
  run.list.remove(run);
  run.list = undefined;
  return true;
}
