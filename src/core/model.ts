// One version of a model, runnable: its configuration, scheduler, statistics and instances.

import type { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest } from '../model/exchange.js';
import type { ModelInstance } from './instance/model-instance.js';
import { PendingRequest, type RequestOwner } from './pending-request.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';
import { BatchScheduler } from './scheduler/batch-scheduler.js';
import { InferenceStatistics } from './statistics.js';
import { validateRequest } from './validate-request.js';

export class Model implements RequestOwner {
  readonly config: CompleteModelConfig;
  readonly statistics = new InferenceStatistics();
  readonly #scheduler: BatchScheduler;
  #inflight = 0;
  #whenIdle: (() => void)[] = [];

  constructor(config: CompleteModelConfig) {
    this.config = config;
    this.#scheduler = new BatchScheduler(config, this.statistics);
  }

  addInstance(instance: ModelInstance): void {
    this.#scheduler.addInstance(instance);
  }

  removeInstance(instance: ModelInstance): void {
    this.#scheduler.removeInstance(instance);
  }

  /** Validates and queues a request. Throws INVALID_ARG; every later failure goes to the sink. */
  infer(request: ModelInferRequest, sink: ResponseSink): InflightRequest {
    const validated = validateRequest(request, this.config);
    const pending = new PendingRequest(request, validated, { owner: this, sink, now: performance.now() });
    this.#inflight++;
    this.#scheduler.enqueue(pending);
    return pending;
  }

  cancelled(request: PendingRequest): void {
    this.#scheduler.cancelled(request);
  }

  ended(): void {
    if (--this.#inflight > 0) return;
    const waiting = this.#whenIdle;
    this.#whenIdle = [];
    for (const resolve of waiting) resolve();
  }

  /** Requests accepted and not yet ended. */
  get inflight(): number {
    return this.#inflight;
  }

  /** Accepts nothing more; resolves when what was accepted has ended. */
  drain(): Promise<void> {
    this.#scheduler.stopAccepting();
    if (this.#inflight === 0) return Promise.resolve();
    return new Promise((resolve) => this.#whenIdle.push(resolve));
  }

  /** Fails what still waits or runs. */
  stop(error: TritonError): void {
    this.#scheduler.stop(error);
  }
}
