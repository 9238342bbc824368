// The context of one batch, for the callable: made once per batch, its signal only when asked for.

import type { InferenceContext, InferenceRequest } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { failRow, type HostedRequest, parametersOf, requestsByRow } from '../model/inference-request.js';
import type { Logger } from '../model/logger.js';
import type { Metrics } from '../model/metrics.js';
import type { CallableModels, ModelCaller } from '../model/model-calls.js';
import type { Parameters } from '../model/parameters.js';
import { requestedByAny } from '../model/requested-outputs.js';
import type { Span } from '../model/span.js';
import type { TraceContext } from '../model/traces.js';
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
  /** Of a traced batch. */
  readonly span: Span | undefined;
}

export class HostContext implements InferenceContext {
  readonly modelConfig: CompleteModelConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly span: Span | undefined;
  /** A list of the callable's own, which it may change: the host's stays as it is. */
  readonly requests: readonly InferenceRequest[];
  readonly #requests: readonly HostedRequest[];
  readonly #calling: BatchCalls;
  #requestOfRow: readonly InferenceRequest[] | undefined;
  #rowParameters: readonly Parameters[] | undefined;
  #models: CallableModels | undefined;
  #controller: AbortController | undefined;

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

  /** Bound to the context, so that callables may take it apart. */
  get failRow(): InferenceContext['failRow'] {
    return (row, error) => failRow(this.#requests, row, error);
  }

  get requestedOutputs(): readonly string[] {
    return requestedByAny(this.#requests, this.modelConfig);
  }

  get models(): CallableModels {
    if (this.#models !== undefined) return this.#models;
    const { caller, callers, traceContext } = this.#calling;
    const calling = { caller, callers: [...callers, this.modelName], signal: this.signal, traceContext };
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

  /** A request was cancelled: when it was the last one, nobody wants the batch any more. */
  abortWhenAllGone(): void {
    if (this.#controller !== undefined && this.#requests.every((request) => request.aborted)) this.#controller.abort();
  }
}
