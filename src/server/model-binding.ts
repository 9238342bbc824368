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
import type { ServerHandle } from './server-handle.js';

export class ModelBinding {
  readonly config: CompleteModelConfig;
  /** Settles when the model is loaded, or failed to; undefined while no server is there to load it. */
  loading: Promise<void> | undefined;
  readonly #callables: readonly Callable[];
  readonly #groups: readonly InstanceGroup[];
  readonly #setup: ((context: SetupContext) => Awaitable<void>) | undefined;
  readonly #teardown: (() => Awaitable<void>) | undefined;
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

  /** Sets the model up and has the server serve it; rejects with what went wrong, and nothing of it is left then. */
  async load(server: ServerHandle, onUnrecoverable: (error: TritonError) => void): Promise<void> {
    const { config } = this;
    const { logger } = server;
    const startedAt = performance.now();
    this.#threads = new InstanceThreads({
      config,
      groups: this.#groups,
      firstInstance: this.#callables.length,
      logger,
      onRestart: (port) => void server.attach(config, port).catch(() => port.close()),
      onUnrecoverable,
    });
    try {
      if (this.#callables.length > 0) {
        const { name: modelName, version: modelVersion } = config;
        await this.#setup?.({ modelName, modelVersion, modelConfig: config, instance: 0, args: undefined, logger });
        this.#isSetUp = true;
      }
      const ports = await this.#threads.start();
      const setupMs = performance.now() - startedAt;
      await server.load({ config, callables: this.#callables, ports, setupMs, onUnrecoverable });
    } catch (error) {
      await this.release();
      throw TritonError.from(error);
    }
  }

  /** Ends what the model needed, once no server uses it any more. */
  async release(): Promise<void> {
    this.loading = undefined;
    await this.#threads?.stop();
    this.#threads = undefined;
    if (!this.#isSetUp) return;
    this.#isSetUp = false;
    await this.#teardown?.();
  }
}

function expectFunction<F>(value: F | undefined, what: string): F | undefined {
  if (value === undefined || typeof value === 'function') return value;
  throw new TritonError('INVALID_ARG', `${what} must be a function, got ${typeof value}`);
}
