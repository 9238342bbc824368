// Keeps the bound models by name and version, and loads them on the server while there is one. Changes of one name and
// version run in turn, so that the last call decides. A model may be replaced while it loads, or unbound while it is
// replaced.

import { TritonError, TritonUnrecoverableError } from '../errors.js';
import { matchOpenAiRoute } from '../frontend/openai/openai-routes.js';
import { endLate, loadInterrupted, loadSuperseded } from '../lifecycle/interrupted-load.js';
import { Turns } from '../lifecycle/turns.js';
import type { ModelBinding } from './model-binding.js';
import type { EndableLoad, HostedLoad, ServerHandle } from './server-handle.js';

/** The options of `bind`. */
export interface BindOptions {
  /** Whether the model replaces a bound model of its name and version, if there is one. Default: false. */
  readonly replace?: boolean;
}

/** A model that gets no new requests, and finishes those under way. */
export interface Retirement {
  /** Resolves when its last request has ended. */
  readonly ended: Promise<void>;
}

/** The binding of a name and version, from `bind` to `unbind`. */
interface Place {
  binding: ModelBinding;
  /** The last `bind` that replaces the binding, until it has loaded or failed. */
  replacing?: Promise<void> | undefined;
  /** The changes that load and are not over, in turn, by what ends their loads. */
  readonly loads: Map<AbortController, Promise<unknown>>;
}

const HOW_TO_REPLACE = '; use rebind to replace it, or bind with { replace: true } where it may be there';

export class ModelBindings {
  readonly #places = new Map<string, Place>();
  /** Bindings that load to replace a bound one. */
  readonly #replacing = new Set<ModelBinding>();
  /** Unbound bindings that answer their last requests. */
  readonly #retiring = new Set<ModelBinding>();
  /** Unbound bindings that a server may serve until it has stopped. */
  readonly #leftBehind = new Set<ModelBinding>();
  /** Released bindings whose code in this thread goes on. */
  readonly #endless = new Set<ModelBinding>();
  /** Changes of each name and version, in turn. */
  readonly #turns = new Turns();
  readonly #onUnrecoverable: (error: TritonError) => void;
  #server: ServerHandle | undefined;
  /**
   * Set while a stopping server answers its last requests and takes no more changes. `over` resolves when everything is
   * released.
   */
  #stopping: { readonly over: Promise<void>; readonly end: () => void } | undefined;

  /** `onUnrecoverable` is called when a model throws an unrecoverable error. */
  constructor(onUnrecoverable: (error: TritonError) => void) {
    this.#onUnrecoverable = onUnrecoverable;
  }

  /** Whether every model is loaded and has a live instance. */
  get areReady(): boolean {
    return this.find().every(({ isReady }) => isReady);
  }

  /** All models, or all versions of one name, or one version. */
  find(name?: string, version?: number): readonly ModelBinding[] {
    return Array.from(this.#places.values(), ({ binding }) => binding).filter(
      ({ config }) =>
        (name === undefined || config.name === name) && (version === undefined || config.version === version),
    );
  }

