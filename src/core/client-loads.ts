// Loads of models that clients ask for: from folders where there are any, and with a configuration of the client's own.

import { invalidArg, TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ConfigOverride, ModelControl } from './model-control.js';
import type { ModelRepository } from './model-repository.js';

/** Models that lie in folders, and are bound when they are to be loaded. */
export interface FoldersOfModels {
  /** Names of all models, loaded or not. */
  names(): readonly string[];
  /**
   * Loads a model as it lies in its folder now, with what the client gives in place of that; `ready` are the versions that are. False
   * when no folder has it. Rejects as {@link ModelControl.load} does.
   */
  load(name: string, parameters: LoadParameters, ready: readonly string[]): Promise<boolean>;
}

/** What a client says of a load. */
export interface LoadParameters {
  /** The configuration that counts instead of the bound one, as its text. */
  readonly config?: string | undefined;
  /** By the parameters' names, `file:1/model.onnx`; undefined where the bytes could not be read. */
  readonly files: Readonly<Record<string, Uint8Array | undefined>>;
}

/** The client that asks for a load. */
export interface LoadingClient {
  /** Bytes of its request, which the server counts as long as the client waits. */
  readonly bytes: number;
  /** Aborted when the client leaves. The load goes on. */
  readonly left: AbortSignal;
}

export interface ClientLoadsOptions {
  readonly repository: ModelRepository;
  readonly models: ModelControl;
  /** The model repository, where there is one. */
  readonly folders: FoldersOfModels | undefined;
  /** Reads the configuration that a client gives for a load. */
  readonly readOverride: ((config: string) => Promise<ConfigOverride>) | undefined;
  readonly hasCache: boolean;
  /** Adds to the bytes of loads whose clients have left; a negative number at the end of such a load. */
  readonly countLeft: ((bytes: number) => void) | undefined;
}

export class ClientLoads {
  readonly #options: ClientLoadsOptions;

  constructor(options: ClientLoadsOptions) {
    this.#options = options;
  }

  /**
   * Loads a model for a client, from its folder where it has one, with another configuration than it has where the client gives
   * one. Rejects with UNSUPPORTED when the client brings files for a model without a folder: functions do not come over the
   * wire. Otherwise it rejects as {@link ModelControl.load} does.
   */
  async load(name: string, parameters: LoadParameters, client?: LoadingClient): Promise<void> {
    const { countLeft } = this.#options;
    if (client === undefined || countLeft === undefined) return this.#load(name, parameters);
    const { bytes, left } = client;
    const onLeft = () => countLeft(bytes);
    // It may have left while its request was read.
    if (left.aborted) onLeft();
    else left.addEventListener('abort', onLeft, { once: true });
    try {
      await this.#load(name, parameters);
    } finally {
      if (left.aborted) countLeft(-bytes);
      else left.removeEventListener('abort', onLeft);
    }
  }

  async #load(name: string, parameters: LoadParameters): Promise<void> {
    const { config, files } = parameters;
    const { repository, models, folders, readOverride } = this.#options;
    if (folders !== undefined) {
      models.checkLoad(name);
      const load = folders.load(name, parameters, repository.readyVersions(name));
      if (await models.whenBound(name, load)) return;
    }
    const override = config === undefined ? undefined : await readOverride?.(config);
    const [file] = Object.keys(files);
    if (file !== undefined) {
      throw new TritonError(
        'UNSUPPORTED',
        `load parameter '${file}' is not supported: model '${name}' is what was bound under that name`,
      );
    }
    await models.load(name, override && ((bound) => this.#checkCache(override(bound))));
  }

  #checkCache(config: CompleteModelConfig): CompleteModelConfig {
    if (!config.responseCache || this.#options.hasCache) return config;
    throw invalidArg(
      `Invalid config override: model '${config.name}' asks for the response cache, and the server has none`,
    );
  }
}
