// The class that users hold: binds models, runs the server, stops it.

import { inspect, type InspectOptions } from 'node:util';

import type { CompleteTritonConfig } from './config/complete-triton-config.js';
import type { TritonConfig } from './config/generated/triton-config.js';
import { readTritonConfig } from './config/read-triton-config.js';
import { invalidArg, TritonError } from './errors.js';
import { loadOpenTelemetry } from './host/opentelemetry.js';
import { RequestTracing } from './host/request-tracing.js';
import type { BoundModel } from './model/bound-model.js';
import { checkMembers } from './model/check.js';
import type { TensorSpecs } from './model/tensor-spec.js';
import { RUN_IN_PROCESS } from './server/in-process.js';
import { ModelBinding } from './server/model-binding.js';
import { type BindOptions, ModelBindings } from './server/model-bindings.js';
import type { PolledFolders } from './server/polled-folders.js';
import type { LocalServer, ServerHandle, ServerServices } from './server/server-handle.js';
import {
  serverOptions,
  withoutPorts,
  type ServerOptions,
  type ServerPorts,
  type StopTimes,
} from './server/server-options.js';
import { ThreadServer } from './server/thread-server.js';

/** How long requests under way may go on after an unrecoverable error. */
const UNRECOVERABLE_GRACE: StopTimes = { delaySecs: 0, timeoutSecs: 0.5 };
/** As shells give it to a process that SIGINT ended. */
const INTERRUPTED_EXIT_CODE = 130;

type OpenServer = (tracing: RequestTracing | undefined) => ServerHandle | Promise<ServerHandle>;

const NO_PORTS: ServerPorts = {
  http: undefined,
  grpc: undefined,
  metrics: undefined,
  vertexAi: undefined,
  sagemaker: undefined,
};

/**
 * Serves TypeScript functions over Triton's HTTP and gRPC protocols.
 *
 * @example
 * const triton = new Triton();
 * triton.bind({
 *   modelName: 'Double',
 *   inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })),
 *   inputs: { x: { dtype: 'float32', shape: [-1] } },
 *   outputs: { y: { dtype: 'float32', shape: [-1] } },
 * });
 * await triton.serve();
 */
export class Triton {
  readonly #config: CompleteTritonConfig;
  readonly #options: ServerOptions;
  readonly #accessToken: string | undefined;
  readonly #warnings: readonly string[];
  readonly #bindings = new ModelBindings((error) => this.#unrecoverable(error));
  /** The models of `modelRepository`, since they were first read. */
  #folders: PolledFolders | undefined;
  /**
   * Told of an unrecoverable error, when the server begins to shut down; `serve()` rejects with it as well. Also told,
   * with UNAVAILABLE, when the server's thread has died, which is then started again.
   */
  onUnrecoverable: ((error: TritonError) => void) | undefined;
  #server: ServerHandle | undefined;
  #ports = NO_PORTS;
  #running: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** Everything bound before `run()` is loaded. */
  #serving = false;
  /** Whether `serve()` waits, and rejects with what ends the server. */
  #awaited = false;
  /** Ends `serve()`: by stop, or by what ends the server. */
  #ended:
    | { readonly promise: Promise<void>; readonly resolve: () => void; readonly reject: (error: TritonError) => void }
    | undefined;

  /**
   * Options come from `config`, then from `TSTRITON_CONFIG_*` and `PYTRITON_TRITON_CONFIG_*` variables, then from
   * the defaults. Throws INVALID_ARG for what is wrong, UNSUPPORTED for what this version does not serve.
   */
  constructor(config: TritonConfig = {}) {
    const read = readTritonConfig(config, process.env);
    this.#config = read.config;
    this.#options = serverOptions(read);
    this.#accessToken = read.restrictions.accessToken;
    this.#warnings = read.warnings;
  }

