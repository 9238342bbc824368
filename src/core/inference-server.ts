// The engine: what every frontend calls. It knows models, requests and their states, and no protocol.

import { TritonError } from '../errors.js';
import type { Logger } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest } from '../model/exchange.js';
import { ModelRepository } from './model-repository.js';
import { parseModelVersion } from './model-version.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';
import { serverStopping } from './server-stopping.js';
import type { InferenceStatistics, ModelStatistics } from './statistics.js';

export interface InferenceServerOptions {
  /** What server metadata reports as the server's name. */
  readonly name: string;
  readonly version: string;
  readonly logger: Logger;
}

/** Extensions of the protocol that are served, as server metadata names them. */
const EXTENSIONS = ['schedule_policy', 'model_configuration', 'binary_tensor_data', 'parameters', 'statistics'];

const NOTHING_TO_CANCEL: InflightRequest = { cancel: () => undefined };

export class InferenceServer {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[] = EXTENSIONS;
  readonly repository = new ModelRepository();
  readonly logger: Logger;
  #state: 'starting' | 'ready' | 'exiting' = 'starting';

  constructor({ name, version, logger }: InferenceServerOptions) {
    this.name = name;
    this.version = version;
    this.logger = logger;
  }

  /** Everything was bound that was to be bound before serving. */
  started(): void {
    if (this.#state === 'starting') this.#state = 'ready';
  }

  get live(): boolean {
    return this.#state !== 'exiting';
  }

  get exiting(): boolean {
    return this.#state === 'exiting';
  }

  /** True when the server has started, does not stop, and every model is ready. */
  isReady(): boolean {
    return this.#state === 'ready' && this.repository.allReady;
  }

  /** Version '' asks for any. Unknown names and versions are not ready. Throws INVALID_ARG for a malformed version. */
  isModelReady(name: string, version: string): boolean {
    parseModelVersion(version);
    if (this.#state === 'exiting') return false;
    try {
      this.repository.get(name, version);
      return true;
    } catch {
      return false;
    }
  }

  /** The configuration and the versions to report. Throws NOT_FOUND, UNAVAILABLE or INVALID_ARG. */
  modelMetadata(
    name: string,
    version: string,
  ): { readonly config: CompleteModelConfig; readonly versions: readonly string[] } {
    const { config } = this.repository.get(name, version);
    return { config, versions: version === '' ? this.repository.readyVersions(name) : [String(config.version)] };
  }

  /** Throws NOT_FOUND, UNAVAILABLE or INVALID_ARG. */
  modelConfig(name: string, version: string): CompleteModelConfig {
    return this.repository.get(name, version).config;
  }

  /** Statistics of the ready versions asked for; '' asks for all. Throws INVALID_ARG for unknown ones, as Triton does. */
  statistics(name: string, version: string): readonly ModelStatistics[] {
    const number = parseModelVersion(version);
    const ready = this.repository.entries().filter(({ state }) => state === 'READY');
    const named = name === '' ? ready : ready.filter(({ model }) => model.config.name === name);
    if (named.length === 0 && name !== '')
      throw new TritonError('INVALID_ARG', `requested model '${name}' is not available`);
    const chosen =
      number === undefined || name === '' ? named : named.filter(({ model }) => model.config.version === number);
    if (chosen.length === 0 && name !== '') {
      throw new TritonError('INVALID_ARG', `requested model version is not available for model '${name}'`);
    }
    return chosen.map(({ model }) => model.statistics.report(model.config.name, String(model.config.version)));
  }

  /** The live statistics of every ready version, for metrics. */
  modelReports(): readonly {
    readonly name: string;
    readonly version: string;
    readonly statistics: InferenceStatistics;
  }[] {
    return this.repository
      .entries()
      .filter(({ state }) => state === 'READY')
      .map(({ model }) => ({
        name: model.config.name,
        version: String(model.config.version),
        statistics: model.statistics,
      }));
  }

  /** Runs a request. Never throws: whatever is wrong goes to the sink, possibly before this returns. */
  infer(request: ModelInferRequest, sink: ResponseSink): InflightRequest {
    try {
      const model = this.repository.get(request.modelName, request.modelVersion);
      if (this.#state === 'exiting') throw serverStopping(request.id);
      return model.infer(request, sink);
    } catch (error) {
      sink.fail(TritonError.from(error));
      return NOTHING_TO_CANCEL;
    }
  }

  /** Not ready and not live any more; resolves when no request is under way. */
  drain(): Promise<unknown> {
    this.#state = 'exiting';
    return Promise.all(this.repository.entries().map(({ model }) => model.drain()));
  }

  /** Fails whatever still waits or runs. */
  stop(): void {
    this.#state = 'exiting';
    for (const { model } of this.repository.entries()) model.stop(new TritonError('UNAVAILABLE', 'Server exiting'));
  }
}
