// Manages the models of the model repositories in the user's thread. It reads their folders, binds new models, replaces
// changed ones and unbinds removed ones. A broken model does not affect the others, and a state that does not load
// leaves the last one serving.

import { loadFailed } from '../core/load-failures.js';
import type { LoadParameters } from '../core/client-loads.js';
import { invalidArg, TritonError } from '../errors.js';
import type { Logger } from '../observability/logger.js';
import { ownFrames } from '../model/own-frames.js';
import type { RepositoryModel } from '../model/repository-model.js';
import { endLate } from '../lifecycle/interrupted-load.js';
import { Turns } from '../lifecycle/turns.js';
import { within } from '../lifecycle/within.js';
import { readFolderModel } from '../repository/folder-model.js';
import { GivenFiles } from '../repository/given-files.js';
import { modelNamesIn } from '../repository/model-names.js';
import { isKept, readWantedModel, type WantedModel } from '../repository/wanted-model.js';
import { KnownModel, type LoadingVersion } from './known-model.js';
import { ModelBinding } from './model-binding.js';
import type { ModelBindings } from './model-bindings.js';

export interface FolderModelsOptions {
  readonly repositories: readonly string[];
  /** Models that are loaded without a client's request; undefined for all of them. */
  readonly names: readonly string[] | undefined;
  readonly disableAutoCompleteConfig: boolean;
  readonly bindings: ModelBindings;
  /** Refuses a model that does not fit the server's own options. Throws INVALID_ARG. */
  readonly check: (binding: ModelBinding) => void;
  /** Fires when the server stops; reading and loading then end. */
  readonly signal: () => AbortSignal;
  /** The server's log; undefined without a server. */
  readonly logger: () => Pick<Logger, 'error' | 'info'> | undefined;
}

interface ServeOptions {
  readonly now: boolean;
  readonly given: GivenFiles | undefined;
  /** Whether nothing is a client's own. */
  readonly isOfFolder: boolean;
}

/** The most models read at once, because each may start a thread. */
const MOST_AT_ONCE = 4;

export class FolderModels {
  readonly #options: FolderModelsOptions;
  readonly #known = new Map<string, KnownModel>();
  /** Changes of each model, in turn. */
  readonly #turns = new Turns();
  /** Models that the last poll left out. */
  readonly #leftOut = new Set<string>();
  #polling: Promise<void> = Promise.resolve();

  constructor(options: FolderModelsOptions) {
    this.#options = options;
  }

  /** The models that are read or loaded now. */
  get busy(): readonly string[] {
    return this.#turns.busy;
  }