  /**
   * Serves a model under its name. Before `run()` this only records it; afterwards the model loads in the
   * background, see {@link ready}. Throws INVALID_ARG for anything that cannot work, ALREADY_EXISTS when the
   * name and version are taken. With `replace` a model that has them is replaced as {@link rebind} does it, in the
   * background too: a cell of a notebook may be run again.
   */
  bind<
    const I extends TensorSpecs,
    const O extends TensorSpecs,
    const Decoupled extends boolean = false,
    const Method extends string = string,
    Loose = never,
  >(model: BoundModel<I, O, Decoupled, Method, Loose>, options: BindOptions = {}): this {
    checkMembers(options, ['replace'], 'the second argument of bind');
    this.#bindings.add(this.#binding(model as never), options);
    return this;
  }

  /**
   * Replaces a bound model of the same name and version without dropping a request: new ones go to the new
   * callable, those under way finish with the old one. Resolves when the last of them has ended; another `rebind` or
   * `unbind` of the model waits for that. When the new model does not load, the old one stays. Rejects with NOT_FOUND
   * when the name and version are not bound.
   */
  async rebind<
    const I extends TensorSpecs,
    const O extends TensorSpecs,
    const Decoupled extends boolean = false,
    const Method extends string = string,
    Loose = never,
  >(model: BoundModel<I, O, Decoupled, Method, Loose>): Promise<void> {
    await this.#bindings.replace(this.#binding(model as never));
  }

  /**
   * Serves a model no more: all its versions, or one. Resolves when its last request has ended. Throws NOT_FOUND
   * when it is not bound.
   */
  async unbind(modelName: string, modelVersion?: number): Promise<void> {
    await this.#bindings.remove(modelName, modelVersion);
  }

  /**
   * Starts serving; resolves when all ports listen and every model is ready. Rejects with UNAVAILABLE when a
   * port is taken, or with the reason why a model did not load; nothing is left open then. Keeps the process
   * alive until {@link stop}.
   */
  run(): Promise<void> {
    return this.#run((tracing) => this.#newServer(tracing));
  }

  /** For `inProcess` of 'tstriton/testing'. */
  async [RUN_IN_PROCESS](): Promise<unknown> {
    let core: unknown;
    await this.#run(async (tracing) => {
      const server = await openLocalServer(withoutPorts(this.#options), this.#services(tracing));
      core = server.core;
      return server;
    });
    return core;
  }

