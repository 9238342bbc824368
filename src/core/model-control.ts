// The model repository extension: every model that is bound is in the repository, loaded or not. Loading gives a model
// new statistics and an empty queue; unloading lets its requests finish. What happens to one version happens in turn.

import { TritonError, type ErrorCode } from '../errors.js';
import type { Logger } from '../model/logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { RepositoryModel } from '../model/repository-model.js';
import type { ModelInstance } from './instance/model-instance.js';
import type { Model } from './model.js';
import { INSTANCES_ENDED, type ModelEntry, type ModelRepository } from './model-repository.js';
import { EVERY_VERSION, servedVersions } from '../model/version-policy.js';
import { warmUp } from './warm-up.js';

/** Whether clients may load and unload models. */
export type ModelControlMode = 'none' | 'explicit';

/** A version of a model and where its instances come from. */
export interface BoundModel {
  readonly config: CompleteModelConfig;
  /** Starts the instances, for every load anew. What it rejects with is why the model is not there. */
  open(): readonly ModelInstance[] | Promise<readonly ModelInstance[]>;
  /**
   * The model is about to serve, with those of its instances that live now: since `open` some may have ended, or been
   * started again. Without it they are those of `open`.
   */
  serve?(): readonly ModelInstance[];
  /** These instances, and those that come and go from now on, are of this model. */
  servedBy?(model: Model): void;
  /** Ends the instances after the last request of an unloaded model. */
  close?(): void | Promise<void>;
}

export interface ModelControlOptions {
  readonly mode: ModelControlMode;
  readonly logger: Logger;
}

interface BoundVersion {
  model: BoundModel;
  /** What happens to it now; settles when it is done, and never rejects. */
  turn: Promise<void>;
}

const UNLOADED = 'unloaded';

export class ModelControl {
  readonly #repository: ModelRepository;
  readonly #mode: ModelControlMode;
  readonly #logger: Logger;
  readonly #bound = new Map<string, Map<number, BoundVersion>>();

  constructor(repository: ModelRepository, { mode, logger }: ModelControlOptions) {
    this.#repository = repository;
    this.#mode = mode;
    this.#logger = logger;
  }

  /** Adds a version to the repository, without loading it. */
  bind(model: BoundModel): void {
    const { name, version } = model.config;
    let versions = this.#bound.get(name);
    if (versions === undefined) this.#bound.set(name, (versions = new Map()));
    versions.set(version, { model, turn: versions.get(version)?.turn ?? Promise.resolve() });
  }