  /** Models that could not be bound, as lines of the index. */
  get broken(): readonly RepositoryModel[] {
    return [...this.#known].flatMap(([name, model]) => model.broken(name));
  }

  /**
   * Brings all models to the state of their folders. With `again` it also retries versions that failed the last time.
   * Rejects when a repository cannot be read.
   */
  poll({ again = false }: { readonly again?: boolean } = {}): Promise<void> {
    this.#polling = this.#polling
      .catch(() => undefined)
      .then(() =>
        this.#poll(async (name, places) => {
          await this.#giveWay(name, places);
          await this.#look(name, places, again);
        }),
      );
    return this.#polling;
  }

  /**
   * The same without `again`, but a model that takes longer than so many seconds keeps no other waiting. Models that still load wait
   * for a later poll.
   */
  pollWithin(seconds: number): Promise<void> {
    return this.#poll(async (name, places) => {
      if (this.#turns.isBusy(name)) {
        if (!(await this.#giveWay(name, places))) this.#leaveOut(name);
        return;
      }
      this.#leftOut.delete(name);
      await within(this.#look(name, places, false), seconds);
    });
  }

  /** Whether the files of a load under way are no more as they were. Such a load ends soon: it may never come to an end. */
  async #giveWay(name: string, repositories: readonly string[]): Promise<boolean> {
    const known = this.#known.get(name);
    const loading = known?.loading;
    if (loading === undefined) return false;
    const wanted = await this.#read(name, repositories).catch(() => undefined);
    if (wanted === undefined || isKept(loading.state, wanted.states.get(loading.version))) return false;
    if (known?.loading === loading)
      loading.late ??= endLate(() => this.#options.bindings.endLoads(name, loading.version));
    return true;
  }

  /** Says so once. */
  #leaveOut(name: string): void {
    if (this.#leftOut.has(name)) return;
    this.#leftOut.add(name);
    this.#options
      .logger()
      ?.info(
        `the poll leaves out '${name}', which still loads; that ends when its files change or its folder is removed`,
      );
  }

  /** Never rejects. */
  #look(name: string, places: readonly string[], again: boolean): Promise<void> {
    return this.#turns.take(name, () => this.#refresh(name, places, again).catch(() => undefined));
  }

  async #poll(look: (name: string, places: readonly string[]) => Promise<void>): Promise<void> {
    const { names: wanted } = this.#options;
    const places = this.#places();
    const names = [...places.keys()].filter((name) => wanted === undefined || wanted.includes(name));
    for (const name of wanted ?? [])
      if (!places.has(name) && this.#options.bindings.find(name).length === 0) this.#missing(name);
    const gone = [...this.#known.keys()].filter((name) => wanted === undefined && !places.has(name));
    for (const name of gone) this.#options.bindings.endLoads(name);
    await inTurns([...names, ...gone], (name) => look(name, places.get(name) ?? []));
  }

  /** The repositories that each model lies in. Throws INVALID_ARG. */
  #places(): ReadonlyMap<string, readonly string[]> {
    const places = new Map<string, string[]>();
    for (const repository of this.#options.repositories) {
      let names: readonly string[];
      try {
        names = modelNamesIn(repository);
      } catch (error) {
        throw invalidArg(`cannot read the model repository ${repository}: ${TritonError.from(error).message}`, {
          cause: error,
        });
      }
      for (const name of names) places.set(name, [...(places.get(name) ?? []), repository]);
    }
    return places;
  }

  #missing(name: string): void {
    this.#model(name).failure = notPolled(name, 'no model repository has a folder of that name');
  }

  /** Brings a model to the state of its folder. Rejects with the reason when that fails. */
  async #refresh(name: string, repositories: readonly string[], again: boolean): Promise<void> {
    this.#options.signal().throwIfAborted();
    if (repositories.length === 0) return this.#remove(name);
    const known = this.#model(name);
    let wanted: WantedModel;
    try {
      wanted = await this.#read(name, repositories);
      known.failure = undefined;
    } catch (thrown) {
      const error = TritonError.from(thrown);
      // The same failure is logged only once.
      if (known.failure?.message !== error.message) this.#log(name, error);
      known.failure = error;
      throw error;
    }
    const changed = [...wanted.states].filter(
      ([version, state]) => known.hasChanged(version, state) || (again && known.hasFailed(version)),
    );
    await this.#serve(wanted, changed, { now: false, given: undefined, isOfFolder: true });
  }

  /**
   * Loads a model for a client, from its folder or from the client's own files. Versions that are ready and unchanged
   * stay. Resolves to false when neither a folder nor the client has the model. Rejects in Triton's words.
   */
  load(name: string, { config, files }: LoadParameters, ready: readonly string[]): Promise<boolean> {
    if (this.#known.get(name)?.loading !== undefined) void this.#giveWay(name, this.#places().get(name) ?? []);
    return this.#turns.take(name, async () => {
      const isBound = this.#isOfProgram(name);
      const repositories = this.#places().get(name) ?? [];
      const bringsFiles = Object.keys(files).length > 0;
      if (isBound || (repositories.length === 0 && !bringsFiles)) {
        // A model without its folder can no longer be loaded.
        if (!isBound && this.#known.has(name)) await this.#remove(name);
        return false;
      }
      const given = bringsFiles ? await GivenFiles.write(name, files, config) : undefined;
      const isNew = !this.#known.has(name);
      const known = this.#model(name);
      let wanted: WantedModel;
      try {
        wanted = await this.#read(name, given === undefined ? repositories : [given.repository], config);
        known.failure = undefined;
      } catch (thrown) {
        await given?.remove();
        const error = given?.told(thrown) ?? TritonError.from(thrown);
        known.failure = error;
        // Only this client asked for the model, and it reads the error. So the failure does not affect readiness.
        if (isNew) this.#known.delete(name);
        this.#log(name, error);
        throw notPolled(name, error.message);
      }
      const stale = [...wanted.states].filter(
        ([version, state]) =>
          known.hasChanged(version, state) || known.hasFailed(version) || !ready.includes(String(version)),
      );
      if (given !== undefined) known.files.add(given);
      try {
        await this.#serve(wanted, stale, { now: true, given, isOfFolder: config === undefined && !bringsFiles });
      } finally {
        // Where some versions failed, others may serve these files by now.
        await known.removeUnused();
      }
      return true;
    });
  }

  /** Removes the files that clients brought, after the server's end. */
  async close(): Promise<void> {
    await this.#polling.catch(() => undefined);
    await this.#turns.idle();
    // The next run does not have these models.
    const brought = [...this.#known].filter(([, { files }]) => files.size > 0);
    for (const [name] of brought) await this.#remove(name);
  }

  /** Throws INVALID_ARG when the program itself binds the name. */
  #read(name: string, repositories: readonly string[], config?: string): Promise<WantedModel> {
    if (repositories.length < 2 && this.#isOfProgram(name))
      throw invalidArg(`a model of that name is bound by the program; give the folder another name`);
    return readWantedModel(name, repositories, config);
  }

  /**
   * Serves the given versions, and then unbinds the others. When one fails, rejects with the reason and leaves the
   * others.
   */
  async #serve(
    { folder, written, states }: WantedModel,
    changed: readonly (readonly [version: number, state: string])[],
    { now, given, isOfFolder }: ServeOptions,
  ): Promise<void> {
    const { name } = folder;
    const known = this.#model(name);
    const { versions } = known;
    const signal = this.#options.signal();
    const failures = new Map<number, TritonError>();
    // The highest version comes first, because its policy counts.
    for (const [version, state] of changed.toSorted(([a], [b]) => b - a)) {
      const before = versions.get(version);
      let binding = before?.binding;
      let failure: TritonError | undefined;
      const loading: LoadingVersion = { version, state, late: undefined };
      if (isOfFolder) known.loading = loading;
      try {
        const isStrict = this.#options.disableAutoCompleteConfig;
        const isGiven = given !== undefined;
        const { model, more } = await readFolderModel(folder, written, { version, isStrict, isGiven, signal });
        const next = new ModelBinding(model, more);
        this.#options.check(next);
        // A first version that did not load stays bound, so that the index shows the reason.
        const isFirst = binding === undefined;
        if (isFirst) versions.set(version, { state, binding: (binding = next), failure: undefined, files: given });
        await this.#options.bindings.put(next, { now });
        binding = next;
      } catch (thrown) {
        failure = given?.told(thrown) ?? TritonError.from(thrown);
        failures.set(version, failure);
        if (!signal.aborted) this.#log(`${name}' version '${version}`, failure);
      } finally {
        loading.late?.clear();
        known.loading = undefined;
      }
      versions.set(version, { state, binding, failure, files: failure === undefined ? given : before?.files });
    }
    if (failures.size > 0) throw loadFailed(name, failures);
    for (const [version, { binding }] of versions) {
      if (states.has(version)) continue;
      versions.delete(version);
      if (binding !== undefined) await this.#unbind(binding);
    }
  }

  async #remove(name: string): Promise<void> {
    const known = this.#known.get(name);
    this.#known.delete(name);
    for (const { binding } of known?.versions.values() ?? []) if (binding !== undefined) await this.#unbind(binding);
    for (const files of known?.files ?? []) await files.remove();
  }

  async #unbind(binding: ModelBinding): Promise<void> {
    const { name, version } = binding.config;
    const { bindings } = this.#options;
    // The program may have unbound it already.
    if (bindings.find(name, version).length > 0) await bindings.remove(name, version);
  }

  #isOfProgram(name: string): boolean {
    return this.#options.bindings.find(name).some((binding) => !this.#isOurs(binding));
  }

  #isOurs(binding: ModelBinding): boolean {
    const { name, version } = binding.config;
    return (
      this.#known.get(name)?.versions.get(version)?.binding?.key === binding.key && binding.config.file !== undefined
    );
  }

  #model(name: string): KnownModel {
    const known = this.#known.get(name) ?? new KnownModel();
    this.#known.set(name, known);
    return known;
  }

  #log(name: string, error: TritonError): void {
    this.#options.logger()?.error(`failed to load '${name}': ${error.message}${ownFrames(error)}`);
  }
}

function notPolled(name: string, reason: string): TritonError {
  return invalidArg(`failed to load '${name}', failed to poll from model repository: ${reason}`);
}

/** Applies the action to all items, a few at a time. */
async function inTurns<T>(items: readonly T[], action: (item: T) => Promise<void>): Promise<void> {
  const left = items.values();
  const lane = async () => {
    for (const item of left) await action(item);
  };
  await Promise.all(Array.from({ length: MOST_AT_ONCE }, lane));
}
