// The model repository extension: every model that is bound is in the repository, loaded or not. Loading gives a model
// new statistics and an empty queue; unloading lets its requests finish. What happens to one version happens in turn.

import { invalidArg, TritonError } from '../errors.js';
import { type CompleteModelConfig, modelKey } from '../model/complete-model-config.js';
import type { Logger } from '../observability/logger.js';
import type { RepositoryModel } from '../model/repository-model.js';
import { EVERY_VERSION, servedVersions } from '../model/version-policy.js';
import { Turns } from '../lifecycle/turns.js';
import { checkModelName, loadFailed, notPolled } from './load-failures.js';
import type { ModelEntry } from './model-entry.js';
import type { ModelRepository } from './model-repository.js';
import { type LoadableModel, type LoadOptions, ModelLoads } from './model-loads.js';

/** Whether clients may load and unload models. */
export type ModelControlMode = 'none' | 'explicit' | 'poll';

export interface ModelControlOptions {
  readonly mode: ModelControlMode;
  readonly logger: Logger;
  /** Names of models that could be loaded, though nothing of them is bound. Default: none. */
  readonly loadable?: (() => readonly string[]) | undefined;
}

/** How a version is loaded. */
interface VersionLoad extends LoadOptions {
  /** Counts instead of the bound configuration. */
  readonly config?: CompleteModelConfig | undefined;
}

interface BegunLoad {
  readonly name: string;
  /** Whether a client has unloaded the model meanwhile. */
  isUnloaded: boolean;
}

/** Makes the configuration for a load from that of the bound model. Throws INVALID_ARG when that cannot be. */
export type ConfigOverride = (bound: CompleteModelConfig) => CompleteModelConfig;

export class ModelControl {
  readonly #repository: ModelRepository;
  readonly #mode: ModelControlMode;
  readonly #logger: Logger;
  readonly #loadable: () => readonly string[];
  readonly #bound = new Map<string, Map<number, LoadableModel>>();
  /** What happens to each version. */
  readonly #turns = new Turns();
  readonly #loads: ModelLoads;
  /** Loads of clients whose models are not bound yet. */
  readonly #begun = new Set<BegunLoad>();
  #broken: readonly RepositoryModel[] = [];

  constructor(repository: ModelRepository, { mode, logger, loadable = () => [] }: ModelControlOptions) {
    this.#repository = repository;
    this.#mode = mode;
    this.#logger = logger;
    this.#loadable = loadable;
    this.#loads = new ModelLoads(repository, logger);
  }

  /** The server ends: from now on interrupted loads do not count as failures, nor are they logged as such. */
  end(): void {
    this.#loads.isEnding = true;
  }

