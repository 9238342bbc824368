// The model repository extension: every model that is bound is in the repository, loaded or not. Loading gives a model
// new statistics and an empty queue; unloading lets its requests finish. What happens to one version happens in turn.

import { invalidArg, TritonError } from '../errors.js';
import { type CompleteModelConfig, modelKey } from '../model/complete-model-config.js';
import type { Logger } from '../model/logger.js';
import type { RepositoryModel } from '../model/repository-model.js';
import { EVERY_VERSION, servedVersions } from '../model/version-policy.js';
import { Turns } from '../model/turns.js';
import { checkModelName, describe, loadFailed, notPolled } from './load-failures.js';
import type { ModelEntry } from './model-entry.js';
import type { ModelRepository } from './model-repository.js';
import type { Opening } from './opening.js';
import { INTERRUPTIONS } from './refusals.js';
import { warmUp } from './warm-up.js';

/** Whether clients may load and unload models. */
export type ModelControlMode = 'none' | 'explicit' | 'poll';

/** A version of a model and where its instances come from. */
export interface LoadableModel {
  readonly config: CompleteModelConfig;
  /**
   * Starts the instances of one load, with the configuration of the model or another one. What it rejects with is why the
   * model is not there.
   */
  open(config: CompleteModelConfig): Opening | Promise<Opening>;
}

export interface ModelControlOptions {
  readonly mode: ModelControlMode;
  readonly logger: Logger;
  /** Names of models that could be loaded, though nothing of them is bound. Default: none. */
  readonly loadable?: (() => readonly string[]) | undefined;
}

/** What a version is loaded with, made from what it was bound with. Throws INVALID_ARG when that cannot be. */
export type ConfigOverride = (bound: CompleteModelConfig) => CompleteModelConfig;