  /** The loads of all models, or of one name, that decide whether they are there. When a replacement fails, the old binding stays. */
  loads(name?: string): readonly Promise<void>[] {
    return [...this.#places.values()].flatMap(({ binding, replacing }) => {
      if (name !== undefined && binding.config.name !== name) return [];
      return replacing ?? binding.loading ?? [];
    });
  }

  /**
   * Adds a binding, and loads it in the background where there is a server. Throws ALREADY_EXISTS for a bound name and
   * version, unless `replace` is set, which also ends the loads before. No options: bound models cannot be replaced here.
   */
  add(binding: ModelBinding, options?: BindOptions): void {
    const { replace = false } = options ?? {};
    const { name, version } = binding.config;
    this.#checkRoute(binding);
    const place = this.#places.get(binding.key);
    if (place !== undefined && replace) {
      endLoads(place.loads.keys());
      const loading = this.replace(binding).then(() => undefined);
      binding.loading = loading;
      place.replacing = loading;
      const over = () => {
        if (place.replacing === loading) place.replacing = undefined;
      };
      loading.then(over, over);
      return;
    }
    if (place !== undefined) {
      throw new TritonError(
        'ALREADY_EXISTS',
        `Cannot add model with the same name twice: '${name}' version ${version} is bound${options === undefined ? '' : HOW_TO_REPLACE}`,
      );
    }
    void this.#put(binding);
  }

  /** Adds a binding, and loads it where there is a server. */
  #put(binding: ModelBinding, options?: HostedLoad): Promise<void> | undefined {
    const place: Place = { binding, loads: new Map() };
    this.#places.set(binding.key, place);
    return this.#server && this.#load(place, this.#server, options);
  }

  /** Whether a bound model is served at this path, which is none of Triton's protocol: at its own route, or for the OpenAI API. */
  hasPath(path: string): boolean {
    const isOpenAi = matchOpenAiRoute(path) !== undefined;
    return this.find().some(({ config: { route, openai } }) => route === path || (isOpenAi && openai !== undefined));
  }

  /** Versions of one model may share a route. Throws ALREADY_EXISTS for the route of another model. */
  #checkRoute({ config: { name, route } }: ModelBinding): void {
    if (route === undefined) return;
    const other = this.find().find(({ config }) => config.route === route && config.name !== name);
    if (other !== undefined) {
      throw new TritonError(
        'ALREADY_EXISTS',
        `route 'POST ${route}' of model '${name}' is the route of model '${other.config.name}'`,
      );
    }
  }

  /** Resolves when the new binding serves. When it does not load, the old one stays. Rejects with NOT_FOUND. */
  async replace(binding: ModelBinding, options?: HostedLoad): Promise<Retirement> {
    this.#checkRoute(binding);
    const place = this.#places.get(binding.key);
    if (place === undefined) throw notBound(binding, 'is not bound');
    if (this.#server === undefined) {
      this.#leftBehind.add(place.binding);
      place.binding = binding;
      return AT_ONCE;
    }
    const before = [...place.loads.keys()];
    const late = endLate(() => endLoads(before));
    return this.#inTurn(place, (signal) => {
      late.clear();
      return this.#replace(binding, place, { ...options, signal });
    });
  }

  /** Makes a change that loads, after the earlier changes of its place. */
  #inTurn<T>(place: Place, change: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const ending = new AbortController();
    const changed = this.#turns
      .take(place.binding.key, () => change(ending.signal))
      .finally(() => place.loads.delete(ending));
    place.loads.set(ending, changed);
    return changed;
  }

  /**
   * Binds a model to its name and version, and waits until it is loaded. An old binding stays when the new one does not
   * load. Without a server the model is only recorded.
   */
  async put(binding: ModelBinding, options?: HostedLoad): Promise<void> {
    this.#checkRoute(binding);
    if (this.#places.has(binding.key)) await this.replace(binding, options);
    else await this.#put(binding, options);
  }

  async #replace(binding: ModelBinding, place: Place, load: EndableLoad): Promise<Retirement> {
    const { key } = binding;
    const isThere = () => this.#places.get(key) === place;
    if (!isThere()) throw notBound(binding, 'was unbound before it was replaced');
    const server = this.#server;
    if (server !== undefined) {
      load.signal.throwIfAborted();
      this.#replacing.add(binding);
      try {
        await this.#loadOn(server, binding, load);
      } catch (error) {
        // Where the load was ended, its code may take a while to end.
        if (this.#server === server) await this.#releaseNow(binding);
        throw isThere() ? error : notBound(binding, UNBOUND_MEANWHILE);
      } finally {
        this.#replacing.delete(binding);
      }
      if (this.#server !== server) {
        await this.#release(binding);
        throw loadInterrupted();
      }
      if (!isThere()) {
        // An `unbind` that came meanwhile has a later turn, and unloads this model, unless the server stops before.
        this.#leftBehind.add(binding);
        throw notBound(binding, UNBOUND_MEANWHILE);
      }
    }
    const old = place.binding;
    place.binding = binding;
    return this.#retire(old, server);
  }

  /** Ends the loads of all versions of a name, or of one: their code may never come to an end. */
  endLoads(name: string, version?: number): void {
    for (const { key } of this.find(name, version)) endLoads(this.#places.get(key)!.loads.keys());
  }

  /** Resolves when the models get no more requests. Rejects with NOT_FOUND. */
  async remove(name: string, version: number | undefined): Promise<Retirement> {
    const removed = this.find(name, version);
    if (removed.length === 0) throw new TritonError('NOT_FOUND', `model '${name}' is not bound`);
    this.endLoads(name, version);
    for (const { key } of removed) this.#places.delete(key);
    const retirements = await Promise.all(
      removed.map((binding) => this.#turns.take(binding.key, () => this.#unload(binding))),
    );
    const ended = Promise.all(retirements.map((retirement) => retirement.ended)).then(() => undefined);
    ended.catch(() => undefined);
    return { ended };
  }

  async #unload(binding: ModelBinding): Promise<Retirement> {
    const server = this.#server;
    try {
      await server?.unload(binding.config);
    } catch (error) {
      await this.#release(binding);
      throw error;
    }
    if (server !== undefined) {
      for (const behind of this.#leftBehind) {
        if (behind.key === binding.key && this.#leftBehind.delete(behind)) this.#retire(behind, server);
      }
    }
    return this.#retire(binding, server);
  }

  /** Releases an unbound model when it has answered its last request. Nobody has to wait for that. */
  #retire(binding: ModelBinding, server: ServerHandle | undefined): Retirement {
    const end = async () => {
      this.#retiring.add(binding);
      try {
        await server?.retired(binding.config);
      } finally {
        this.#retiring.delete(binding);
        await this.#release(binding);
      }
    };
    const ended = end();
    ended.catch(() => undefined);
    return { ended };
  }

  /** Releases an unbound model. A stopping server may still answer requests on it, and then releases it itself. */
  async #release(binding: ModelBinding): Promise<void> {
    if (this.#stopping === undefined) return this.#releaseNow(binding);
    this.#leftBehind.add(binding);
    await this.#stopping.over;
  }

  async #releaseNow(binding: ModelBinding): Promise<void> {
    try {
      await binding.release();
    } finally {
      for (const other of this.#endless) if (!other.isLeftBehind) this.#endless.delete(other);
      if (binding.isLeftBehind) this.#endless.add(binding);
    }
  }

  /**
   * Loads all models. With `exitOnError` it rejects with the reason of the first that did not load, unless a later change counts
   * instead. Later bindings load at once.
   */
  async loadAll(server: ServerHandle, { exitOnError }: { readonly exitOnError: boolean }): Promise<void> {
    this.#server = server;
    const loads = Array.from(this.#places.values(), (place) => this.#last(place, this.#load(place, server)));
    if (exitOnError) await Promise.all(loads);
    else await Promise.allSettled(loads);
  }

  /** Settles as the last change of a place does. One that was unbound has no more to load. */
  async #last(place: Place, load: Promise<unknown>): Promise<void> {
    try {
      await load;
    } catch (error) {
      if (this.#places.get(place.binding.key) !== place) return;
      const later = [...place.loads.values()].at(-1);
      if (later === undefined) throw error;
      await this.#last(place, later);
    }
  }

  /**
   * Takes no more changes to the server, which answers its last requests until {@link releaseAll}. Ends the loads under
   * way, and returns their models.
   */
  detach(): readonly ModelBinding[] {
    this.#server = undefined;
    let end!: () => void;
    const over = new Promise<void>((resolve) => (end = resolve));
    this.#stopping = { over, end };
    for (const { loads } of this.#places.values()) endLoads(loads.keys(), loadInterrupted());
    return this.#all.filter((binding) => binding.interrupt());
  }

  /** The bound models, and the unbound ones that a server may still have. */
  get #all(): readonly ModelBinding[] {
    return [...this.find(), ...this.#replacing, ...this.#retiring, ...this.#leftBehind];
  }

  /** Whether code of a model still runs, without anything that waits for it. */
  get areLeftBehind(): boolean {
    return [...this.#all, ...this.#endless].some(({ isLeftBehind }) => isLeftBehind);
  }

  /** Releases all models after the server's end; they stay bound. */
  async releaseAll(): Promise<void> {
    this.#server = undefined;
    const stopping = this.#stopping;
    this.#stopping = undefined;
    const all = this.#all;
    this.#leftBehind.clear();
    try {
      await Promise.all(all.map((binding) => this.#releaseNow(binding)));
    } finally {
      stopping?.end();
    }
  }

  #load(place: Place, server: ServerHandle, options?: HostedLoad): Promise<void> {
    const { binding } = place;
    const loading = this.#inTurn(place, async (signal) => {
      if (this.#server !== server) throw loadInterrupted();
      signal.throwIfAborted();
      await this.#loadOn(server, binding, { ...options, signal });
    });
    // Callers that wait for the load get the reason; nobody has to wait.
    loading.catch(() => undefined);
    binding.loading = loading;
    return loading;
  }

  async #loadOn(server: ServerHandle, binding: ModelBinding, load: EndableLoad): Promise<void> {
    binding.onUnrecoverable = this.#onUnrecoverable;
    try {
      await binding.load(server, load);
    } catch (error) {
      if (TritonUnrecoverableError.is(error)) this.#onUnrecoverable(error);
      throw this.#server === server ? error : loadInterrupted();
    }
  }
}

function endLoads(loads: Iterable<AbortController>, reason = loadSuperseded()): void {
  for (const load of loads) load.abort(reason);
}

const UNBOUND_MEANWHILE = 'was unbound while it was replaced';

const AT_ONCE: Retirement = { ended: Promise.resolve() };

function notBound({ config: { name, version } }: ModelBinding, what: string): TritonError {
  return new TritonError('NOT_FOUND', `model '${name}' version ${version} ${what}`);
}