  #run(open: OpenServer): Promise<void> {
    if (this.#running !== undefined && this.#stopping === undefined) {
      return Promise.reject(new TritonError('ALREADY_EXISTS', 'the server runs already'));
    }
    const before = this.#stopping ?? Promise.resolve();
    this.#stopping = undefined;
    this.#running = before.then(() => this.#start(open));
    return this.#running;
  }

  /**
   * Runs until SIGINT or SIGTERM, then stops; a second signal ends the process at once, with exit code 130. A server that
   * {@link run} has started goes on. Rejects as {@link run} does, and when the server dies of itself.
   */
  async serve(): Promise<void> {
    const onSignal = () => {
      if (this.#stopping !== undefined) process.exit(INTERRUPTED_EXIT_CODE);
      void this.stop();
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    try {
      this.#awaited = true;
      await (this.#stopping === undefined && this.#running ? this.#running : this.run());
      try {
        await this.#ended?.promise;
      } catch (error) {
        // What is under way is answered first: whoever awaits this may end the process.
        await this.#stopping?.catch(() => undefined);
        throw error;
      }
      await this.#stopping;
    } finally {
      this.#awaited = false;
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    }
  }

  /**
   * Stops serving: not ready at once, and after `shutdownDelaySecs` no new work; requests under way finish for up to
   * `exitTimeoutSecs`.
   * Idempotent. The models stay bound for the next {@link run}.
   */
  stop(): Promise<void> {
    if (this.#running === undefined) return Promise.resolve();
    return (this.#stopping ??= this.#stop(this.#stopTimes));
  }

  /**
   * Resolves when the model, or without a name every model, is loaded. Rejects with NOT_FOUND for a name that
   * is not bound, UNAVAILABLE when the server does not run, or with the reason why the model did not load.
   */
  async ready(modelName?: string): Promise<void> {
    const wanted = this.#bindings.find(modelName);
    if (modelName !== undefined && wanted.length === 0)
      throw new TritonError('NOT_FOUND', `model '${modelName}' is not bound`);
    if (this.#running === undefined || this.#stopping !== undefined)
      throw new TritonError('UNAVAILABLE', 'the server does not run; call run() first');
    await this.#running;
    for (const { loading } of wanted) await loading;
  }

  /**
   * Looks for changes in `modelRepository` now, instead of when `repositoryPollSecs` have passed; resolves when what was new or
   * changed is loaded, or has failed to load, and what is gone is unloaded. Rejects with UNAVAILABLE where `modelControlMode` is not
   * `poll`, or the server does not run; INVALID_ARG when a repository cannot be read.
   */
  async pollModelRepository(): Promise<void> {
    if (this.#config.modelControlMode !== 'poll') throw new TritonError('UNAVAILABLE', 'polling is disabled');
    if (!this.#serving || this.#folders === undefined)
      throw new TritonError('UNAVAILABLE', 'the server does not run; call run() first');
    await this.#folders.poll();
  }

  /** True while the server runs and every model is ready: loaded, with an instance that takes requests. */
  get isReady(): boolean {
    return this.#serving && this.#server?.lives === true && this.#bindings.areReady;
  }

  /**
   * What clients send to reach the restricted endpoints, see `accessToken` of {@link TritonConfig}; undefined when
   * `restrictedEndpoints` is empty.
   */
  get accessToken(): string | undefined {
    return this.#accessToken;
  }

  /** The real HTTP port; undefined while the server does not run or HTTP is off. */
  get httpPort(): number | undefined {
    return this.#ports.http;
  }

  /** The real gRPC port; undefined while the server does not run or gRPC is off. */
  get grpcPort(): number | undefined {
    return this.#ports.grpc;
  }

  /** The real metrics port; undefined while the server does not run or metrics are off. */
  get metricsPort(): number | undefined {
    return this.#ports.metrics;
  }

  /** The real port for Vertex AI; undefined while the server does not run or does not serve it. */
  get vertexAiPort(): number | undefined {
    return this.#ports.vertexAi;
  }

  /** The real port for SageMaker; undefined while the server does not run or does not serve it. */
  get sagemakerPort(): number | undefined {
    return this.#ports.sagemaker;
  }

  /** For `console.log` and the like: what it does, its ports and its models. */
  [inspect.custom](depth: number, options: InspectOptions, show: typeof inspect): string {
    if (depth < 0) return '[Triton]';
    const ports = Object.entries(this.#ports).filter(([, port]) => port !== undefined);
    const models = this.#bindings
      .find()
      .map(
        ({ config: { name, version }, isReady }) => `${name} version ${version}: ${isReady ? 'ready' : 'not ready'}`,
      );
    return `Triton ${show({ state: this.#state, ports: Object.fromEntries(ports), models }, options)}`;
  }

  get #state(): string {
    if (this.#stopping !== undefined) return 'stopping';
    if (this.#running === undefined) return 'stopped';
    if (!this.#serving) return 'starting';
    return this.isReady ? 'ready' : 'not ready';
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  #newServer(tracing: RequestTracing | undefined): ServerHandle | Promise<ServerHandle> {
    const services = this.#services(tracing);
    if (!this.#config.serverThread) return openLocalServer(this.#options, services);
    const listeners = {
      onDeath: (error: TritonError) => this.onUnrecoverable?.(error),
      onGivenUp: (error: TritonError) => this.#unrecoverable(error),
    };
    return new ThreadServer(this.#options, listeners, services);
  }

  #services(tracing: RequestTracing | undefined): ServerServices {
    const { logger } = this.#config;
    return { tracing, logger, loadFolder: (name, parameters, ready) => this.#folders!.load(name, parameters, ready) };
  }

  /** Reads the model repository, if there is one, before anything is loaded. */
  async #readFolders(server: ServerHandle): Promise<void> {
    const { modelRepository: repositories, repositoryPollSecs, exitOnError } = this.#config;
    const { modelControlMode: mode, loadModel, disableAutoCompleteConfig } = this.#config;
    if (repositories.length === 0) return;
    const { PolledFolders } = await import('./server/polled-folders.js');
    this.#folders ??= new PolledFolders({
      repositories,
      mode,
      loadModel,
      disableAutoCompleteConfig,
      pollSecs: repositoryPollSecs,
      bindings: this.#bindings,
      check: (binding) => this.#checkCache(binding),
    });
    await this.#folders.start(server, { exitOnError });
  }

  async #start(open: OpenServer): Promise<void> {
    this.#ended = deferred();
    try {
      const spans = this.#options.tracing?.mode === 'opentelemetry';
      const tracing = spans ? new RequestTracing(await loadOpenTelemetry()) : undefined;
      const server = await open(tracing);
      this.#server = server;
      for (const warning of this.#warnings) process.emitWarning(warning, 'TSTritonWarning');
      this.#ports = await server.start();
      await this.#readFolders(server);
      await this.#bindings.loadAll(server, this.#config);
      await server.started();
      this.#folders?.begin();
      this.#serving = true;
    } catch (error) {
      this.#folders?.end();
      await this.#server?.stop({ ...this.#stopTimes, delaySecs: 0 }).catch(() => undefined);
      await this.#forget();
      this.#running = undefined;
      throw error;
    }
  }

  get #stopTimes(): StopTimes {
    const { shutdownDelaySecs: delaySecs, exitTimeoutSecs: timeoutSecs } = this.#config;
    return { delaySecs, timeoutSecs };
  }

  async #stop(times: StopTimes): Promise<void> {
    const running = this.#running;
    this.#serving = false;
    // A run that failed has cleaned up after itself.
    await running?.catch(() => undefined);
    const ended = this.#ended;
    this.#serving = false;
    this.#folders?.end();
    this.#bindings.detach();
    try {
      await this.#server?.stop(times);
    } finally {
      await this.#forget();
      // Unless run() was called again meanwhile.
      if (this.#running === running) {
        this.#running = undefined;
        this.#stopping = undefined;
      }
      ended?.resolve();
    }
  }

  async #forget(): Promise<void> {
    this.#serving = false;
    this.#server = undefined;
    this.#ports = NO_PORTS;
    await this.#bindings.releaseAll();
    await this.#folders?.close();
  }

  #binding(model: BoundModel<TensorSpecs, TensorSpecs, boolean>): ModelBinding {
    const binding = new ModelBinding(model);
    this.#checkCache(binding);
    return binding;
  }

  #checkCache(binding: ModelBinding): void {
    if (binding.config.responseCache && this.#config.responseCacheByteSize === undefined) {
      throw invalidArg(
        `config.responseCache of model '${binding.config.name}' needs a response cache; TritonConfig has none: give it cacheConfig: 'local,size=<bytes>' or responseCacheByteSize`,
      );
    }
  }

  /** No further inference is possible: answers what is under way, shortly, and ends. */
  #unrecoverable(error: TritonError): void {
    if (this.#stopping !== undefined) return;
    // Nobody else would tell whoever supervises the process. While it starts, run() rejects.
    if (this.#serving && !this.#awaited && this.onUnrecoverable === undefined) process.exitCode = 1;
    this.#server?.logger.error(`shutting down after an unrecoverable error: ${error.message}`);
    this.#ended?.reject(error);
    this.#ended?.promise.catch(() => undefined);
    this.#stopping = this.#stop(UNRECOVERABLE_GRACE);
    const { onUnrecoverable } = this;
    onUnrecoverable?.(error);
  }
}

/** Imported when there is one: all of the server would take room and time where it runs in a thread of its own. */
async function openLocalServer(...given: ConstructorParameters<typeof LocalServer>): Promise<LocalServer> {
  const module = await import('./server/server-handle.js');
  return new module.LocalServer(...given);
}

function deferred() {
  let resolve!: () => void;
  let reject!: (error: TritonError) => void;
  const promise = new Promise<void>((onResolve, onReject) => {
    resolve = onResolve;
    reject = onReject;
  });
  return { promise, resolve, reject };
}
