// The context of one batch, for the callable: made once per batch, its signal only when asked for.

import type { InferenceContext, InferenceRequest } from '../model/callable.js';
import type { Logger } from '../model/logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { HostedRequest } from '../model/inference-request.js';
import type { Metrics } from '../model/metrics.js';
import type { CallableModels, ModelCaller } from '../model/model-calls.js';
import { hostModels } from './host-models.js';

/** How a batch calls other models. */
export interface BatchCalls {
  readonly caller: ModelCaller;
  /** The models on whose behalf the batch runs. */
  readonly callers: readonly string[];
}

export interface ContextServices {
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly calling: BatchCalls;
}

export class HostContext implements InferenceContext {
  readonly modelConfig: CompleteModelConfig;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly #requests: readonly HostedRequest[];
  readonly #calling: BatchCalls;
  #models: CallableModels | undefined;
  #controller: AbortController | undefined;

  constructor(
    modelConfig: CompleteModelConfig,
    requests: readonly HostedRequest[],
    { logger, metrics, calling }: ContextServices,
  ) {
    this.modelConfig = modelConfig;
    this.logger = logger;
    this.metrics = metrics;
    this.#requests = requests;
    this.#calling = calling;
  }

  get modelName(): string {
    return this.modelConfig.name;
  }

  get modelVersion(): number {
    return this.modelConfig.version;
  }

  get requests(): readonly InferenceRequest[] {
    return this.#requests;
  }

  get models(): CallableModels {
    const { caller, callers } = this.#calling;
    return (this.#models ??= hostModels({ caller, callers: [...callers, this.modelName], signal: this.signal }));
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
