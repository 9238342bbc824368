// A model as it was bound: its configuration and everything in the user's thread that it needs while it is served.

import { TritonError } from '../errors.js';
import { InstanceThreads } from '../link/instance-threads.js';
import type { Awaitable } from '../model/awaitable.js';
import type { BoundModel } from '../model/bound-model.js';
import type { Callable, ModelSpec } from '../model/callable.js';
import { checkCallables } from '../model/check-callables.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { completeModelConfig } from '../model/complete-model.js';
import { isInstanceGroup, type InstanceGroup } from '../model/instance-group.js';
import { instanceLogger } from '../model/instance-logger.js';
import type { Logger } from '../model/logger.js';
import { modelKey } from '../model/model-key.js';
import { runSetup, type Setup } from '../model/run-setup.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import type { HostedModel, OpenedModel, ServerHandle } from './server-handle.js';
import { loggedWait } from './waiting-log.js';

export class ModelBinding implements HostedModel {
  readonly config: CompleteModelConfig;
  /** Settles when the model is loaded, or failed to; undefined while no server is there to load it. */
  loading: Promise<void> | undefined;
  /** Told when no further inference is possible. */
  onUnrecoverable: (error: TritonError) => void = () => undefined;
  readonly #callables: readonly Callable[];
  readonly #groups: readonly InstanceGroup[];
  readonly #setup: Setup | undefined;
  readonly #teardown: (() => Awaitable<void>) | undefined;
  #server: ServerHandle | undefined;
  #logger: Logger | undefined;
  #opening: Promise<OpenedModel> | undefined;
  /** Why it could not be opened the last time, as it was thrown. */
  #failure: TritonError | undefined;
  #threads: InstanceThreads | undefined;
  #isSetUp = false;
  #isLoaded = false;

  /** Throws INVALID_ARG for anything that cannot work. */
  constructor(model: BoundModel<TensorSpecs, TensorSpecs, boolean>) {
    const sources = checkCallables(model.inferFunc, model.modelName);
    const instances = sources.reduce((sum, source) => sum + (isInstanceGroup(source) ? source.count : 1), 0);
    this.config = completeModelConfig(model as ModelSpec, instances);
    checkCallables(sources, model.modelName, this.config);
    this.#callables = sources.filter((source): source is Callable => !isInstanceGroup(source));
    this.#groups = sources.filter(isInstanceGroup);
    this.#setup = this.#hook('setup', model.setup);
    this.#teardown = this.#hook('teardown', model.teardown);
  }

  get key(): string {
    return modelKey(this.config);
  }

  /** Whether it is loaded and has an instance that lives; what clients have unloaded is ready to be loaded again. */
  get isReady(): boolean {
    if (!this.#isLoaded) return false;
    return this.#threads === undefined || this.#callables.length > 0 || this.#threads.living > 0;
  }

  #hook<F>(name: 'setup' | 'teardown', hook: F | undefined): F | undefined {
    const what = `${name} of model '${this.config.name}'`;
    if (hook === undefined) return undefined;
    if (typeof hook !== 'function') throw invalid(`${what} must be a function, got ${typeof hook}`);
    if (this.#callables.length > 0) return hook;
    throw invalid(
      `${what} is for callables of this thread, and there are none; export ${name} from the group's module`,
    );
  }

  /** Has the server serve the model, which sets it up; rejects with what went wrong, and nothing of it is left then. */
  async load(server: ServerHandle): Promise<void> {
    this.#server = server;
    this.#failure = undefined;
    try {
      await server.load(this);
      // Unless it was released meanwhile.
      this.#isLoaded = this.#server === server;
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
    const opened = this.#opening?.catch(() => undefined);
    if (opened !== undefined) await this.#logged(opened, 'is set up');
    this.#opening = undefined;
    await this.#release();
  }

  /** No server serves the model any more. */
  async release(): Promise<void> {
    this.#isLoaded = false;
    this.loading = undefined;
    this.#server = undefined;
    await this.close();
  }

  async #open(): Promise<OpenedModel> {
    const { config } = this;
    const { logger, tracing } = this.#server!;
    this.#logger = logger;
    this.#threads = new InstanceThreads({
      config,
      groups: this.#groups,
      firstInstance: this.#callables.length,
      logger,
      onRestart: (port) => void this.#server?.attach(config, port).catch(() => port.close()),
      onUnrecoverable: (error) => this.onUnrecoverable(error),
      traces: tracing !== undefined,
    });
    try {
      if (this.#callables.length > 0) {
        const { name: modelName, version: modelVersion } = config;
        const own = instanceLogger(logger, config, 0);
        const context = { modelName, modelVersion, modelConfig: config, instance: 0, args: undefined, logger: own };
        await runSetup(this.#setup, context);
        this.#isSetUp = true;
      }
      return { callables: this.#callables, ports: await this.#threads.start() };
    } catch (error) {
      this.#failure = TritonError.from(error);
      await this.#release();
      throw this.#failure;
    }
  }

  /** A stop that waits for something of the user's says so. */
  #logged<T>(promise: Promise<T>, until: string): Promise<T> {
    return loggedWait(promise, this.#logger, `model '${this.config.name}' until it ${until}`);
  }

  async #release(): Promise<void> {
    const threads = this.#threads;
    this.#threads = undefined;
    if (threads !== undefined) await this.#logged(threads.stop(), 'has torn down its instance threads');
    if (!this.#isSetUp) return;
    this.#isSetUp = false;
    const teardown = this.#teardown;
    try {
      if (teardown !== undefined) await this.#logged(Promise.resolve(teardown()), 'is torn down');
    } catch (error) {
      this.#logger?.error(`teardown of model '${this.config.name}' failed: ${TritonError.from(error).message}`);
    }
  }
}

function invalid(message: string): TritonError {
  return new TritonError('INVALID_ARG', message);
}