  /** Models that could not be bound, with the reason: the index also lists them. */
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
  async replace(model: LoadableModel, options: LoadOptions = {}): Promise<void> {
    const { name, version } = model.config;
    if (!this.has(name, version)) return this.bind(model);
    this.#loads.endSoon(model.config, { isUnloaded: false });
    await this.#turns.take(modelKey(model.config), async () => {
      options.signal?.throwIfAborted();
      const before = this.#bound.get(name)?.get(version);
      const entry = this.#repository.find(name, version);
      // An unloaded version stays unloaded. A version that failed to load, or has lost its instances, is loaded.
      if (entry !== undefined && !entry.isUnloaded) await this.#loads.load(model, model.config, options);
      // Unless it was unbound meanwhile.
      if (this.#bound.get(name)?.get(version) === before) this.bind(model);
    });
    this.#logger.info(`successfully replaced '${name}' version ${version}`);
  }

  /** Resolves when every version that was replaced or unbound under this name and number has ended its last request and is closed. */
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
    this.#loads.endSoon(bound.config, { isUnloaded: true });
    await this.#turns.take(modelKey(bound.config), () => this.#repository.remove(name, version));
    this.#logger.info(`successfully unbound '${name}' version ${version}`);
  }

  /** True when a model of that name is bound, in that version where one is given. */
  has(name: string, version?: number): boolean {
    const versions = this.#bound.get(name);
    return versions !== undefined && (version === undefined || versions.has(version));
  }

  /** The model that is bound as this version, if any. */
  bound({ name, version }: Pick<CompleteModelConfig, 'name' | 'version'>): LoadableModel | undefined {
    return this.#bound.get(name)?.get(version);
  }

  /** Whether a bound version is ready. One that clients have unloaded, or not loaded yet, counts as ready. */
  isReady({ name, version }: Pick<CompleteModelConfig, 'name' | 'version'>): boolean {
    return this.#repository.find(name, version)?.countsAsReady ?? true;
  }

  /**
   * Loads a version that is bound, unless it is loaded already. With a configuration it is loaded in any case; the version that
   * was loaded serves until then. Rejects with the failure of its start.
   */
  async loadVersion(name: string, version: number, load: VersionLoad = {}): Promise<void> {
    await this.#loadUnless((entry) => entry?.isLoaded === true && load.config === undefined, {
      name,
      version,
      ...load,
    });
  }

  async #loadUnless(
    isDone: (entry: ModelEntry | undefined) => boolean,
    { name, version, config, ...options }: VersionLoad & { readonly name: string; readonly version: number },
  ): Promise<void> {
    const bound = this.#bound.get(name)?.get(version);
    if (bound === undefined) throw notPolled(name);
    await this.#turns.take(modelKey(bound.config), async () => {
      // Another model may have been bound in its place meanwhile.
      const model = this.#bound.get(name)?.get(version);
      if (model === undefined) throw notPolled(name);
      if (!isDone(this.#repository.find(name, version))) await this.#loads.load(model, config ?? model.config, options);
    });
  }

  /**
   * Loads the versions of a model that its version policy serves and then unloads the others. If `version` is one of
   * them and its start fails, this rejects with that failure, and the others stay.
   */
  async applyVersionPolicy(name: string, version: number, options: LoadOptions = {}): Promise<void> {
    const served = this.#served(name);
    const versions = [...(this.#bound.get(name) ?? [])];
    // A version that failed to load is not tried again because of its neighbours.
    const isDone = (entry: ModelEntry | undefined) => entry?.isLoaded === true || entry?.status === 'failed';
    const others = versions
      .filter(([number]) => served.has(number) && number !== version)
      .map(([number]) => this.#loadUnless(isDone, { name, version: number }).catch(() => undefined));
    if (served.has(version)) await this.loadVersion(name, version, options);
    const unserved = versions.filter(([number]) => !served.has(number));
    await Promise.all([...others, ...unserved.map(([, model]) => this.#unloadInTurn(model))]);
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
   * Loads every version of a model that its version policy serves, for a client. `override` changes each version's
   * configuration until that version is unloaded. Rejects with INVALID_ARG or UNAVAILABLE in Triton's words.
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
        this.loadVersion(name, version, { config: configs?.get(version), isClients: true }).catch(
          (error: TritonError) => failures.set(version, error),
        ),
      ),
    );
    if (failures.size > 0) throw loadFailed(name, failures);
    if (configs === undefined) return;
    for (const [version, model] of versions) if (!served.has(version)) void this.#unloadInTurn(model);
  }

  /** Settles as a load does that binds the model first, for a client. An unload that comes meanwhile counts after it. */
  async whenBound<T>(name: string, load: Promise<T>): Promise<T> {
    const begun: BegunLoad = { name, isUnloaded: false };
    this.#begun.add(begun);
    try {
      return await load;
    } finally {
      this.#begun.delete(begun);
      if (begun.isUnloaded) this.#unload(name);
    }
  }

  /**
   * Begins to unload every version of a model, for a client: none of them takes requests any more, and clients' loads under way end
   * soon. Unknown names and names of unloaded models are ignored. Throws UNAVAILABLE when clients may not.
   */
  unload(name: string): void {
    this.#checkMode();
    for (const load of this.#begun) if (load.name === name) load.isUnloaded = true;
    this.#unload(name);
  }

  #unload(name: string): void {
    for (const model of this.#bound.get(name)?.values() ?? []) {
      this.#loads.endSoon(model.config, { isUnloaded: true });
      // At once, so that the client's next request is refused; its turn tells when that has ended, and of a failure.
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

  /** Only versions that were loaded once have a line. */
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
   * Unloads a version after the earlier changes of it; never rejects. Nobody waits for its last requests: another load does not
   * depend on clients that never leave. `retiring` is its end where that has begun already.
   */
  #unloadInTurn({ config }: LoadableModel, retiring?: Promise<void>): Promise<void> {
    return this.#turns.take(modelKey(config), () => {
      const entry = this.#repository.find(config.name, config.version);
      // An earlier change may have loaded it again meanwhile.
      const again = entry?.isLoaded === true ? entry.retire() : undefined;
      if (retiring ?? again) void this.#loads.unloaded(config, Promise.all([retiring, again]));
    });
  }
}
