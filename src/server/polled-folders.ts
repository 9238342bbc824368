// The model repositories over the life of a `Triton`: read when it starts, looked at again from time to time where it polls, and
// for clients that load models. The server is told what could not be bound.

import type { FoldersOfModels, LoadParameters } from '../core/inference-server.js';
import type { ModelControlMode } from '../core/model-control.js';
import { invalidArg, TritonError } from '../errors.js';
import { loadInterrupted } from '../model/interrupted-load.js';
import { FolderModels, type FolderModelsOptions } from './folder-models.js';
import type { ServerHandle } from './server-handle.js';

export interface PolledFoldersOptions extends Omit<FolderModelsOptions, 'names' | 'logger' | 'signal'> {
  readonly mode: ModelControlMode;
  /** In explicit mode, what is loaded at first. */
  readonly loadModel: readonly string[];
  readonly pollSecs: number;
}

export class PolledFolders implements Pick<FoldersOfModels, 'load'> {
  readonly #models: FolderModels;
  readonly #options: PolledFoldersOptions;
  #server: ServerHandle | undefined;
  #timer: NodeJS.Timeout | undefined;
  /** Each server has another one. */
  #interruption = new AbortController();

  constructor(options: PolledFoldersOptions) {
    this.#options = options;
    const { mode, loadModel } = options;
    const names = mode === 'explicit' && !loadModel.includes('*') ? loadModel : undefined;
    const signal = () => this.#interruption.signal;
    this.#models = new FolderModels({ ...options, names, signal, logger: () => this.#server?.logger });
  }

  /** Whether a model could not even be bound. */
  get areBroken(): boolean {
    return this.#models.broken.length > 0;
  }

  /** Reads what is there; the server is to load what that binds. Rejects with what is broken, unless that is put up with. */
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

  /** The server serves: from now on its models change. */
  begin(): void {
    if (this.#options.mode === 'poll') this.#schedule();
  }

  /** The server stops. Gives the names of the models whose loads end. */
  end(): readonly string[] {
    clearTimeout(this.#timer);
    this.#server = undefined;
    const interrupted = this.#models.busy;
    this.#interruption.abort(loadInterrupted());
    return interrupted;
  }

  /** Nothing serves any more. */
  close(): Promise<void> {
    return this.#models.close();
  }

  /** Rejects when a repository cannot be read. */
  async poll(): Promise<void> {
    try {
      await this.#models.poll();
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

  // The next time is counted from the end of this one: a slow load is not overtaken.
  #schedule(): void {
    this.#timer = setTimeout(() => void this.#tick(), this.#options.pollSecs * 1000);
  }

  async #tick(): Promise<void> {
    try {
      await this.poll();
    } catch (error) {
      this.#server?.logger.error(TritonError.from(error).message);
    }
    if (this.#server !== undefined) this.#schedule();
  }
}
