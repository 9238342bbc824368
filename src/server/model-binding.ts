// A model as it was bound: its configuration and everything in the user's thread that it needs while it is served.

import { TritonError } from '../errors.js';
import { InstanceThreads } from '../link/instance-threads.js';
import type { Awaitable } from '../model/awaitable.js';
import type { BoundModel, Callable, ModelSpec } from '../model/callable.js';
import { checkCallables } from '../model/check-callables.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { completeModelConfig } from '../model/complete-model.js';
import { isInstanceGroup, type InstanceGroup } from '../model/instance-group.js';
import type { SetupContext } from '../model/setup-context.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import type { HostedModel, OpenedModel, ServerHandle } from './server-handle.js';

export class ModelBinding implements HostedModel {
  readonly config: CompleteModelConfig;
  /** Settles when the model is loaded, or failed to; undefined while no server is there to load it. */
  loading: Promise<void> | undefined;
  /** Told when no further inference is possible. */
  onUnrecoverable: (error: TritonError) => void = () => undefined;
  readonly #callables: readonly Callable[];
  readonly #groups: readonly InstanceGroup[];
  readonly #setup: ((context: SetupContext) => Awaitable<void>) | undefined;
  readonly #teardown: (() => Awaitable<void>) | undefined;
  #server: ServerHandle | undefined;
  #opening: Promise<OpenedModel> | undefined;
  /** Why it could not be opened the last time, as it was thrown. */
  #failure: TritonError | undefined;
  #threads: InstanceThreads | undefined;
  #isSetUp = false;

  /** Throws INVALID_ARG for anything that cannot work. */
  constructor(model: BoundModel<TensorSpecs, TensorSpecs, boolean>) {
    const sources = checkCallables(model.inferFunc, model.modelName);
    const instances = sources.reduce((sum, source) => sum + (isInstanceGroup(source) ? source.count : 1), 0);
    this.config = completeModelConfig(model as ModelSpec, instances);
    checkCallables(sources, model.modelName, this.config);
    this.#callables = sources.filter((source): source is Callable => !isInstanceGroup(source));
    this.#groups = sources.filter(isInstanceGroup);
    this.#setup = expectFunction(model.setup, `setup of model '${this.config.name}'`);
    this.#teardown = expectFunction(model.teardown, `teardown of model '${this.config.name}'`);
  }

  get key(): string {
    return `${this.config.name}/${this.config.version}`;
  }

  /** Has the server serve the model, which sets it up; rejects with what went wrong, and nothing of it is left then. */
  async load(server: ServerHandle): Promise<void> {
    this.#server = server;
    this.#failure = undefined;
    try {
      await server.load(this);
    } catch (error) {
      await this.close();
      // As it was thrown, not as it came back from the server's thread.
      throw this.#failure ?? TritonError.from(error);
    }
  }

  /** Called by the server for every load. Rejects with what went wrong, and nothing of it is left then. */
  open(): Promise<OpenedModel> {
    return (this.#opening = this.#open());
  }

  /** Ends what the model needed while it was loaded. Idempotent. */
  async close(): Promise<void> {
    await this.#opening?.catch(() => undefined);
    this.#opening = undefined;
    await this.#release();
  }

  /** No server serves the model any more. */
  async release(): Promise<void> {
    this.loading = undefined;
    this.#server = undefined;
    await this.close();
  }

  async #open(): Promise<OpenedModel> {
    const { config } = this;
    const { logger } = this.#server!;
    this.#threads = new InstanceThreads({
      config,
      groups: this.#groups,
      firstInstance: this.#callables.length,
      logger,
      onRestart: (port) => void this.#server?.attach(config, port).catch(() => port.close()),
      onUnrecoverable: (error) => this.onUnrecoverable(error),
    });
    try {
      if (this.#callables.length > 0) {
        const { name: modelName, version: modelVersion } = config;
        await this.#setup?.({ modelName, modelVersion, modelConfig: config, instance: 0, args: undefined, logger });
        this.#isSetUp = true;
      }
      return { callables: this.#callables, ports: await this.#threads.start() };
    } catch (error) {
      this.#failure = TritonError.from(error);
      await this.#release();
      throw this.#failure;
    }
  }

  async #release(): Promise<void> {
    const threads = this.#threads;
    this.#threads = undefined;
    await threads?.stop();
    if (!this.#isSetUp) return;
    this.#isSetUp = false;
    await this.#teardown?.();
  }
}

function expectFunction<F>(value: F | undefined, what: string): F | undefined {
  if (value === undefined || typeof value === 'function') return value;
  throw new TritonError('INVALID_ARG', `${what} must be a function, got ${typeof value}`);
}