export class ModelControl {
  readonly #repository: ModelRepository;
  readonly #mode: ModelControlMode;
  readonly #logger: Logger;
  readonly #loadable: () => readonly string[];
  readonly #bound = new Map<string, Map<number, LoadableModel>>();
  /** What happens to each version. */
  readonly #turns = new Turns();
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
    versions.set(version, model);
  }

  /**
   * Puts another model in the place of a version: new requests go to it, those under way finish with the old one, which is then
   * {@link retired}.
   */
  async replace(model: LoadableModel): Promise<void> {
    const { name, version } = model.config;
    if (!this.has(name, version)) return this.bind(model);
    await this.#turns.take(modelKey(model.config), async () => {
      const before = this.#bound.get(name)?.get(version);
      const entry = this.#repository.find(name, version);
      // What is not loaded is not loaded now; what failed to load, or has lost its instances, is.
      if (entry !== undefined && entry.status !== 'unloaded') await this.#load(model, model.config);
      // Unless it was unbound meanwhile.
      if (this.#bound.get(name)?.get(version) === before) this.bind(model);
    });
    this.#logger.info(`successfully replaced '${name}' version ${version}`);
  }

  /** Resolves when what was replaced or unbound under a name and version until now has ended its last request and is closed. */
  retired({ name, version }: Pick<CompleteModelConfig, 'name' | 'version'>): Promise<void> {
    return this.#repository.retired(name, version);
  }

  /** Takes a version out of the repository; it is {@link retired} then. */
  async unbind(name: string, version: number): Promise<void> {
    const versions = this.#bound.get(name);
    const bound = versions?.get(version);
    if (versions === undefined || bound === undefined) return;
    versions.delete(version);
    if (versions.size === 0) this.#bound.delete(name);
    await this.#turns.take(modelKey(bound.config), () => this.#repository.remove(name, version));
    this.#logger.info(`successfully unbound '${name}' version ${version}`);
  }

  /** True when a model of that name is bound, in that version where one is given. */
  has(name: string, version?: number): boolean {
    const versions = this.#bound.get(name);
    return versions !== undefined && (version === undefined || versions.has(version));
  }

  /** The bound models, and whether each is ready: those that clients have unloaded, or not loaded yet, are ready to be. */
  readiness(): (readonly [model: LoadableModel, isReady: boolean])[] {
    return [...this.#bound.values()].flatMap((versions) =>
      Array.from(versions.values(), (model) => {
        const entry = this.#repository.find(model.config.name, model.config.version);
        return [model, entry === undefined || entry.isReady || entry.status === 'unloaded'] as const;
      }),
    );
  }

  /**
   * Loads a version that is bound, unless it is loaded already. With a configuration it is loaded in any case, and what was
   * loaded serves until then. Rejects with what its start failed with.
   */
  async loadVersion(name: string, version: number, config?: CompleteModelConfig): Promise<void> {
    await this.#loadUnless((entry) => entry?.isLoaded === true && config === undefined, { name, version, config });
  }

  async #loadUnless(
    isDone: (entry: ModelEntry | undefined) => boolean,
    {
      name,
      version,
      config,
    }: { readonly name: string; readonly version: number; readonly config?: CompleteModelConfig | undefined },
  ): Promise<void> {
    const bound = this.#bound.get(name)?.get(version);
    if (bound === undefined) throw notPolled(name);
    await this.#turns.take(modelKey(bound.config), async () => {
      // What was bound in its place meanwhile.
      const model = this.#bound.get(name)?.get(version);
      if (model === undefined) throw notPolled(name);
      if (!isDone(this.#repository.find(name, version))) await this.#load(model, config ?? model.config);
    });
  }

  /**
   * Loads the versions of a model that its version policy serves and then unloads the others. Rejects with what the
   * start of `version` failed with, when it is one of them; the others stay then.
   */
  async applyVersionPolicy(name: string, version: number): Promise<void> {
    const served = this.#served(name);
    const versions = [...(this.#bound.get(name) ?? [])];
    // What failed to load is not tried again because of its neighbours.
    const isDone = (entry: ModelEntry | undefined) => entry?.isLoaded === true || entry?.status === 'failed';
    const others = versions
      .filter(([number]) => served.has(number) && number !== version)
      .map(([number]) => this.#loadUnless(isDone, { name, version: number }).catch(() => undefined));
    if (served.has(version)) await this.loadVersion(name, version);
    const unserved = versions.filter(([number]) => !served.has(number));
    await Promise.all([...others, ...unserved.map(([, { config }]) => this.#leave(config))]);
  }

  #served(name: string, configs?: ReadonlyMap<number, CompleteModelConfig>): ReadonlySet<number> {
    const versions = this.#bound.get(name);
    const numbers = [...(versions?.keys() ?? [])];
    const highest = Math.max(...numbers);
    const entry = this.#repository.find(name, highest);
    const loaded = entry?.isLoaded === true ? entry.model.config : versions?.get(highest)?.config;
    const config = configs?.get(highest) ?? loaded;
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
      override && new Map(Array.from(versions, ([version, { config }]) => [version, override(config)] as const));
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
    for (const [version, model] of versions) if (!served.has(version)) void this.#unloadInTurn(model);
  }

  /**
   * Begins to unload every version of a model, for a client: none of them takes requests any more. Names that are
   * unknown or not loaded are no mistake. Throws UNAVAILABLE when clients may not.
   */
  unload(name: string): void {
    this.#checkMode();
    for (const model of this.#bound.get(name)?.values() ?? []) {
      // At once, so that the client's next request is refused; its turn waits for that, and tells of a failure.
      const entry = this.#repository.find(name, model.config.version);
      const retiring = entry?.isLoaded === true ? entry.retire() : undefined;
      retiring?.catch(() => undefined);
      void this.#unloadInTurn(model, retiring);
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

  /**
   * Opens a version and has it serve. What is loaded serves until then, and retires: there is no moment without a ready model.
   * Rejects with what the start failed with.
   */
  async #load(model: LoadableModel, config: CompleteModelConfig): Promise<void> {
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
      if (!this.isEnding) this.#logger.error(`failed to load '${name}' version ${version}: ${describe(error)}`);
      throw error;
    }
    const entry = loading ?? this.#repository.add(config);
    entry.model.statistics.recordLoad(performance.now() - startedAt);
    entry.serve(opening);
    this.#logger.info(`successfully loaded '${name}' version ${version}`);
  }

  /** A version is served no more, by its policy. Nobody waits for its last requests. */
  #leave(config: CompleteModelConfig): Promise<void> {
    return this.#turns.take(modelKey(config), () => {
      const entry = this.#repository.find(config.name, config.version);
      if (entry?.isLoaded === true) void this.#unloaded(config, entry.retire());
    });
  }

  /** Unloads a version when what was asked before is done; never rejects. */
  #unloadInTurn({ config }: LoadableModel, retiring?: Promise<void>): Promise<void> {
    const { name, version } = config;
    return this.#turns.take(modelKey(config), async () => {
      const entry = this.#repository.find(name, version);
      if (retiring === undefined && entry?.isLoaded !== true && entry?.status !== 'unloading') return;
      await this.#unloaded(config, Promise.all([retiring, entry?.retire()]));
    });
  }

  async #unloaded({ name, version }: CompleteModelConfig, retiring: Promise<unknown>): Promise<void> {
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