  /**
   * Puts another model in the place of a version: new requests go to it, those under way finish with the old one.
   * Resolves when the last of them has ended and the old instances are closed.
   */
  async replace(model: BoundModel): Promise<void> {
    const { name, version } = model.config;
    const bound = this.#bound.get(name)?.get(version);
    if (bound === undefined) return this.bind(model);
    let old: BoundModel | undefined;
    let retired: Promise<void> | undefined;
    let failure: unknown;
    await this.#next(bound, async () => {
      const entry = this.#repository.find(name, version);
      try {
        // What is not loaded is not loaded now; what failed to load, or has lost its instances, is.
        if (entry === undefined || entry.reason === UNLOADED) {
          old = bound.model;
          bound.model = model;
          return;
        }
        // Everything that may fail or take time comes first: there is no moment without a ready model.
        const startedAt = performance.now();
        const instances = await startInstances(model);
        old = bound.model;
        bound.model = model;
        const next = this.#repository.add(model.config);
        handOver(instances, model, next.model);
        next.model.statistics.recordLoad(performance.now() - startedAt);
        next.state = 'READY';
        // What waits for an instance of the old model that is being started again waits on.
        retired = this.#repository.retire(entry.model);
      } catch (error) {
        failure = error;
      }
    });
    if (failure !== undefined) throw TritonError.from(failure);
    await retired;
    await old?.close?.();
    this.#logger.info(`successfully replaced '${name}' version ${version}`);
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
      await bound.model.close?.();
    });
    this.#logger.info(`successfully unbound '${name}' version ${version}`);
  }

  /** True when a model of that name is bound. */
  has(name: string): boolean {
    return this.#bound.has(name);
  }

  /** Loads a version that is bound, unless it is ready already. Rejects with what its start failed with. */
  async loadVersion(name: string, version: number): Promise<void> {
    const bound = this.#bound.get(name)?.get(version);
    if (bound === undefined) throw notPolled(name);
    let failure: TritonError | undefined;
    await this.#next(bound, async () => {
      failure = await this.#load(bound.model);
    });
    if (failure !== undefined) throw failure;
  }

  /**
   * Loads the versions of a model that its version policy serves and unloads the others. Rejects with what the
   * start of `version` failed with, when it is one of them.
   */
  async applyVersionPolicy(name: string, version: number): Promise<void> {
    const served = this.#served(name);
    const others: Promise<void>[] = [];
    for (const [number, bound] of this.#bound.get(name) ?? []) {
      if (served.has(number) && number !== version) others.push(this.loadVersion(name, number).catch(() => undefined));
      if (!served.has(number)) others.push(this.#next(bound, () => this.#unload(bound.model)));
    }
    if (served.has(version)) await this.loadVersion(name, version);
    await Promise.all(others);
  }

  #served(name: string): ReadonlySet<number> {
    const versions = this.#bound.get(name) ?? new Map<number, BoundVersion>();
    const numbers = [...versions.keys()];
    const highest = versions.get(Math.max(...numbers));
    return servedVersions(highest?.model.config.versionPolicy ?? EVERY_VERSION, numbers);
  }

  /** Loads every version of a model that its version policy serves, for a client. Rejects with INTERNAL, INVALID_ARG or UNAVAILABLE in Triton's words. */
  async load(name: string): Promise<void> {
    this.#checkMode();
    const versions = this.#bound.get(name);
    if (versions === undefined) throw notPolled(name);
    const failures = await Promise.all(
      [...this.#served(name)].map((version) =>
        this.loadVersion(name, version).then(
          () => '',
          (error: TritonError) => `version ${version} is at UNAVAILABLE state: ${describe(error)};\n`,
        ),
      ),
    );
    const text = failures.join('');
    if (text !== '') throw new TritonError('INVALID_ARG', `load failed for model '${name}': ${text}`);
  }

  /**
   * Begins to unload every version of a model, for a client: none of them takes requests any more. Names that are
   * unknown or not loaded are no mistake. Throws UNAVAILABLE when clients may not.
   */
  unload(name: string): void {
    this.#checkMode();
    for (const bound of this.#bound.get(name)?.values() ?? []) {
      // At once, so that the client's next request is refused.
      const entry = this.#repository.find(name, bound.model.config.version);
      if (entry !== undefined && isLoaded(entry)) entry.state = 'UNLOADING';
      void this.#next(bound, () => this.#unload(bound.model));
    }
  }

  /** Every model and its versions by name; only ready ones when asked so. */
  index(readyOnly: boolean): readonly RepositoryModel[] {
    return [...this.#bound.keys()].sort().flatMap((name): RepositoryModel[] => {
      const versions = this.#repository.versions(name);
      if (versions.length === 0) return readyOnly ? [] : [{ name, version: '', state: '', reason: '' }];
      return versions
        .filter(({ state }) => !readyOnly || state === 'READY')
        .map(({ model, state, reason }) => ({ name, version: String(model.config.version), state, reason }));
    });
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

  async #load(model: BoundModel): Promise<TritonError | undefined> {
    const { config } = model;
    const { name, version } = config;
    if (this.#repository.find(name, version)?.state === 'READY') return undefined;
    const entry = this.#repository.add(config);
    const startedAt = performance.now();
    try {
      const instances = await startInstances(model);
      handOver(instances, model, entry.model);
    } catch (thrown) {
      const error = TritonError.from(thrown);
      entry.state = 'UNAVAILABLE';
      entry.reason = describe(error);
      this.#logger.error(`failed to load '${name}' version ${version}: ${entry.reason}`);
      return error;
    }
    entry.model.statistics.recordLoad(performance.now() - startedAt);
    entry.state = 'READY';
    this.#logger.info(`successfully loaded '${name}' version ${version}`);
    return undefined;
  }

  async #unload(model: BoundModel): Promise<void> {
    const { config } = model;
    const entry = this.#repository.find(config.name, config.version);
    if (entry === undefined || (entry.state !== 'UNLOADING' && !isLoaded(entry))) return;
    entry.state = 'UNLOADING';
    await entry.model.drain();
    try {
      await model.close?.();
    } catch (error) {
      this.#logger.error(`unloading '${config.name}' version ${config.version}: ${TritonError.from(error).message}`);
    }
    entry.state = 'UNAVAILABLE';
    entry.reason = UNLOADED;
    this.#logger.info(`successfully unloaded '${config.name}' version ${config.version}`);
  }
}

/** Starts a model's instances and warms them up. Rejects with what went wrong. */
async function startInstances(model: BoundModel): Promise<readonly ModelInstance[]> {
  const opened = await model.open();
  await warmUp(model.config, opened);
  const living = model.serve?.() ?? opened;
  if (living.length === 0 && opened.length > 0) throw new TritonError('UNAVAILABLE', INSTANCES_ENDED);
  return living;
}

/** Gives the instances of what is bound to the model that is to serve with them. */
function handOver(instances: readonly ModelInstance[], bound: BoundModel, model: Model): void {
  for (const instance of instances) model.addInstance(instance);
  bound.servedBy?.(model);
}

/** Whether a model serves, or will when its instances are there again. */
function isLoaded({ state, reason }: ModelEntry): boolean {
  return state === 'READY' || (state === 'UNAVAILABLE' && reason === INSTANCES_ENDED);
}

function notPolled(name: string): TritonError {
  return new TritonError('INTERNAL', `failed to load '${name}', failed to poll from model repository`);
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

function describe({ code, message }: TritonError): string {
  return `${CODE_NAMES[code]}: ${message}`;
}
