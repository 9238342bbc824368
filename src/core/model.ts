// One version of a model, runnable: its configuration, scheduler, statistics and instances.

import { TritonError } from '../errors.js';
import { batcherWarnings } from '../model/batcher-warnings.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import type { RequestSequence } from '../model/request-sequence.js';
import { type PacedWork } from '../pacing/paced-work.js';
import { type PacedRun, startPaced } from '../pacing/paced-workers.js';
import { CachedScheduler } from './cache/cached-scheduler.js';
import type { ErrorMask } from './error-mask.js';
import { checkCacheParameter } from './cache/request-key.js';
import type { ResponseCache } from './cache/response-cache.js';
import { type EngineLogger, SILENT } from './engine-logger.js';
import type { ModelInstance } from './instance/model-instance.js';
import type { TargetQuantile } from './metrics/quantile-sketch.js';
import { PendingRequest, type RequestOwner } from './scheduler/pending-request.js';
import { type Interruption, serverStopping } from './refusals.js';
import type { RequestTrace } from './scheduler/request-trace.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';
import { BatchRunner } from './scheduler/batch-runner.js';
import { ArrivalOrder, type PlaceInLine } from './sequences/arrival-order.js';
import { makeScheduler } from './scheduler/make-scheduler.js';
import { RequestOutcomes } from './scheduler/request-outcomes.js';
import { SchedulerLog } from './scheduler/scheduler-log.js';
import type { Scheduler } from './scheduler/scheduler.js';
import { InferenceStatistics } from './scheduler/statistics.js';
import type { Room } from './room.js';
import { inputsToCount, validateContents } from './validate-contents.js';
import { validateRequest } from './validate-request.js';

/** What the models of a server share. */
export interface ModelSurroundings {
  readonly logger?: EngineLogger;
  /** Undefined: clients get the messages of failed callables. */
  readonly mask?: ErrorMask | undefined;
  /** Undefined: no answers are kept. */
  readonly cache?: ResponseCache | undefined;
  /** Undefined: no quantiles of durations are kept. */
  readonly summaries?: readonly TargetQuantile[] | undefined;
  /** Room for the elements of BYTES inputs. Undefined: there is any amount. */
  readonly elementRoom?: Room | undefined;
}

/** A request on its way to the scheduler. */
interface Preparation {
  /** Undefined when it is prepared, and waits for others of its sequence. */
  readonly run: PacedRun | undefined;
  readonly place: PlaceInLine | undefined;
}

export class Model implements RequestOwner {
  readonly config: CompleteModelConfig;
  readonly statistics: InferenceStatistics;
  readonly #outcomes: RequestOutcomes;
  readonly #runner: BatchRunner;
  readonly #scheduler: Scheduler;
  readonly #cached: CachedScheduler | undefined;
  readonly #elementRoom: Room | undefined;
  /** Whether any input has elements that are to be counted. */
  readonly #hasStrings: boolean;
  /** Requests that are not queued yet. */
  readonly #preparing = new Map<PendingRequest, Preparation>();
  /** Set where requests of one sequence may take different times to prepare. */
  readonly #order: ArrivalOrder | undefined;
  /** The model that this one has replaced, while that one still has live sequences. */
  #predecessor: Model | undefined;
  #accepting = true;
  #inflight = 0;
  #whenIdle: (() => void)[] = [];

