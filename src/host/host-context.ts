// The context of one batch, for the callable. It is made once per batch, and its signal only on first use.

import type { InferenceContext, InferenceRequest } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { failRow, type HostedRequest, parametersOf, requestsByRow, reschedule } from '../model/inference-request.js';
import { expectIterative } from '../model/reschedule.js';
import type { Logger } from '../observability/logger.js';
import type { Metrics } from '../observability/metrics.js';
import type { CallableModels, ModelCaller } from '../model/model-calls.js';
import type { Parameters } from '../model/parameters.js';
import { neededByAny } from '../model/requested-outputs.js';
import { AbortSource } from '../lifecycle/abort-source.js';
import type { Span } from '../observability/span.js';
import type { TraceContext } from '../observability/traces.js';
import { urgencyOf } from '../model/urgency.js';
import { typedModel } from '../model/typed-model.js';
import { hostModels } from './host-models.js';

/** How a batch calls other models. */
export interface BatchCalls {
  readonly caller: ModelCaller;
  /** The models on whose behalf the batch runs. */
  readonly callers: readonly string[];
  /** The trace that a call made now belongs to; undefined where nothing is traced. */
  readonly traceContext: (() => TraceContext | undefined) | undefined;
}

export interface ContextServices {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly calling: BatchCalls;
  /** The span of a traced batch. */
  readonly span: Span | undefined;
}

export class HostContext implements InferenceContext {
  readonly modelConfig: CompleteModelConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly span: Span | undefined;
  /** The callable's own list, which it may change without changing the host's list. */
  readonly requests: readonly InferenceRequest[];
  readonly #requests: readonly HostedRequest[];
  readonly #calling: BatchCalls;
  #requestOfRow: readonly InferenceRequest[] | undefined;
  #rowParameters: readonly Parameters[] | undefined;
  #models: CallableModels | undefined;
  #controller: AbortController | undefined;
  /** The signal of calls, which costs less than the users' signal. */
  #gone: AbortSource | undefined;

  constructor(
    modelConfig: CompleteModelConfig,
    requests: readonly HostedRequest[],
    { logger, metrics, calling, span }: ContextServices,
  ) {
    this.modelConfig = modelConfig;
    this.logger = logger;
    this.metrics = metrics;
    this.span = span;
    this.requests = requests.slice();
    this.#requests = requests;
    this.#calling = calling;
  }

  get modelName(): string {
    return this.modelConfig.name;
  }

  get modelVersion(): number {
    return this.modelConfig.version;
  }

  get requestOfRow(): readonly InferenceRequest[] {
    return (this.#requestOfRow ??= requestsByRow(this.#requests));
  }

  get rowParameters(): readonly Parameters[] {
    return (this.#rowParameters ??= parametersOf(this.requestOfRow));
  }

  get sequences(): InferenceContext['sequences'] {
    return this.requestOfRow.map(({ sequence }) => sequence);
  }

  get sequence(): InferenceContext['sequence'] {
    return this.#requests[0]?.sequence;
  }

  /** Bound to the context, so that callables may take it apart. */
  get failRow(): InferenceContext['failRow'] {
    return (row, error) => failRow(this.#requests, row, error);
  }

  /** Bound to the context, so that callables may take it apart. */
  get reschedule(): InferenceContext['reschedule'] {
    return (row = 0) => {
      expectIterative(this.modelConfig);
      reschedule(this.#requests, row);
    };
  }

  get requestedOutputs(): readonly string[] {
    return neededByAny(this.#requests, this.modelConfig);
  }

  get models(): CallableModels {
    if (this.#models !== undefined) return this.#models;
    const { caller, callers, traceContext } = this.#calling;
    const gone = (this.#gone = new AbortSource());
    this.abortWhenAllGone();
    const calling = {
      caller,
      callers: [...callers, this.modelName],
      gone,
      traceContext,
      urgency: urgencyOf(this.#requests),
    };
    return (this.#models = hostModels(calling));
  }

  /** Bound to the context, so that callables may take it apart. */
  get modelOf(): InferenceContext['modelOf'] {
    return (spec) => typedModel(this.models, spec);
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      this.abortWhenAllGone();
    }
    return this.#controller.signal;
  }

  /** Called after a request was cancelled. Aborts the batch when all its requests are gone. */
  abortWhenAllGone(): void {
    if (this.#controller === undefined && this.#gone === undefined) return;
    if (!this.#requests.every((request) => request.aborted)) return;
    this.#controller?.abort();
    this.#gone?.abort();
  }
}
