// Holds a bound model: its configuration, and its callables, `setup` and openings in the user's thread.

import { expectObject } from '../checks/check.js';
import { invalidArg, TritonError } from '../errors.js';
import { hostedCallable, type HostedCallable } from '../host/callable-turns.js';
import type { Awaitable } from '../model/awaitable.js';
import type { BoundModel } from '../model/bound-model.js';
import type { Callable, ModelSpec } from '../model/callable.js';
import { type SequenceStateSource, sequenceStateSource } from '../model/sequence-state-source.js';
import { checkCallables, refuseMisspeltCallable } from '../model/check-callables.js';
import { checkModelName } from '../model/complete-signature.js';
import { type CompleteModelConfig, modelKey } from '../model/complete-model-config.js';
import { completeModelConfig } from '../model/complete-model.js';
import { type InstanceGroup, isInstanceGroup } from '../model/instance-group.js';
import { INTERRUPTION_GRACE, loadInterrupted, unlessInterrupted } from '../lifecycle/interrupted-load.js';
import { joinSignals } from '../lifecycle/join-signals.js';
import { instanceLogger, type Logger } from '../observability/logger.js';
import { runSetup, type Setup, setupContext, TEARDOWN_GRACE } from '../model/run-setup.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import { ServedTimer } from '../pacing/served-timer.js';
import { ModelOpening } from './model-opening.js';
import type { EndableLoad, HostedModel, ServerHandle } from './server-handle.js';
import { loggedWait } from './waiting-log.js';

export class ModelBinding implements HostedModel {
  readonly config: CompleteModelConfig;
  /** Settles when the model has loaded or failed to load; undefined without a server. */
  loading: Promise<void> | undefined;
  /** Called when no further inference is possible. */
  onUnrecoverable: (error: TritonError) => void = () => undefined;
  /** Whether the server serves the model. Clients may load an unloaded model again. */
  isReady = false;
  readonly #sources: readonly (Callable | InstanceGroup)[];
  /**
   * The callables of this thread. Overlapping loads take turns. A finished load that left a running call behind does
   * not delay others.
   */
  #callables: readonly HostedCallable[];
  readonly #groups: readonly InstanceGroup[];
  readonly #state: SequenceStateSource | undefined;
  readonly #setup: Setup | undefined;
  readonly #teardown: (() => Awaitable<void>) | undefined;
  #server: ServerHandle | undefined;
  #logger: Logger | undefined;
  /** The model's openings: none while it is not loaded, several while one load replaces another. */
  readonly #openings = new Map<ModelOpening, Promise<void>>();
  /** Ends the loads under way. Each server gets a new one. */
  #interruption = new AbortController();
  /** Loads that are not set up yet. */
  #starting = 0;
  /** Loads that need the `setup` of this thread; `teardown` runs after the last of them. */
  #users = 0;
  /** Settles after the running `setup` or `teardown`; never rejects. */
  #hooks: Promise<void> = Promise.resolve();
  /** Whether a `setup` ignored its signal: nothing waits for it, nor for its `teardown`. */
  #isLeftBehind = false;
  /** Calls of `teardown` that still run, though nothing waits for them any more. */
  #endlessTeardowns = 0;
  /** The original error of the last failed opening. */
  #failure: TritonError | undefined;
  #isSetUp = false;

  /** Throws INVALID_ARG for anything that cannot work. */
  constructor(
    model: BoundModel<TensorSpecs, TensorSpecs, boolean>,
    more: Pick<CompleteModelConfig, 'parameters' | 'file'> = {},
  ) {
    expectObject(model, 'a model');
    checkModelName(model.modelName);
    refuseMisspeltCallable(model);
    const sources = checkCallables(model.inferFunc, model.modelName);
    const instances = sources.reduce((sum, source) => sum + (isInstanceGroup(source) ? source.count : 1), 0);
    this.config = { ...completeModelConfig(model as ModelSpec, instances), ...more };
    checkCallables(sources, model.modelName, this.config);
    this.#sources = sources;
    this.#state = sequenceStateSource(model.config?.sequenceBatching);
    this.#callables = this.#hosted();
    this.#groups = sources.filter(isInstanceGroup);
    this.#setup = this.#hook('setup', model.setup);
    this.#teardown = this.#hook('teardown', model.teardown);
  }

  get key(): string {
    return modelKey(this.config);
  }

  #hook<F>(name: 'setup' | 'teardown', hook: F | undefined): F | undefined {
    const what = `${name} of model '${this.config.name}'`;
    if (hook === undefined) return undefined;
    if (typeof hook !== 'function') throw invalidArg(`${what} must be a function, got ${typeof hook}`);
    if (this.#callables.length > 0) return hook;
    throw invalidArg(
      `${what} is for callables of this thread, and there are none; export ${name} from the group's module`,
    );
  }

