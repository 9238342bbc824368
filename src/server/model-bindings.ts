// The bound models by name and version, on the server while there is one. What is done to one of them is done in turn:
// a model that is replaced while it loads, or unbound while it is replaced, ends as the last call wants it.

import { TritonError, TritonUnrecoverableError } from '../errors.js';
import { loadInterrupted } from '../model/interrupted-load.js';
import { Turns } from '../model/turns.js';
import type { ModelBinding } from './model-binding.js';
import type { HostedLoad, ServerHandle } from './server-handle.js';

/** How `bind` takes a model. */
export interface BindOptions {
  /** Whether it takes the place of a model of its name and version, if there is one. Default: false. */
  readonly replace?: boolean;
}

/** What is served no more, but for the requests that are under way on it. */
export interface Retirement {
  /** When the last of them has ended. */
  readonly ended: Promise<void>;
}

/** What is bound to a name and version, from `bind` to `unbind`. */
interface Place {
  binding: ModelBinding;
}

export class ModelBindings {
  readonly #places = new Map<string, Place>();
  /** Those that load to take the place of a bound one. */
  readonly #replacing = new Set<ModelBinding>();
  /** Those that are bound no more, and answer their last requests. */
  readonly #retiring = new Set<ModelBinding>();
  /** Those that are bound no more, but that a server may serve until it has stopped. */
  readonly #leftBehind = new Set<ModelBinding>();
  /** What happens to each name and version. */
  readonly #turns = new Turns();
  readonly #onUnrecoverable: (error: TritonError) => void;
  #server: ServerHandle | undefined;
  /** There while a server that takes no more changes answers what is under way; `over` when everything is released. */
  #stopping: { readonly over: Promise<void>; readonly end: () => void } | undefined;

  /** `onUnrecoverable` is called when a model says that no further inference is possible. */
  constructor(onUnrecoverable: (error: TritonError) => void) {
    this.#onUnrecoverable = onUnrecoverable;
  }

  /** Whether every model is loaded and has an instance that lives. */
  get areReady(): boolean {
    return this.find().every(({ isReady }) => isReady);
  }

  /** All models, or those of one name, or the one of that version. */
  find(name?: string, version?: number): readonly ModelBinding[] {
    return Array.from(this.#places.values(), ({ binding }) => binding).filter(
      ({ config }) =>
        (name === undefined || config.name === name) && (version === undefined || config.version === version),
    );
  }

