// The context of one batch, for the callable: made once per batch, its signal only when asked for.

import type { InferenceContext, InferenceRequest } from '../model/callable.js';
import type { Logger } from '../model/logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { HostedRequest } from '../model/inference-request.js';

export class HostContext implements InferenceContext {
  readonly modelConfig: CompleteModelConfig;
  readonly logger: Logger;
  readonly #requests: readonly HostedRequest[];
  #controller: AbortController | undefined;

  constructor(modelConfig: CompleteModelConfig, requests: readonly HostedRequest[], logger: Logger) {
    this.modelConfig = modelConfig;
    this.logger = logger;
    this.#requests = requests;
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