  /** Makes the server load the model, which sets it up. Rejects with the reason of a failure. */
  async load(server: ServerHandle, options: EndableLoad): Promise<void> {
    this.#server = server;
    this.#failure = undefined;
    if (this.#interruption.signal.aborted) this.#interruption = new AbortController();
    try {
      await server.load(this, options);
    } catch (error) {
      // The original error counts, not its copy from the server's thread, which a stop may end first.
      const ended = [this.#interruption.signal, options.signal].find(({ aborted }) => aborted);
      throw this.#failure ?? TritonError.from(ended === undefined ? error : ended.reason);
    }
  }

  /**
   * The server calls it for every load, with a configuration that replaces the bound one, if any. When it fails, or a signal ends the
   * load, it rejects with the reason and leaves nothing open.
   */
  async open(override?: CompleteModelConfig, ending?: AbortSignal): Promise<ModelOpening> {
    const { logger, tracing } = this.#server!;
    this.#logger = logger;
    if (override !== undefined) checkCallables(this.#sources, override.name, override);
    if (this.#openings.size === 0) this.#callables = this.#hosted();
    const opening: ModelOpening = new ModelOpening({
      config: override ?? this.config,
      override,
      callables: this.#callables,
      groups: this.#groups,
      logger,
      onUnrecoverable: (error) => this.onUnrecoverable(error),
      traces: tracing !== undefined,
      onClosed: () => this.#forget(opening),
    });
    const { signal, release } = joinSignals([this.#interruption.signal, ending]);
    const opened = this.#start(opening, signal!).finally(release);
    this.#openings.set(
      opening,
      opened.catch(() => undefined),
    );
    await opened;
    return opening;
  }

  /** Closes everything that a server has left open, after that server's end. */
  async release(): Promise<void> {
    this.isReady = false;
    this.loading = undefined;
    this.#server = undefined;
    await Promise.all(
      Array.from(this.#openings, async ([opening, opened]) => {
        await this.#logged(opened, 'is set up');
        await opening.close();
      }),
    );
    if (!this.#isLeftBehind) await this.#hooks;
  }

  /** Whether the user's code still runs in this thread after the server's end, without anything that waits for it. */
  get isLeftBehind(): boolean {
    return this.#isLeftBehind || this.#endlessTeardowns > 0 || this.#callables.some(({ turns }) => turns.isWorking);
  }

  /** Ends the loads under way, because the server stops. Returns false without such a load. */
  interrupt(): boolean {
    this.#interruption.abort(loadInterrupted());
    return this.#starting > 0;
  }

  #hosted(): readonly HostedCallable[] {
    const callables = this.#sources.filter((source): source is Callable => !isInstanceGroup(source));
    return callables.map((callable) => hostedCallable(callable, this.config.concurrency, this.#state));
  }

  async #start(opening: ModelOpening, signal: AbortSignal): Promise<void> {
    const interrupt = () => void opening.close();
    this.#starting++;
    try {
      await this.#setUp(signal);
      signal.addEventListener('abort', interrupt);
      await opening.start();
      signal.throwIfAborted();
    } catch (error) {
      this.#failure = TritonError.from(signal.aborted ? signal.reason : error);
      await opening.close();
      throw this.#failure;
    } finally {
      signal.removeEventListener('abort', interrupt);
      this.#starting--;
    }
  }

  async #setUp(signal: AbortSignal): Promise<void> {
    const retained = this.#retain(signal);
    let isOver = false;
    const over = () => {
      isOver = true;
    };
    retained.then(over, over);
    try {
      await unlessInterrupted(retained, signal, INTERRUPTION_GRACE);
    } catch (error) {
      if (!isOver) this.#leaveBehind(retained);
      throw error;
    }
  }

  #leaveBehind(setup: Promise<void>): void {
    this.#isLeftBehind = true;
    const { name, version } = this.config;
    this.#logger?.warn(
      `setup of '${name}' version ${version} does not heed its signal: nothing waits for it any more, and teardown runs after it`,
    );
    const over = () => (this.#isLeftBehind = false);
    setup.then(over, over);
  }

  #forget(opening: ModelOpening): Promise<void> {
    this.#openings.delete(opening);
    const done = this.#letGo();
    return this.#isLeftBehind ? Promise.resolve() : done;
  }

  /** Sets up the callables of this thread, unless another load has done so. */
  #retain(signal: AbortSignal): Promise<void> {
    return this.#inTurn(async () => {
      this.#users++;
      signal.throwIfAborted();
      if (this.#isSetUp) return;
      const { config } = this;
      const logger = instanceLogger(this.#logger!, config, 0);
      await runSetup(this.#setup, setupContext(config, { instance: 0, args: undefined, logger, signal }));
      this.#isSetUp = true;
    });
  }

  #letGo(): Promise<void> {
    return this.#inTurn(async () => {
      if (--this.#users > 0 || !this.#isSetUp) return;
      this.#isSetUp = false;
      if (this.#teardown !== undefined) await this.#logged(this.#tearDown(this.#teardown), 'is torn down');
    });
  }

  /** Resolves when `teardown` has ended or has taken too long. */
  async #tearDown(teardown: () => Awaitable<void>): Promise<void> {
    let isLate = false;
    const { name, version } = this.config;
    await new Promise<void>((resolve) => {
      const tooLong = () => {
        isLate = true;
        this.#endlessTeardowns++;
        this.#logger?.warn(
          `teardown of '${name}' version ${version} has not ended after ${TEARDOWN_GRACE / 1000} s: nothing waits for it any more`,
        );
        resolve();
      };
      const timer = new ServedTimer(tooLong, TEARDOWN_GRACE, { keepsAlive: true, renewals: 1 });
      const tornDown = async () => {
        try {
          await teardown();
        } catch (error) {
          this.#logger?.error(`teardown of model '${name}' failed: ${TritonError.from(error).message}`);
        }
        timer.clear();
        if (isLate) this.#endlessTeardowns--;
        resolve();
      };
      void tornDown();
    });
  }

  /** Logs that a stop waits for the user's code. */
  #logged<T>(promise: Promise<T>, until: string): Promise<T> {
    return loggedWait(promise, this.#logger, `model '${this.config.name}' until it ${until}`);
  }

  #inTurn(hook: () => Promise<void>): Promise<void> {
    const done = this.#hooks.then(hook);
    this.#hooks = done.catch(() => undefined);
    return done;
  }
}
