// Loads versions of models and unloads them: starts their instances, warms them up, and has the repository serve them.

import { TritonError } from '../errors.js';
import { endLate, loadSuperseded, unlessInterrupted } from '../lifecycle/interrupted-load.js';
import { joinSignals } from '../lifecycle/join-signals.js';
import { type CompleteModelConfig, modelKey } from '../model/complete-model-config.js';
import { ownFrames } from '../model/own-frames.js';
import type { Logger } from '../observability/logger.js';
import { describe } from './load-failures.js';
import type { ServedTimer } from '../pacing/served-timer.js';
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

export interface LoadOptions {
  /** Whether a client has asked for the load. Default: false. */
  readonly isClients?: boolean | undefined;
  /** Ends the load: its code may never come to an end. */
  readonly signal?: AbortSignal | undefined;
}

/** A load that a client has asked for. */
interface ClientLoad {
  readonly ending: AbortController;
  /** Whether the version was unloaded meanwhile. */
  isUnloaded: boolean;
  /** Runs when there was a later change of the version. */
  timer: ServedTimer | undefined;
}

export class ModelLoads {
  readonly #repository: ModelRepository;
  readonly #logger: Logger;
  /** The loads under way that clients have asked for, by name and version. */
  readonly #ofClients = new Map<string, ClientLoad>();
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
  async load(
    model: LoadableModel,
    config: CompleteModelConfig,
    { isClients = false, signal: given }: LoadOptions,
  ): Promise<void> {
    const { name, version } = config;
    const isLoaded = this.#repository.find(name, version)?.isLoaded === true;
    const loading = isLoaded ? undefined : this.#repository.add(config);
    const startedAt = performance.now();
    const load: ClientLoad = { ending: new AbortController(), isUnloaded: false, timer: undefined };
    if (isClients) this.#ofClients.set(modelKey(config), load);
    const { signal, release } = joinSignals([load.ending.signal, given]);
    let opening: Opening;
    try {
      opening = await openWarm(model, config, signal!);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      if (load.isUnloaded && signal!.aborted) loading?.dropped();
      else loading?.failed(describe(error));
      if (!this.isEnding)
        this.#logger.error(`failed to load '${name}' version ${version}: ${describe(error)}${ownFrames(error)}`);
      throw error;
    } finally {
      release();
      load.timer?.clear();
      this.#ofClients.delete(modelKey(config));
    }
    const entry = loading ?? this.#repository.add(config);
    entry.model.statistics.recordLoad(performance.now() - startedAt);
    entry.serve(opening);
    this.#logger.info(`successfully loaded '${name}' version ${version}`);
  }

  /** Ends the load of a version that a client has asked for, if one is under way, unless it comes to an end soon. */
  endSoon(
    version: Pick<CompleteModelConfig, 'name' | 'version'>,
    { isUnloaded }: Pick<ClientLoad, 'isUnloaded'>,
  ): void {
    const load = this.#ofClients.get(modelKey(version));
    if (load === undefined) return;
    load.isUnloaded ||= isUnloaded;
    load.timer ??= endLate(() => load.ending.abort(loadSuperseded()));
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
  signal.throwIfAborted();
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
