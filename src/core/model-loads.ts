// Loads versions of models and unloads them: starts their instances, warms them up, and has the repository serve them.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { Logger } from '../observability/logger.js';
import { describe, ownFrames } from './load-failures.js';
import type { ModelRepository } from './model-repository.js';
import type { Opening } from './opening.js';
import { INTERRUPTIONS } from './refusals.js';
import { warmUp } from './warm-up.js';

/** A version of a model and where its instances come from. */
export interface LoadableModel {
  readonly config: CompleteModelConfig;
  /**
   * Starts the instances of one load, with the configuration of the model or another one. Rejects with the reason why the model
   * is not there.
   */
  open(config: CompleteModelConfig): Opening | Promise<Opening>;
}

export class ModelLoads {
  readonly #repository: ModelRepository;
  readonly #logger: Logger;
  /** The server ends: interrupted loads do not count as failures, nor are they logged as such. */
  isEnding = false;

  constructor(repository: ModelRepository, logger: Logger) {
    this.#repository = repository;
    this.#logger = logger;
  }

  /**
   * Opens a version and has it serve. The loaded version serves until then, and retires: there is always a ready model.
   * Rejects with what the start failed with.
   */
  async load(model: LoadableModel, config: CompleteModelConfig): Promise<void> {
    const { name, version } = config;
    const isLoaded = this.#repository.find(name, version)?.isLoaded === true;
    const loading = isLoaded ? undefined : this.#repository.add(config);
    const startedAt = performance.now();
    let opening: Opening;
    try {
      opening = await openWarm(model, config);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      loading?.failed(describe(error));
      if (!this.isEnding)
        this.#logger.error(`failed to load '${name}' version ${version}: ${describe(error)}${ownFrames(error)}`);
      throw error;
    }
    const entry = loading ?? this.#repository.add(config);
    entry.model.statistics.recordLoad(performance.now() - startedAt);
    entry.serve(opening);
    this.#logger.info(`successfully loaded '${name}' version ${version}`);
  }

  /** Waits for the last requests of a version that is served no more. Never rejects. */
  async unloaded({ name, version }: CompleteModelConfig, retiring: Promise<unknown>): Promise<void> {
    try {
      await retiring;
    } catch (error) {
      this.#logger.error(`unloading '${name}' version ${version}: ${TritonError.from(error).message}`);
    }
    this.#logger.info(`successfully unloaded '${name}' version ${version}`);
  }
}

/** Starts a model's instances and warms them up. Rejects with what went wrong; nothing is open then. */
async function openWarm(model: LoadableModel, config: CompleteModelConfig): Promise<Opening> {
  const opening = await model.open(config);
  try {
    const { instances } = opening;
    await warmUp(config, instances);
    if (instances.length > 0 && opening.instances.length === 0)
      throw new TritonError('UNAVAILABLE', INTERRUPTIONS.ended);
    return opening;
  } catch (error) {
    await opening.close?.();
    throw error;
  }
}
