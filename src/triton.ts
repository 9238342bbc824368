// `Triton` is the users' class: it binds models, runs the server and stops it. `server/server-life.ts` manages one run.

import { inspect, type InspectOptions } from 'node:util';

import type { CompleteTritonConfig } from './config/complete-triton-config.js';
import type { TritonConfig } from './config/generated/triton-config.js';
import { readTritonConfig } from './config/read-triton-config.js';
import { invalidArg, TritonError } from './errors.js';
import type { BoundModel } from './model/bound-model.js';
import { checkMembers } from './checks/check.js';
import { OPEN_TRANSPORT } from './in-process/open-transport.js';
import type { TensorSpecs } from './model/tensor-spec.js';
import { RUN_IN_PROCESS } from './server/in-process.js';
import { refusedStart } from './server/importing-models.js';
import { ModelBinding } from './server/model-binding.js';
import type { FetchHandler, HandlerOptions, NodeHandler } from './server/mount.js';
import { type BindOptions, ModelBindings } from './server/model-bindings.js';
import { ServerLife } from './server/server-life.js';
import { serverOptions } from './server/server-options.js';

/** Shells report this code for a process that SIGINT ended. */
const INTERRUPTED_EXIT_CODE = 130;
/** How long the program may go on after `serve()`, where a model's code would keep the process alive. */
const LEFT_BEHIND_MILLISECONDS = 250;

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
  readonly #accessToken: string | undefined;
  readonly #bindings = new ModelBindings((error) => this.#life.unrecoverable(error));
  readonly #life: ServerLife;
  /**
   * Called with an unrecoverable error when the server begins to shut down; `serve()` rejects with it as well. Also
   * called, with UNAVAILABLE, when the server's thread has died; the thread then restarts.
   */
  onUnrecoverable: ((error: TritonError) => void) | undefined;
  /**
   * Options come from `config`, then from `TSTRITON_CONFIG_*` and `PYTRITON_TRITON_CONFIG_*` variables, then from the
   * defaults. Throws INVALID_ARG for wrong options, UNSUPPORTED for options that this version does not serve.
   */
  constructor(config: TritonConfig = {}) {
    const read = readTritonConfig(config, process.env);
    this.#config = read.config;
    this.#accessToken = read.restrictions.accessToken;
    this.#life = new ServerLife({
      read,
      options: serverOptions(read),
      bindings: this.#bindings,
      check: (binding) => this.#checkCache(binding),
      listener: () => this.onUnrecoverable?.bind(this),
    });
  }

  /**
   * Serves a model under its name. Before `run()` this only records it; afterwards the model loads in the background,
   * see {@link ready}. Throws INVALID_ARG for anything that cannot work, ALREADY_EXISTS when the name and version are
   * taken. With `replace` it replaces a model of this name and version in the background, as {@link rebind} does, and ends
   * the loads before it that are still under way. So a cell of a notebook may run again.
   */
  bind<
    const I extends TensorSpecs,
    const O extends TensorSpecs,
    const Decoupled extends boolean = false,
    const Method extends string = string,
    Loose = never,
  >(model: BoundModel<I, O, Decoupled, Method, Loose>, options: BindOptions = {}): this {
    const binding = this.#binding(model as never);
    checkMembers(options, ['replace'], 'the second argument of bind');
    this.#bindings.add(binding, options);
    return this;
  }

  /**
   * Replaces a bound model of the same name and version without dropping a request. New requests go to the new
   * callable, and requests under way finish with the old one. Resolves when the last of these has ended; another
   * `rebind` or `unbind` of the model need not wait for that. When the new model does not load, the old one stays. Loads
   * of the model that are still under way have five seconds. Rejects with NOT_FOUND when the name and version are not bound.
   */
  async rebind<
    const I extends TensorSpecs,
    const O extends TensorSpecs,
    const Decoupled extends boolean = false,
    const Method extends string = string,
    Loose = never,
  >(model: BoundModel<I, O, Decoupled, Method, Loose>): Promise<void> {
    const { ended } = await this.#bindings.replace(this.#binding(model as never));
    await ended;
  }

  /**
   * Stops serving a model: all its versions, or one. Resolves when its last request has ended. Throws NOT_FOUND when it
   * is not bound.
   */
  async unbind(modelName: string, modelVersion?: number): Promise<void> {
    const { ended } = await this.#bindings.remove(modelName, modelVersion);
    await ended;
  }

  /**
   * Starts serving; resolves when all ports listen and every model is ready. Rejects with UNAVAILABLE when a port is
   * taken, or with the reason why a model did not load, and leaves nothing open. Keeps the process alive until {@link
   * stop}.
   */
  run(): Promise<void> {
    return handled(refusedStart()) ?? this.#life.run();
  }

  /**
   * Makes a handler that serves Triton's HTTP protocol inside another HTTP server: `node:http`, Express, Fastify. The
   * server then runs in this thread, whatever `serverThread` says. Its own ports open as the options say: `allowHttp:
   * false` leaves the HTTP port closed. Requests wait for nothing: before {@link run} and after {@link stop} they are
   * answered with 503. Throws INVALID_ARG when the server runs already and had no handler.
   *
   * @example
   * app.use(triton.handler());
   */
  handler(options: HandlerOptions = {}): NodeHandler {
    return this.#life.mount.node(options);
  }

  /**
   * As {@link handler}, for routers that pass on requests of the Fetch standard: Hono, Next.js.
   *
   * @example
   * app.all('/v2/*', (context) => handler(context.req.raw));
   */
  fetchHandler(options: HandlerOptions = {}): FetchHandler {
    return this.#life.mount.fetch(options);
  }

  /**
   * For clients in this thread: `new ModelClient(triton, declaration)`. A client that is made before {@link run} has the
   * server run in this thread, as {@link handler} does.
   */
  [OPEN_TRANSPORT](): unknown {
    return this.#life.openTransport();
  }

  /** For `inProcess` of 'tstriton/testing'. */
  [RUN_IN_PROCESS](): Promise<unknown> {
    return this.#life.runInProcess();
  }

  /**
   * Runs until SIGINT or SIGTERM, then stops; a second signal ends the process at once, with exit code 130. A server
   * that {@link run} has started goes on. Rejects as {@link run} does, and when the server dies. After a signal the
   * process ends soon, even when code of a model still runs. In a worker thread it hears no signals, and ends by
   * {@link stop} alone.
   */
  serve(): Promise<void> {
    return handled(refusedStart()) ?? this.#serve();
  }

  async #serve(): Promise<void> {
    let isSignalled = false;
    const onSignal = () => {
      if (this.#life.isStopping) process.exit(INTERRUPTED_EXIT_CODE);
      isSignalled = true;
      void this.stop();
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    try {
      await this.#life.untilEnded();
    } finally {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
      if (isSignalled) setTimeout(() => this.#life.leavesBehind && process.exit(), LEFT_BEHIND_MILLISECONDS).unref();
    }
  }

  /**
   * Stops serving. The server is not ready at once, and takes no new work after `shutdownDelaySecs`. Requests under way
   * may take up to `exitTimeoutSecs`. Idempotent. The models stay bound for the next {@link run}.
   */
  stop(): Promise<void> {
    return this.#life.stop();
  }

  /**
   * Resolves when the model, or without a name every model, is loaded. Rejects with NOT_FOUND for a name that
   * is not bound, UNAVAILABLE when the server does not run, or with the reason why the model did not load.
   */
  async ready(modelName?: string): Promise<void> {
    if (modelName !== undefined && this.#bindings.find(modelName).length === 0)
      throw new TritonError('NOT_FOUND', `model '${modelName}' is not bound`);
    await this.#life.started();
    await Promise.all(this.#bindings.loads(modelName));
  }

  /**
   * Looks for changes in `modelRepository` now, instead of after `repositoryPollSecs`. Resolves when new and changed
   * models are loaded or have failed to load, and removed models are unloaded. Rejects with UNAVAILABLE where
   * `modelControlMode` is not `poll`, or the server does not run; INVALID_ARG when a repository cannot be read.
   */
  async pollModelRepository(): Promise<void> {
    if (this.#config.modelControlMode !== 'poll') throw new TritonError('UNAVAILABLE', 'polling is disabled');
    await this.#life.pollFolders();
  }

  /**
   * True while the server runs and every model that was bound here is ready: loaded, with an instance that takes requests. Models
   * that other processes bind count for `/v2/health/ready` alone.
   */
  get isReady(): boolean {
    return this.#life.isReady;
  }

  /**
   * The token that clients send to reach the restricted endpoints, see `accessToken` of {@link TritonConfig}; undefined
   * when `restrictedEndpoints` is empty.
   */
  get accessToken(): string | undefined {
    return this.#accessToken;
  }

  /** The real HTTP port; undefined while the server does not run or HTTP is off. */
  get httpPort(): number | undefined {
    return this.#life.ports.http;
  }

  /** The real gRPC port; undefined while the server does not run or gRPC is off. */
  get grpcPort(): number | undefined {
    return this.#life.ports.grpc;
  }

  /** The real metrics port; undefined while the server does not run or metrics are off. */
  get metricsPort(): number | undefined {
    return this.#life.ports.metrics;
  }

  /** The real port for Vertex AI; undefined while the server does not run or does not serve it. */
  get vertexAiPort(): number | undefined {
    return this.#life.ports.vertexAi;
  }

  /** The real port for SageMaker; undefined while the server does not run or does not serve it. */
  get sagemakerPort(): number | undefined {
    return this.#life.ports.sagemaker;
  }

  /** For `console.log` and similar: the state, the ports and the models. */
  [inspect.custom](depth: number, options: InspectOptions, show: typeof inspect): string {
    if (depth < 0) return '[Triton]';
    const ports = Object.entries(this.#life.ports).filter(([, port]) => port !== undefined);
    const models = this.#bindings
      .find()
      .map(
        ({ config: { name, version }, isReady }) => `${name} version ${version}: ${isReady ? 'ready' : 'not ready'}`,
      );
    return `Triton ${show({ state: this.#life.state, ports: Object.fromEntries(ports), models }, options)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
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
}

/** A rejection that need not be waited for: `tstriton serve` tells it too. */
function handled(error: TritonError | undefined): Promise<void> | undefined {
  if (error === undefined) return undefined;
  const rejected = Promise.reject(error);
  rejected.catch(() => undefined);
  return rejected;
}
