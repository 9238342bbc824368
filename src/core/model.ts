// One version of a model, runnable: its configuration, scheduler, statistics and instances.

import { TritonError } from '../errors.js';
import { batcherWarnings } from '../model/batcher-warnings.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import { type PacedWork } from '../model/paced-work.js';
import { type PacedRun, startPaced } from '../model/paced-workers.js';
import { CachedScheduler } from './cache/cached-scheduler.js';
import type { ErrorMask } from './error-mask.js';
import { checkCacheParameter } from './cache/request-key.js';
import type { ResponseCache } from './cache/response-cache.js';
import { type EngineLogger, SILENT } from './engine-logger.js';
import type { ModelInstance } from './instance/model-instance.js';
import type { TargetQuantile } from './metrics/quantile-sketch.js';
import { PendingRequest, type RequestOwner } from './pending-request.js';
import { type Interruption, serverStopping } from './refusals.js';
import type { RequestTrace } from './request-trace.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';
import { BatchRunner, type MakeScheduler } from './scheduler/batch-runner.js';
import { RequestOutcomes } from './scheduler/request-outcomes.js';
import { SchedulerLog } from './scheduler/scheduler-log.js';
import type { Scheduler } from './scheduler/scheduler.js';
import { InferenceStatistics } from './statistics.js';
import { inputsToCount, validateContents, validateRequest } from './validate-request.js';

/** What the models of a server share. */
export interface ModelSurroundings {
  readonly logger?: EngineLogger;
  /** Undefined: clients are told what callables failed with. */
  readonly mask?: ErrorMask | undefined;
  /** Undefined: no answers are kept. */
  readonly cache?: ResponseCache | undefined;
  /** Undefined: no quantiles of durations are kept. */
  readonly summaries?: readonly TargetQuantile[] | undefined;
}

export class Model implements RequestOwner {
  readonly config: CompleteModelConfig;
  readonly statistics: InferenceStatistics;
  readonly #outcomes: RequestOutcomes;
  readonly #runner: BatchRunner;
  readonly #scheduler: Scheduler;
  readonly #cached: CachedScheduler | undefined;
  /** Requests that are not queued yet. */
  readonly #preparing = new Map<PendingRequest, PacedRun>();
  #accepting = true;
  #inflight = 0;
  #whenIdle: (() => void)[] = [];

  constructor(
    config: CompleteModelConfig,
    makeScheduler: MakeScheduler,
    { logger = SILENT, mask, cache, summaries }: ModelSurroundings = {},
  ) {
    const statistics = new InferenceStatistics(summaries);
    const log = new SchedulerLog(config, logger);
    const outcomes = new RequestOutcomes(config, { statistics, log, mask });
    const parts = { config, statistics, outcomes, log };
    this.config = config;
    this.statistics = statistics;
    this.#outcomes = outcomes;
    this.#runner = new BatchRunner(parts);
    this.#scheduler = makeScheduler(parts, this.#runner);
    for (const warning of batcherWarnings(config)) logger.warn(warning);
    if (config.responseCache && cache !== undefined) {
      this.#cached = new CachedScheduler({ config, scheduler: this.#scheduler, outcomes, cache, statistics, logger });
    }
  }

  /** Runs requests on these instances from now on, and on those that are added. */
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
   * Validates and queues a request. Throws INVALID_ARG; every later failure goes to the sink. What takes its time, a look
   * at each of many strings, or at all bytes for the cache, is done with pauses before it is queued.
   */
  infer(request: ModelInferRequest, sink: ResponseSink, trace?: RequestTrace): InflightRequest {
    const validated = this.#validate(request);
    const pending = new PendingRequest(request, validated, { owner: this, sink, now: performance.now(), trace });
    const strings = inputsToCount(validated);
    this.#inflight++;
    if (!this.#accepting) {
      this.#outcomes.refuse(pending, serverStopping(request.id));
      return pending;
    }
    if (strings === undefined && this.#cached === undefined) {
      pending.queued();
      this.#scheduler.enqueue(pending);
      return pending;
    }
    let failure: { readonly error: TritonError } | undefined;
    const run = startPaced(this.#prepare(request, pending, strings), {
      done: (key) => this.#admit(pending, key),
      failed: (error) => {
        failure = { error: TritonError.from(error) };
        if (this.#preparing.delete(pending)) this.#outcomes.refuse(pending, failure.error);
      },
    });
    if (run !== undefined) {
      this.#preparing.set(pending, run);
    } else if (failure !== undefined) {
      this.ended();
      this.statistics.recordRefusal(failure.error.code);
      throw failure.error;
    }
    return pending;
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

  /** Gives what the answer is kept by, if it is. */
  *#prepare(
    request: ModelInferRequest,
    pending: PendingRequest,
    strings: readonly InferTensor[] | undefined,
  ): PacedWork<string | undefined> {
    if (strings !== undefined) yield* validateContents(request, strings, this.config);
    return this.#cached === undefined ? undefined : yield* this.#cached.keyOf(pending);
  }

  #admit(pending: PendingRequest, key: string | undefined): void {
    this.#preparing.delete(pending);
    pending.queued();
    if (this.#cached === undefined) this.#scheduler.enqueue(pending);
    else this.#cached.enqueue(pending, key);
  }

  cancelled(request: PendingRequest): void {
    this.#preparing.get(request)?.cancel();
    this.#preparing.delete(request);
    this.#scheduler.cancelled(request);
  }

  ended(): void {
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

  /** Accepts nothing more; resolves when what was accepted has ended, and callables have settled. */
  async drain(): Promise<void> {
    this.#accepting = false;
    const idle = new Promise<void>((resolve) => {
      if (this.#inflight === 0) resolve();
      else this.#whenIdle.push(resolve);
    });
    await idle;
    await this.#runner.settled();
    this.#runner.close();
    this.#cached?.clear();
  }

  /** Fails what still waits or runs. */
  stop(error: TritonError): void {
    this.#accepting = false;
    for (const [request, run] of this.#preparing) {
      run.cancel();
      this.#outcomes.fail(request, error, 'OTHER');
    }
    this.#preparing.clear();
    this.#runner.stop(error);
  }
}
