// The model repository extension: every model that is bound is in the repository, loaded or not. Loading gives a model
// new statistics and an empty queue; unloading lets its requests finish. What happens to one version happens in turn.

import { type ErrorCode, invalidArg, TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { Logger } from '../model/logger.js';
import type { RepositoryModel } from '../model/repository-model.js';
import { EVERY_VERSION, servedVersions } from '../model/version-policy.js';
import type { ModelInstance } from './instance/model-instance.js';
import type { ModelEntry } from './model-entry.js';
import type { ModelRepository } from './model-repository.js';
import { INTERRUPTIONS } from './refusals.js';
import { warmUp } from './warm-up.js';

/** Whether clients may load and unload models. */
export type ModelControlMode = 'none' | 'explicit' | 'poll';

/** A version of a model and where its instances come from. */
export interface LoadableModel {
  readonly config: CompleteModelConfig;
  /** Starts the instances, for every load anew. What it rejects with is why the model is not there. */
  open(): readonly ModelInstance[] | Promise<readonly ModelInstance[]>;
  /**
   * The model is about to serve, with those of its instances that live now: since `open` some may have ended, or been
   * started again. Without it they are those of `open`.
   */
  serve?(): readonly ModelInstance[];
  /** These instances, and those that come and go from now on, work for this entry of the repository. */
  servedBy?(entry: ModelEntry): void;
  /** Ends the instances after the last request of an unloaded model. */
  close?(): void | Promise<void>;
  /** The same model with another configuration, for a load of its own. Without it that is all that differs. */
  with?(config: CompleteModelConfig): LoadableModel;
}

export interface ModelControlOptions {
  readonly mode: ModelControlMode;
  readonly logger: Logger;
  /** Names of models that could be loaded, though nothing of them is bound. Default: none. */
  readonly loadable?: (() => readonly string[]) | undefined;
}

/** What a version is loaded with, made from what it was bound with. Throws INVALID_ARG when that cannot be. */
export type ConfigOverride = (bound: CompleteModelConfig) => CompleteModelConfig;

interface BoundVersion {
  model: LoadableModel;
  /** What is loaded, or was, or would be: the model, or the same one with another configuration. */
  loaded: LoadableModel;
  /** What happens to it now; settles when it is done, and never rejects. */
  turn: Promise<void>;
}

export class ModelControl {
  readonly #repository: ModelRepository;
  readonly #mode: ModelControlMode;
  readonly #logger: Logger;
  readonly #loadable: () => readonly string[];
  readonly #bound = new Map<string, Map<number, BoundVersion>>();
  #broken: readonly RepositoryModel[] = [];
  /** The server ends: loads that are interrupted are no failures, and not logged as such. */
  isEnding = false;

  constructor(repository: ModelRepository, { mode, logger, loadable = () => [] }: ModelControlOptions) {
    this.#repository = repository;
    this.#mode = mode;
    this.#logger = logger;
    this.#loadable = loadable;
  }

  /** What was to be loaded and cannot even be bound, with the reason: a line of the index each. */
  get broken(): readonly RepositoryModel[] {
    return this.#broken.filter(({ name, version }) =>
      version === '' ? !this.#bound.has(name) : !this.has(name, Number(version)),
    );
  }

  set broken(models: readonly RepositoryModel[]) {
    this.#broken = models;
  }

  /** Adds a version to the repository, without loading it. */
  bind(model: LoadableModel): void {
    const { name, version } = model.config;
    let versions = this.#bound.get(name);
    if (versions === undefined) this.#bound.set(name, (versions = new Map()));
    versions.set(version, { model, loaded: model, turn: versions.get(version)?.turn ?? Promise.resolve() });
  }

  /**
   * Puts another model in the place of a version: new requests go to it, those under way finish with the old one.
   * Resolves when the last of them has ended and the old instances are closed.
   */
  async replace(model: LoadableModel): Promise<void> {
    const { name, version } = model.config;
    const bound = this.#bound.get(name)?.get(version);
    if (bound === undefined) return this.bind(model);
    let retired: Promise<void> | undefined;
    let failure: unknown;
    await this.#next(bound, async () => {
      const entry = this.#repository.find(name, version);
      try {
        // What is not loaded is not loaded now; what failed to load, or has lost its instances, is.
        if (entry === undefined || entry.status.kind === 'unloaded') {
          const old = bound.loaded;
          retired = Promise.resolve(old.close?.());
          bound.loaded = model;
        } else {
          ({ retired } = await this.#swap(bound, model, entry));
        }
        bound.model = model;
      } catch (error) {
        failure = error;
        // What serves goes on, and what did not has another reason now.
        if (entry?.status.kind === 'failed') entry.failed(describe(TritonError.from(error)));
      }
    });
    if (failure !== undefined) throw TritonError.from(failure);
    await retired;
    this.#logger.info(`successfully replaced '${name}' version ${version}`);
  }

  /**
   * Has a version served by another model from now on. `retired` resolves when the old one has finished what was under
   * way and is closed. Rejects with what the other one's start failed with.
   */
  async #swap(
    bound: BoundVersion,
    model: LoadableModel,
    entry: ModelEntry,
  ): Promise<{ readonly retired: Promise<void> }> {
    // Everything that may fail or take time comes first: there is no moment without a ready model.
    const startedAt = performance.now();
    const instances = await startInstances(model);
    const old = bound.loaded;
    bound.loaded = model;
    const next = this.#repository.add(model.config);
    next.model.statistics.recordLoad(performance.now() - startedAt);
    next.loaded();
    handOver(instances, model, next);
    // What waits in its queue while it has no instance is answered when one is there again, or refused soon.
    return { retired: this.#repository.retire(entry.model).then(() => old.close?.()) };
  }

  /** Takes a version out of the repository; resolves when its last request has ended and its instances are closed. */
  async unbind(name: string, version: number): Promise<void> {
    const versions = this.#bound.get(name);
    const bound = versions?.get(version);
    if (versions === undefined || bound === undefined) return;
    versions.delete(version);
    if (versions.size === 0) this.#bound.delete(name);
    await this.#next(bound, async () => {
      const entry = this.#repository.remove(name, version);
      if (entry !== undefined) await this.#repository.retire(entry.model);
      await bound.loaded.close?.();
    });
    this.#logger.info(`successfully unbound '${name}' version ${version}`);
  }

  /** True when a model of that name is bound, in that version where one is given. */
  has(name: string, version?: number): boolean {
    const versions = this.#bound.get(name);
    return versions !== undefined && (version === undefined || versions.has(version));
  }

  /**
   * Loads a version that is bound, unless it is ready already. With a configuration it is loaded in any case, and what was
   * ready serves until then. Rejects with what its start failed with.
   */
  async loadVersion(name: string, version: number, config?: CompleteModelConfig): Promise<void> {
    const bound = this.#bound.get(name)?.get(version);
    if (bound === undefined) throw notPolled(name);
    let failure: TritonError | undefined;
    await this.#next(bound, async () => {
      failure = config === undefined ? await this.#load(bound.loaded) : await this.#loadWith(bound, config);
    });
    if (failure !== undefined) throw failure;
  }

  async #loadWith(bound: BoundVersion, config: CompleteModelConfig): Promise<TritonError | undefined> {
    const model = bound.model.with?.(config) ?? { ...bound.model, config };
    const { name, version } = config;
    const entry = this.#repository.find(name, version);
    if (entry === undefined || !entry.isLoaded) {
      const failure = await this.#load(model);
      if (failure === undefined) bound.loaded = model;
      return failure;
    }
    try {
      const { retired } = await this.#swap(bound, model, entry);
      // Nobody waits for the old one.
      retired.catch((error: unknown) =>
        this.#logger.error(`unloading '${name}' version ${version}: ${TritonError.from(error).message}`),
      );
    } catch (thrown) {
      const error = TritonError.from(thrown);
      if (!this.isEnding) this.#logger.error(`failed to load '${name}' version ${version}: ${describe(error)}`);
      return error;
    }
    this.#logger.info(`successfully loaded '${name}' version ${version}`);
    return undefined;
  }

  /**
   * Loads the versions of a model that its version policy serves and then unloads the others. Rejects with what the
   * start of `version` failed with, when it is one of them; the others stay then.
   */
  async applyVersionPolicy(name: string, version: number): Promise<void> {
    const served = this.#served(name);
    const versions = [...(this.#bound.get(name) ?? [])];
    const others = versions
      .filter(([number]) => served.has(number) && number !== version)
      .map(([number]) => this.loadVersion(name, number).catch(() => undefined));
    if (served.has(version)) await this.loadVersion(name, version);
    const unserved = versions.filter(([number]) => !served.has(number));
    await Promise.all([...others, ...unserved.map(([, bound]) => this.#next(bound, () => this.#unload(bound)))]);
  }

  #served(name: string, configs?: ReadonlyMap<number, CompleteModelConfig>): ReadonlySet<number> {
    const versions = this.#bound.get(name) ?? new Map<number, BoundVersion>();
    const numbers = [...versions.keys()];
    const highest = Math.max(...numbers);
    const config = configs?.get(highest) ?? versions.get(highest)?.loaded.config;
    return servedVersions(config?.versionPolicy ?? EVERY_VERSION, numbers);
  }

  /**
   * Loads every version of a model that its version policy serves, for a client; `override` gives each of them another
   * configuration than it was bound with, until it is unloaded. Rejects with INVALID_ARG or UNAVAILABLE in
   * Triton's words.
   */
  async load(name: string, override?: ConfigOverride): Promise<void> {
    this.checkLoad(name);
    const versions = this.#bound.get(name);
    if (versions === undefined) throw notPolled(name);
    const configs =
      override && new Map(Array.from(versions, ([version, { model }]) => [version, override(model.config)] as const));
    const served = this.#served(name, configs);
    if (served.size === 0) {
      const message = `load failed for model '${name}': at least one version must be available under the version policy of model '${name}'\n`;
      throw invalidArg(message);
    }
    const failures = new Map<number, TritonError>();
    await Promise.all(
      [...served].map((version) =>
        this.loadVersion(name, version, configs?.get(version)).catch((error: TritonError) =>
          failures.set(version, error),
        ),
      ),
    );
    if (failures.size > 0) throw loadFailed(name, failures);
    if (configs === undefined) return;
    for (const [version, bound] of versions)
      if (!served.has(version)) void this.#next(bound, () => this.#unload(bound));
  }

  /**
   * Begins to unload every version of a model, for a client: none of them takes requests any more. Names that are
   * unknown or not loaded are no mistake. Throws UNAVAILABLE when clients may not.
   */
  unload(name: string): void {
    this.#checkMode();
    for (const bound of this.#bound.get(name)?.values() ?? []) {
      // At once, so that the client's next request is refused.
      this.#repository.find(name, bound.model.config.version)?.unloading();
      void this.#next(bound, () => this.#unload(bound));
    }
  }

  /** Every model and its versions by name; only ready ones when asked so. */
  index(readyOnly: boolean): readonly RepositoryModel[] {
    if (readyOnly) return [...this.#bound.keys()].sort().flatMap((name) => this.#lines(name, { readyOnly }));
    const { broken } = this;
    const names = new Set([...this.#bound.keys(), ...broken.map(({ name }) => name), ...this.#loadable()]);
    return [...names].sort().flatMap((name): readonly RepositoryModel[] => {
      const lines = [...this.#lines(name, { readyOnly }), ...broken.filter((model) => model.name === name)];
      return lines.length === 0 ? [{ name, version: '', state: '', reason: '' }] : lines;
    });
  }

  /** Those of the versions that were loaded once. */
  #lines(name: string, { readyOnly }: { readonly readyOnly: boolean }): readonly RepositoryModel[] {
    return this.#repository
      .versions(name)
      .filter(({ isReady }) => !readyOnly || isReady)
      .map(({ model, state, reason }) => ({ name, version: String(model.config.version), state, reason }));
  }

  /** Throws UNAVAILABLE when clients may not load models, INVALID_ARG for what can be no model's name. */
  checkLoad(name: string): void {
    this.#checkMode();
    checkModelName(name);
  }

  #checkMode(): void {
    if (this.#mode === 'explicit') return;
    throw new TritonError('UNAVAILABLE', 'explicit model load / unload is not allowed if polling is enabled');
  }

  /** Does something to a version when what was asked before is done. */
  #next(bound: BoundVersion, action: () => Promise<void>): Promise<void> {
    bound.turn = bound.turn.then(action);
    return bound.turn;
  }

  async #load(model: LoadableModel): Promise<TritonError | undefined> {
    const { config } = model;
    const { name, version } = config;
    if (this.#repository.find(name, version)?.isReady) return undefined;
    const entry = this.#repository.add(config);
    const startedAt = performance.now();
    let instances: readonly ModelInstance[];
    try {
      instances = await startInstances(model);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      entry.failed(describe(error));
      if (!this.isEnding) this.#logger.error(`failed to load '${name}' version ${version}: ${entry.reason}`);
      return error;
    }
    entry.model.statistics.recordLoad(performance.now() - startedAt);
    entry.loaded();
    handOver(instances, model, entry);
    this.#logger.info(`successfully loaded '${name}' version ${version}`);
    return undefined;
  }

  async #unload(bound: BoundVersion): Promise<void> {
    const { config } = bound.model;
    const entry = this.#repository.find(config.name, config.version);
    if (!entry?.unloading()) return;
    await entry.model.drain();
    try {
      await bound.loaded.close?.();
    } catch (error) {
      this.#logger.error(`unloading '${config.name}' version ${config.version}: ${TritonError.from(error).message}`);
    }
    // What a load said otherwise is over.
    bound.loaded = bound.model;
    entry.unloaded();
    this.#logger.info(`successfully unloaded '${config.name}' version ${config.version}`);
  }
}

/** Starts a model's instances and warms them up. Rejects with what went wrong. */
async function startInstances(model: LoadableModel): Promise<readonly ModelInstance[]> {
  const opened = await model.open();
  try {
    await warmUp(model.config, opened);
    const living = model.serve?.() ?? opened;
    if (living.length === 0 && opened.length > 0) throw new TritonError('UNAVAILABLE', INTERRUPTIONS.ended);
    return living;
  } catch (error) {
    await model.close?.();
    throw error;
  }
}

/** Gives the instances of what is bound to the entry that is to serve with them. */
function handOver(instances: readonly ModelInstance[], bound: LoadableModel, entry: ModelEntry): void {
  for (const instance of instances) entry.model.addInstance(instance);
  bound.servedBy?.(entry);
}

function notPolled(name: string): TritonError {
  return invalidArg(`failed to load '${name}', failed to poll from model repository`);
}

/** What clients are told of a load that failed: a line for each version. */
export function loadFailed(name: string, failures: ReadonlyMap<number, TritonError>): TritonError {
  const lines = Array.from(
    failures,
    ([version, error]) => `version ${version} is at UNAVAILABLE state: ${describe(error)};\n`,
  );
  return invalidArg(`load failed for model '${name}': ${lines.join('')}`);
}

/** Refuses what can be no model's name, whatever is bound. */
function checkModelName(name: string): void {
  if (/^[ \t\n\v\f\r]*$/.test(name)) {
    throw invalidArg('Model name cannot be empty. Please enter a valid name to deploy.');
  }
  if (/[/\\]|^\.\.?$/.test(name)) {
    throw invalidArg(`invalid model name '${name}', model name must not contain path traversal characters`);
  }
}

/** How Triton names codes where it prints them. */
const CODE_NAMES = {
  UNKNOWN: 'Unknown',
  INTERNAL: 'Internal',
  NOT_FOUND: 'Not found',
  INVALID_ARG: 'Invalid argument',
  UNAVAILABLE: 'Unavailable',
  UNSUPPORTED: 'Unsupported',
  ALREADY_EXISTS: 'Already exists',
  CANCELLED: 'Cancelled',
} as const satisfies Record<ErrorCode, string>;

/** An error as the index and the log have it. */
export function describe({ code, message }: TritonError): string {
  return `${CODE_NAMES[code]}: ${message}`;
}
