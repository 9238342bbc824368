// Reads the model repositories over the life of a `Triton`: at the start, repeatedly in poll mode, and for clients that
// load models. It reports models that could not be bound to the server.

import type { FoldersOfModels, LoadParameters } from '../core/client-loads.js';
import type { ModelControlMode } from '../core/model-control.js';
import { invalidArg, TritonError } from '../errors.js';
import { loadInterrupted } from '../lifecycle/interrupted-load.js';
import { FolderModels, type FolderModelsOptions } from './folder-models.js';
import type { ServerHandle } from './server-handle.js';

export interface PolledFoldersOptions extends Omit<FolderModelsOptions, 'names' | 'logger' | 'signal'> {
  readonly mode: ModelControlMode;
  /** The models that are loaded at the start, in explicit mode. */
  readonly loadModel: readonly string[];
  readonly pollSecs: number;
}

export class PolledFolders implements Pick<FoldersOfModels, 'load'> {
  readonly #models: FolderModels;
  readonly #options: PolledFoldersOptions;
  #server: ServerHandle | undefined;
  #timer: NodeJS.Timeout | undefined;
  #ticking: Promise<void> = Promise.resolve();
  /** Each server gets a new one. */
  #interruption = new AbortController();

  constructor(options: PolledFoldersOptions) {
    this.#options = options;
    const { mode, loadModel } = options;
    const names = mode === 'explicit' && !loadModel.includes('*') ? loadModel : undefined;
    const signal = () => this.#interruption.signal;
    this.#models = new FolderModels({ ...options, names, signal, logger: () => this.#server?.logger });
  }

  /** Whether a model could not be bound. */
  get areBroken(): boolean {
    return this.#models.broken.length > 0;
  }

  /**
   * Reads and binds the models; the server loads them later. With `exitOnError` it rejects with the reason of a broken
   * model.
   */
  async start(server: ServerHandle, { exitOnError }: { readonly exitOnError: boolean }): Promise<void> {
    this.#server = server;
    this.#interruption = new AbortController();
    await this.#models.poll({ again: true });
    const { broken } = this.#models;
    if (exitOnError && broken.length > 0) {
      const reasons = broken.map(({ name, reason }) =>
        reason.includes(`'${name}'`) ? reason : `'${name}': ${reason}`,
      );
      throw invalidArg(`failed to load all models: ${reasons.join('; ').trimEnd()}`);
    }
    await server.listBroken(broken);
  }

  /** The server loads its models, which may change from now on: a load may never come to an end. */
  begin(): void {
    if (this.#options.mode === 'poll') this.#schedule();
  }

  /** The server stops. Returns the names of the models whose loads end. */
  end(): readonly string[] {
    clearTimeout(this.#timer);
    this.#server = undefined;
    const interrupted = this.#models.busy;
    this.#interruption.abort(loadInterrupted());
    return interrupted;
  }

  /** Cleans up after the server's end. */
  async close(): Promise<void> {
    await this.#ticking;
    await this.#models.close();
  }

  /** Rejects when a repository cannot be read. */
  poll(): Promise<void> {
    return this.#listing(this.#models.poll());
  }

  /** The index then also lists the models that are broken. */
  async #listing(polled: Promise<void>): Promise<void> {
    try {
      await polled;
    } finally {
      await this.#server?.listBroken(this.#models.broken);
    }
  }

  async load(name: string, parameters: LoadParameters, ready: readonly string[]): Promise<boolean> {
    const server = this.#server;
    if (server === undefined) throw new TritonError('UNAVAILABLE', 'the server does not serve');
    try {
      return await this.#models.load(name, parameters, ready);
    } finally {
      await server.listBroken(this.#models.broken);
    }
  }

  // The pause begins at the end of a poll, so that polls never overlap.
  #schedule(): void {
    this.#timer = setTimeout(() => (this.#ticking = this.#tick()), this.#options.pollSecs * 1000);
  }

  // A model that loads for long, or for ever, keeps the others waiting for one pause at most.
  async #tick(): Promise<void> {
    try {
      await this.#listing(this.#models.pollWithin(this.#options.pollSecs));
    } catch (error) {
      this.#server?.logger.error(TritonError.from(error).message);
    }
    if (this.#server !== undefined) this.#schedule();
  }
}