  /** Loads it in the background where there is a server. Throws ALREADY_EXISTS unless it may replace what is there. */
  add(binding: ModelBinding, { replace = false }: BindOptions = {}): void {
    const { name, version } = binding.config;
    const place = this.#places.get(binding.key);
    if (place !== undefined && replace) {
      const { binding: old } = place;
      const { loading } = old;
      binding.loading = this.replace(binding).then(() => undefined);
      // Whoever waits for the model waits for this; nobody has to. When it fails, what was there is there.
      old.loading = binding.loading;
      old.loading.catch(() => (old.loading = loading));
      return;
    }
    if (place !== undefined) {
      throw new TritonError(
        'ALREADY_EXISTS',
        `Cannot add model with the same name twice: '${name}' version ${version} is bound; use rebind to replace it, or bind with { replace: true } where it may be there`,
      );
    }
    this.#places.set(binding.key, { binding });
    if (this.#server !== undefined) void this.#load(binding, this.#server);
  }

  /** Resolves when it serves; the old one stays when it does not load. Rejects with NOT_FOUND. */
  async replace(binding: ModelBinding): Promise<Retirement> {
    const place = this.#places.get(binding.key);
    if (place === undefined) throw notBound(binding, 'is not bound');
    if (this.#server !== undefined) return this.#turns.take(binding.key, () => this.#replace(binding, place));
    this.#leftBehind.add(place.binding);
    place.binding = binding;
    return AT_ONCE;
  }

  /**
   * Puts a model into its place, whether there is one in it or not, and waits until it is loaded. Where there was one it stays when
   * the new one does not load. Without a server it is only recorded.
   */
  async put(binding: ModelBinding, options: HostedLoad = {}): Promise<void> {
    const place = this.#places.get(binding.key);
    const server = this.#server;
    if (place === undefined) {
      this.#places.set(binding.key, { binding });
      if (server !== undefined) await this.#load(binding, server, options);
    } else if (server === undefined) await this.replace(binding);
    else await this.#turns.take(binding.key, () => this.#replace(binding, place, options));
  }

  async #replace(binding: ModelBinding, place: Place, options: HostedLoad = {}): Promise<Retirement> {
    const { key } = binding;
    const isThere = () => this.#places.get(key) === place;
    if (!isThere()) throw notBound(binding, 'was unbound before it was replaced');
    const server = this.#server;
    if (server !== undefined) {
      this.#replacing.add(binding);
      try {
        await this.#loadOn(server, binding, options);
      } finally {
        this.#replacing.delete(binding);
      }
      if (this.#server !== server) {
        await this.#release(binding);
        throw loadInterrupted();
      }
      if (!isThere()) {
        // Whoever unbound it meanwhile has a later turn, and unloads this one, unless the server stops before.
        this.#leftBehind.add(binding);
        throw notBound(binding, 'was unbound while it was replaced');
      }
    }
    const old = place.binding;
    place.binding = binding;
    return this.#retire(old, server);
  }

  /** Resolves when they are served no more. Rejects with NOT_FOUND. */
  async remove(name: string, version: number | undefined): Promise<Retirement> {
    const removed = this.find(name, version);
    if (removed.length === 0) throw new TritonError('NOT_FOUND', `model '${name}' is not bound`);
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
    return this.#retire(binding, server);
  }

  /** Releases what is bound no more when it has answered its last request. Nobody has to wait for that. */
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

  /** It is bound no more. A server that stops may still answer what is under way on it, and releases it then. */
  async #release(binding: ModelBinding): Promise<void> {
    if (this.#stopping === undefined) return binding.release();
    this.#leftBehind.add(binding);
    await this.#stopping.over;
  }

  /** Rejects with the first that did not load, unless those are put up with. What is bound from now on loads at once. */
  async loadAll(server: ServerHandle, { exitOnError }: { readonly exitOnError: boolean }): Promise<void> {
    this.#server = server;
    const loads = this.find().map((binding) => this.#load(binding, server));
    if (exitOnError) await Promise.all(loads);
    else await Promise.allSettled(loads);
  }

  /**
   * The server takes no more changes, and answers what is under way until {@link releaseAll}. Loads that are under way end.
   * Gives the models whose loads end.
   */
  detach(): readonly ModelBinding[] {
    this.#server = undefined;
    let end!: () => void;
    const over = new Promise<void>((resolve) => (end = resolve));
    this.#stopping = { over, end };
    return this.#all.filter((binding) => binding.interrupt());
  }

  /** The bound ones, and those that a server may have all the same. */
  get #all(): readonly ModelBinding[] {
    return [...this.find(), ...this.#replacing, ...this.#retiring, ...this.#leftBehind];
  }

  /** Whether code of a model goes on that nothing waits for. */
  get areLeftBehind(): boolean {
    return this.#all.some(({ isLeftBehind }) => isLeftBehind);
  }

  /** No server serves them any more; they stay bound. */
  async releaseAll(): Promise<void> {
    this.#server = undefined;
    const stopping = this.#stopping;
    this.#stopping = undefined;
    const all = this.#all;
    this.#leftBehind.clear();
    try {
      await Promise.all(all.map((binding) => binding.release()));
    } finally {
      stopping?.end();
    }
  }

  #load(binding: ModelBinding, server: ServerHandle, options: HostedLoad = {}): Promise<void> {
    const loading = this.#turns.take(binding.key, async () => {
      if (this.#server !== server) throw loadInterrupted();
      await this.#loadOn(server, binding, options);
    });
    // Whoever waits for it gets the reason; nobody has to.
    loading.catch(() => undefined);
    binding.loading = loading;
    return loading;
  }

  async #loadOn(server: ServerHandle, binding: ModelBinding, options: HostedLoad): Promise<void> {
    binding.onUnrecoverable = this.#onUnrecoverable;
    try {
      await binding.load(server, options);
    } catch (error) {
      if (TritonUnrecoverableError.is(error)) this.#onUnrecoverable(error);
      throw this.#server === server ? error : loadInterrupted();
    }
  }
}

const AT_ONCE: Retirement = { ended: Promise.resolve() };

function notBound({ config: { name, version } }: ModelBinding, what: string): TritonError {
  return new TritonError('NOT_FOUND', `model '${name}' version ${version} ${what}`);
}
