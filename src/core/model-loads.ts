// Loads versions of models and unloads them: starts their instances, warms them up, and has the repository serve them.

import { TritonError } from '../errors.js';
import { loadSuperseded, unlessInterrupted } from '../lifecycle/interrupted-load.js';
import { type CompleteModelConfig, modelKey } from '../model/complete-model-config.js';
import { ownFrames } from '../model/own-frames.js';
import type { Logger } from '../observability/logger.js';
import { describe } from './load-failures.js';
import { ServedTimer } from '../pacing/served-timer.js';
import type { ModelRepository } from './model-repository.js';
import type { Opening } from './opening.js';
import { INTERRUPTIONS } from './refusals.js';
import { warmUp } from './warm-up.js';

/** A version of a model and where its instances come from. */
export interface LoadableModel {
  readonly config: CompleteModelConfig;
  /**
   * Starts the instances of one load, with the configuration of the model or another one. Rejects with the reason why the model
   * is not there. The load does not wait for it after the signal.
   */
  open(config: CompleteModelConfig, signal: AbortSignal): Opening | Promise<Opening>;
}

/** How long the load of a client may go on when the version was unloaded, in milliseconds. */
const UNLOADED_GRACE = 5000;

interface LoadUnderWay {
  readonly ending: AbortController;
  /** Whether a client has asked for it. */
  readonly isClients: boolean;
  /** Runs when the version was unloaded meanwhile. */
  timer: ServedTimer | undefined;
}

export class ModelLoads {
  readonly #repository: ModelRepository;
  readonly #logger: Logger;
  /** The loads under way, by name and version. */
  readonly #underWay = new Map<string, LoadUnderWay>();
  /** The server ends: interrupted loads do not count as failures, nor are they logged as such. */
  isEnding = false;

  constructor(repository: ModelRepository, logger: Logger) {
    this.#repository = repository;
    this.#logger = logger;
  }

  /**
   * Opens a version and has it serve. The loaded version serves until then, and retires: there is always a ready model.
   * Rejects with what the start failed with. `isClients`: a client has asked for it.
   */
  async load(model: LoadableModel, config: CompleteModelConfig, isClients: boolean): Promise<void> {
    const { name, version } = config;
    const isLoaded = this.#repository.find(name, version)?.isLoaded === true;
    const loading = isLoaded ? undefined : this.#repository.add(config);
    const startedAt = performance.now();
    const underWay: LoadUnderWay = { ending: new AbortController(), isClients, timer: undefined };
    this.#underWay.set(modelKey(config), underWay);
    let opening: Opening;
    try {
      opening = await openWarm(model, config, underWay.ending.signal);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      if (underWay.timer !== undefined && underWay.ending.signal.aborted) loading?.dropped();
      else loading?.failed(describe(error));
      if (!this.isEnding)
        this.#logger.error(`failed to load '${name}' version ${version}: ${describe(error)}${ownFrames(error)}`);
      throw error;
    } finally {
      underWay.timer?.clear();
      this.#underWay.delete(modelKey(config));
    }
    const entry = loading ?? this.#repository.add(config);
    entry.model.statistics.recordLoad(performance.now() - startedAt);
    entry.serve(opening);
    this.#logger.info(`successfully loaded '${name}' version ${version}`);
  }

  /** Ends the load of a version that is under way, if any: its code may never come to an end. */
  end(version: Pick<CompleteModelConfig, 'name' | 'version'>): void {
    this.#underWay.get(modelKey(version))?.ending.abort(loadSuperseded());
  }

  /** The same where the version is unloaded, for loads of clients: those that come to an end do so before. */
  endSoon(version: Pick<CompleteModelConfig, 'name' | 'version'>): void {
    const underWay = this.#underWay.get(modelKey(version));
    if (underWay?.isClients !== true) return;
    underWay.timer ??= new ServedTimer(() => this.end(version), UNLOADED_GRACE, { keepsAlive: false, renewals: 1 });
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

/** Starts a model's instances and warms them up. Rejects with what went wrong; nothing stays open then. */
async function openWarm(model: LoadableModel, config: CompleteModelConfig, signal: AbortSignal): Promise<Opening> {
  const opened = Promise.resolve(model.open(config, signal));
  let opening: Opening;
  try {
    opening = await unlessInterrupted(opened, signal);
  } catch (error) {
    // It may come all the same.
    if (signal.aborted) opened.then(closeInBackground, () => undefined);
    throw error;
  }
  try {
    const { instances } = opening;
    await unlessInterrupted(warmUp(config, instances), signal);
    if (instances.length > 0 && opening.instances.length === 0)
      throw new TritonError('UNAVAILABLE', INTERRUPTIONS.ended);
    return opening;
  } catch (error) {
    if (signal.aborted) closeInBackground(opening);
    else await opening.close?.();
    throw error;
  }
}

/** The code of the model may never come to an end. */
function closeInBackground(opening: Opening): void {
  Promise.resolve(opening.close?.()).catch(() => undefined);
}
