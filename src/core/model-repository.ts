// The models by name and version with their states, and the lookups whose refusals Triton words exactly
// (core/src/model_repository_manager/model_lifecycle.cc, GetModel).

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { ModelEntry, type ResolvedModel } from './model-entry.js';
import { type ModelVersion, routesOf } from './model-routes.js';
import { Model, type ModelSurroundings } from './model.js';
import { parseModelVersion } from './refusals.js';

export class ModelRepository {
  readonly #models = new Map<string, Map<number, ModelEntry>>();
  /** The same versions by the numbers of their loads. */
  readonly #loads = new Map<number, ModelEntry>();
  #lastLoad = 0;
  /** Replaced or removed versions whose last requests are still under way. */
  readonly #retiring = new Map<ModelEntry, Promise<void>>();
  /** Versions that are not ready, and were not unloaded on request. */
  readonly #unready = new Set<ModelEntry>();
  readonly #surroundings: ModelSurroundings;
  readonly #onChange: (entry: ModelEntry) => void;
  /** Undefined after a change. */
  #routes: ReadonlyMap<string, ModelVersion> | undefined;

  /** `onChange` is called with a version that comes, goes, or changes its state. */
  constructor(surroundings: ModelSurroundings = {}, onChange: (entry: ModelEntry) => void = () => undefined) {
    this.#surroundings = surroundings;
    this.#onChange = (entry) => {
      const { name, version } = entry.model.config;
      const isThere = this.find(name, version) === entry;
      if (isThere && !entry.countsAsReady) this.#unready.add(entry);
      else this.#unready.delete(entry);
      this.#routes = undefined;
      onChange(entry);
    };
  }

  /** Adds a version in state LOADING. One of that name and number that is there is replaced, and retires. */
  add(config: CompleteModelConfig): ModelEntry {
    const load = ++this.#lastLoad;
    const entry = new ModelEntry(new Model(config, this.#surroundings), load, this.#onChange);
    let versions = this.#models.get(config.name);
    if (versions === undefined) this.#models.set(config.name, (versions = new Map()));
    const replaced = versions.get(config.version);
    // An unload has ended the live sequences; a replacement lets them go on.
    const wasLoaded = replaced?.isLoaded === true;
    const retired = this.#retire(replaced, true);
    if (wasLoaded && retired !== undefined) entry.model.replace(replaced.model, retired);
    versions.set(config.version, entry);
    this.#loads.set(load, entry);
    if (replaced !== undefined) this.#onChange(replaced);
    this.#onChange(entry);
    return entry;
  }

  /** Every model that may have requests under way. */
  runningModels(): Model[] {
    return [...this.entries(), ...this.#retiring.keys()].map(({ model }) => model);
  }

  /** Takes a version out; it retires. */
  remove(name: string, version: number): void {
    const versions = this.#models.get(name);
    const entry = versions?.get(version);
    if (versions === undefined || entry === undefined) return;
    void this.#retire(entry);
    versions.delete(version);
    if (versions.size === 0) this.#models.delete(name);
    this.#onChange(entry);
  }

  /**
   * Resolves when whatever was replaced, removed or unloaded under a name and version until now has retired; rejects when its close
   * fails.
   */
  async retired(name: string, version: number): Promise<void> {
    const own = [...this.#retiring].filter(
      ([{ model }]) => model.config.name === name && model.config.version === version,
    );
    const entry = this.find(name, version);
    const unloaded = entry?.isUnloaded === true ? entry.retire() : undefined;
    await Promise.all([...own.map(([, retired]) => retired), unloaded]);
  }

  #retire(entry: ModelEntry | undefined, accepting = false): Promise<void> | undefined {
    if (entry === undefined) return undefined;
    this.#loads.delete(entry.resolved.load);
    const retired = entry.retire(accepting).finally(() => this.#retiring.delete(entry));
    this.#retiring.set(entry, retired);
    // Those who wait for it hear of a failure, and there need not be any.
    retired.catch(() => undefined);
    return retired;
  }

  find(name: string, version: number): ModelEntry | undefined {
    return this.#models.get(name)?.get(version);
  }

  /** The models' own routes, see {@link routesOf}. */
  get routes(): ReadonlyMap<string, ModelVersion> {
    return (this.#routes ??= routesOf(this.entries()));
  }

  /** Every version of every model, by name, then version. */
  entries(): ModelEntry[] {
    return [...this.#models.keys()].sort().flatMap((name) => this.versions(name));
  }

  /** Every version of a model, ascending. */
  versions(name: string): ModelEntry[] {
    const versions = this.#models.get(name);
    if (versions === undefined) return [];
    return [...versions.entries()].sort(([a], [b]) => a - b).map(([, entry]) => entry);
  }

  /** Every model that was loaded and not unloaded, those too whose instances have all ended, by name, then version. */
  loadedModels(): Model[] {
    return this.entries()
      .filter(({ isLoaded, status }) => isLoaded || status === 'unloading')
      .map(({ model }) => model);
  }

  /** Numbers of the versions that are ready, ascending, as strings. */
  readyVersions(name: string): string[] {
    return this.versions(name)
      .filter(({ isReady }) => isReady)
      .map(({ model }) => String(model.config.version));
  }

  /** True when every version of every model is ready, or was unloaded on request. */
  get allReady(): boolean {
    return this.#unready.size === 0;
  }

  /** The ready model of a load; undefined when it is ready no more, or was replaced. */
  loaded(load: number): Model | undefined {
    const entry = this.#loads.get(load);
    return entry?.resolved.isServed === true ? entry.model : undefined;
  }

  /** The ready model that a request means. Throws NOT_FOUND, UNAVAILABLE or INVALID_ARG. */
  get(name: string, version: string): Model {
    return this.#ready(name, version).model;
  }

  /** The same model, for requests that are decoded for it. */
  resolve(name: string, version: string): ResolvedModel {
    return this.#ready(name, version).resolved;
  }

  #ready(name: string, version: string): ModelEntry {
    const number = version === '' ? undefined : parseModelVersion(version);
    const versions = this.#models.get(name);
    if (versions === undefined) throw new TritonError('NOT_FOUND', `Request for unknown model: '${name}' is not found`);
    if (number === undefined) {
      let latest: ModelEntry | undefined;
      for (const entry of versions.values()) {
        const isLater = latest === undefined || entry.model.config.version > latest.model.config.version;
        if (isLater && entry.resolved.isServed) latest = entry;
      }
      if (latest !== undefined) return latest;
      // Unlike what Triton can say of its models this is soon over, and clients try again after UNAVAILABLE only.
      const interrupted = [...versions.values()].find(({ status }) => status === 'interrupted');
      if (interrupted !== undefined)
        throw new TritonError('UNAVAILABLE', `model '${name}' is not ready: ${interrupted.reason}`);
      throw new TritonError('NOT_FOUND', `Request for unknown model: '${name}' has no available versions`);
    }
    const entry = versions.get(number);
    if (entry === undefined)
      throw new TritonError(
        'NOT_FOUND',
        `Request for unknown model: '${name}' version ${BigInt(version)} is not found`,
      );
    if (!entry.isReady) {
      throw new TritonError(
        'UNAVAILABLE',
        `Request for unknown model: '${name}' version ${BigInt(version)} is not at ready state`,
      );
    }
    return entry;
  }
}