  constructor(config: CompleteModelConfig, surroundings: ModelSurroundings = {}) {
    const { logger = SILENT, mask, cache, summaries } = surroundings;
    const statistics = new InferenceStatistics(summaries);
    const log = new SchedulerLog(config, logger);
    const outcomes = new RequestOutcomes(config, { statistics, log, mask });
    const parts = { config, statistics, outcomes, log };
    this.config = config;
    this.#elementRoom = surroundings.elementRoom;
    this.#hasStrings = config.inputs.some(({ datatype }) => datatype === 'BYTES');
    if (this.#hasStrings && config.sequenceBatching !== undefined) this.#order = new ArrivalOrder();
    this.statistics = statistics;
    this.#outcomes = outcomes;
    this.#runner = new BatchRunner(parts);
    this.#scheduler = makeScheduler(parts, this.#runner);
    for (const warning of batcherWarnings(config)) logger.warn(warning);
    if (config.responseCache && cache !== undefined) {
      this.#cached = new CachedScheduler({ config, scheduler: this.#scheduler, outcomes, cache, statistics, logger });
    }
  }

  /** Sequences that live in the replaced model go on there, until `retired` settles. */
  replace(predecessor: Model, retired: Promise<void>): void {
    this.#predecessor = predecessor;
    const forget = () => {
      if (this.#predecessor === predecessor) this.#predecessor = undefined;
    };
    retired.then(forget, forget);
  }

  /** Runs requests on these instances from now on, and on instances that are added later. */
  start(instances: readonly ModelInstance[]): void {
    this.#runner.start(instances);
  }

  addInstance(instance: ModelInstance): void {
    this.#runner.addInstance(instance);
  }

  removeInstance(instance: ModelInstance): void {
    this.#runner.removeInstance(instance);
  }

  blockInstance(instance: ModelInstance, isBlocked: boolean): void {
    this.#runner.blockInstance(instance, isBlocked);
  }

  /** Why no instance takes a batch; undefined while one does. */
  get interruption(): Interruption | undefined {
    return this.#runner.interruption;
  }

  /** Called when no instance takes a batch any more, with the reason, and when one does again. */
  set onInterrupted(listener: (by: Interruption | undefined) => void) {
    this.#runner.onInterrupted = listener;
  }

  /**
   * Validates and queues a request. Throws INVALID_ARG; every later failure goes to the sink. Slow checks run with
   * pauses before the request is queued: a look at each of many strings, or at all bytes for the cache.
   */
  infer(request: ModelInferRequest, sink: ResponseSink, trace?: RequestTrace): InflightRequest {
    // A sequence of this model may have begun with the id of one there.
    if (this.#predecessor?.continues(request) === true && !this.#keeps(request))
      return this.#predecessor.infer(request, sink, trace);
    const validated = this.#validate(request);
    if (request.sequence?.start === true) this.#predecessor?.supersede(request.sequence.id);
    const pending = new PendingRequest(request, validated, { owner: this, sink, now: performance.now(), trace });
    const strings = this.#hasStrings ? inputsToCount(validated) : undefined;
    this.#inflight++;
    if (!this.#accepting && !this.continues(request)) {
      this.#outcomes.refuse(pending, this.stopping(request.id));
      return pending;
    }
    if (strings === undefined && this.#cached === undefined && this.#order === undefined) {
      trace?.queued();
      this.#scheduler.enqueue(pending);
      return pending;
    }
    const id = request.sequence?.id;
    const place = id === undefined || id === 0 || id === '' ? undefined : this.#order?.join(id);
    let failure: { readonly error: TritonError } | undefined;
    let isPrepared = false;
    const run = startPaced(this.#prepare(request, pending, strings), {
      done: (key) => {
        const admit = () => {
          isPrepared = true;
          this.#admit(pending, key);
        };
        if (place === undefined) admit();
        else place.leave(admit);
      },
      failed: (error) => {
        failure = { error: TritonError.from(error) };
        if (this.#preparing.delete(pending)) this.#outcomes.refuse(pending, failure.error);
        place?.leave();
      },
    });
    if (failure !== undefined) {
      this.ended(pending);
      this.statistics.recordRefusal(failure.error.code);
      throw failure.error;
    }
    if (!isPrepared) this.#preparing.set(pending, { run, place });
    return pending;
  }

  /** Whether a request continues a sequence that lives here. */
  continues(request: Pick<ModelInferRequest, 'sequence'>): boolean {
    return this.#keeps(request) || this.#predecessor?.continues(request) === true;
  }

  /** The same without the model that this one has replaced. */
  #keeps(request: Pick<ModelInferRequest, 'sequence'>): boolean {
    const { sequence } = request;
    if (sequence !== undefined && !sequence.start && this.#order?.has(sequence.id) === true) return true;
    return this.#scheduler.continues?.(request) === true;
  }

  /** A sequence of this id begins in the successor. */
  supersede(id: RequestSequence['id']): void {
    this.#scheduler.supersede?.(id);
    this.#predecessor?.supersede(id);
  }

  /** The error for a request that comes after a stop began. */
  stopping(id: string): TritonError {
    return serverStopping(this.config.sequenceBatching === undefined ? id : undefined);
  }

  #validate(request: ModelInferRequest): ReturnType<typeof validateRequest> {
    try {
      if (this.#cached !== undefined) checkCacheParameter(request.id, request.parameters);
      return validateRequest(request, this.config);
    } catch (error) {
      this.statistics.recordRefusal(TritonError.from(error).code);
      throw error;
    }
  }

  /** Returns the key under which the answer is cached, if it is cached. */
  *#prepare(
    request: ModelInferRequest,
    pending: PendingRequest,
    strings: readonly InferTensor[] | undefined,
  ): PacedWork<string | undefined> {
    if (strings !== undefined) {
      const given = { config: this.config, room: this.#elementRoom };
      const bytes = yield* validateContents(request, strings, given);
      // To make room, the connection of the request itself may have had to end.
      if (pending.decided) this.#elementRoom?.give(bytes);
      else pending.elementBytes = bytes;
    }
    return this.#cached === undefined ? undefined : yield* this.#cached.keyOf(pending);
  }

  #admit(pending: PendingRequest, key: string | undefined): void {
    this.#preparing.delete(pending);
    pending.follower?.queued();
    if (this.#cached === undefined) this.#scheduler.enqueue(pending);
    else this.#cached.enqueue(pending, key);
  }

  cancelled(request: PendingRequest): void {
    const preparation = this.#preparing.get(request);
    this.#preparing.delete(request);
    preparation?.run?.cancel();
    this.#scheduler.cancelled(request);
    // Its sequence ends when its turn comes, as when it had been queued.
    preparation?.place?.leave(() => this.#scheduler.enqueue(request));
  }

  ended({ elementBytes }: PendingRequest): void {
    if (elementBytes > 0) this.#elementRoom?.give(elementBytes);
    if (--this.#inflight > 0) return;
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }

  /** Instances that take batches. */
  get instances(): number {
    return this.#runner.instances;
  }

  /** Requests accepted and not yet ended. */
  get inflight(): number {
    return this.#inflight;
  }

  /** Sequences that are not over. */
  get liveSequences(): number {
    return this.statistics.sequences.live;
  }

  /** Resolves when no sequence lives. */
  async sequencesEnded(): Promise<void> {
    await this.#scheduler.drain?.(true);
  }

  /**
   * Accepts no more requests. Resolves when the accepted ones have ended and the callables have settled. With `accepting`,
   * requests of live sequences are still accepted.
   */
  async drain(accepting = false): Promise<void> {
    this.#accepting = false;
    await this.#scheduler.drain?.(accepting);
    const idle = new Promise<void>((resolve) => {
      if (this.#inflight === 0) resolve();
      else this.#whenIdle.push(resolve);
    });
    await idle;
    await this.#runner.settled();
    // Nothing is left to fail, but timers, and callables that go on.
    this.stop(serverStopping(undefined));
    this.#cached?.clear();
  }

  /** Fails the requests that still wait or run. */
  stop(error: TritonError): void {
    this.#accepting = false;
    for (const [request, { run }] of this.#preparing) {
      run?.cancel();
      this.#outcomes.fail(request, error, 'OTHER');
    }
    this.#preparing.clear();
    this.#runner.stop(error);
  }
}
