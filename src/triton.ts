// The class that users hold: binds models, runs the server, stops it.

import { TritonError } from './errors.js';
import type { BoundModel } from './model/callable.js';
import type { TensorSpecs } from './model/tensor-spec.js';
import { grpcSettings } from './server/grpc-settings.js';
import { ModelBinding } from './server/model-binding.js';
import { LocalServer, type ServerHandle } from './server/server-handle.js';
import type { ServerOptions, ServerPorts } from './server/server.js';
import { ThreadServer } from './server/thread-server.js';
import {
  readTritonConfig,
  type CompleteTritonConfig,
  type ReadTritonConfig,
  type TritonConfig,
} from './triton-config.js';

/** How long requests under way may go on after an unrecoverable error. */
const UNRECOVERABLE_GRACE_SECS = 0.5;

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
  readonly #bindings = new Map<string, ModelBinding>();
  /** Told of an unrecoverable error, when the server begins to shut down. `serve()` rejects with it as well. */
  onUnrecoverable: ((error: TritonError) => void) | undefined;
  #server: ServerHandle | undefined;
  #ports = NO_PORTS;
  #running: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  /** Everything bound before `run()` is loaded. */
  #serving = false;
  #loads = 0;
  /** Ends `serve()`: by stop, or by the death of the server. */
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
   * name and version are taken.
   */
  bind<const I extends TensorSpecs, const O extends TensorSpecs, const Decoupled extends boolean = false>(
    model: BoundModel<I, O, Decoupled>,
  ): this {
    const binding = this.#binding(model as never);
    const { name, version } = binding.config;
    if (this.#bindings.has(binding.key)) {
      throw new TritonError(
        'ALREADY_EXISTS',
        `Cannot add model with the same name twice: '${name}' version ${version} is bound; use rebind to replace it`,
      );
    }
    this.#bindings.set(binding.key, binding);
    if (this.#server !== undefined && this.#stopping === undefined) void this.#load(binding, this.#server);
    return this;
  }

  /**
   * Replaces a bound model of the same name and version without dropping a request: new ones go to the new
   * callable, those under way finish with the old one. Resolves when the last of them has ended. When the new
   * model does not load, the old one stays. Throws NOT_FOUND when the name and version are not bound.
   */
  async rebind<const I extends TensorSpecs, const O extends TensorSpecs, const Decoupled extends boolean = false>(
    model: BoundModel<I, O, Decoupled>,
  ): Promise<void> {
    const binding = this.#binding(model as never);
    const old = this.#bindings.get(binding.key);
    const { name, version } = binding.config;
    if (old === undefined) throw new TritonError('NOT_FOUND', `model '${name}' version ${version} is not bound`);
    this.#bindings.set(binding.key, binding);
    if (this.#server === undefined || this.#stopping !== undefined) return;
    try {
      await old.loading;
      await this.#load(binding, this.#server);
    } catch (error) {
      this.#bindings.set(old.key, old);
      throw error;
    }
    await old.release();
  }

  /**
   * Serves a model no more: all its versions, or one. Resolves when its last request has ended. Throws NOT_FOUND
   * when it is not bound.
   */
  async unbind(modelName: string, modelVersion?: number): Promise<void> {
    const bound = [...this.#bindings.values()].filter(
      ({ config }) => config.name === modelName && (modelVersion === undefined || config.version === modelVersion),
    );
    if (bound.length === 0) throw new TritonError('NOT_FOUND', `model '${modelName}' is not bound`);
    for (const binding of bound) this.#bindings.delete(binding.key);
    const server = this.#server;
    if (server === undefined || this.#stopping !== undefined) return;
    await Promise.all(
      bound.map(async (binding) => {
        await binding.loading?.catch(() => undefined);
        await server.unload(binding.config);
        await binding.release();
      }),
    );
  }

  /**
   * Starts serving; resolves when all ports listen and every model is ready. Rejects with UNAVAILABLE when a
   * port is taken, or with the reason why a model did not load; nothing is left open then. Keeps the process
   * alive until {@link stop}.
   */
  run(): Promise<void> {
    if (this.#running !== undefined && this.#stopping === undefined) {
      return Promise.reject(new TritonError('ALREADY_EXISTS', 'the server runs already'));
    }
    const before = this.#stopping ?? Promise.resolve();
    this.#stopping = undefined;
    this.#running = before.then(() => this.#start());
    return this.#running;
  }

  /** Runs until SIGINT or SIGTERM, then stops. Rejects when the server dies of itself. */
  async serve(): Promise<void> {
    const onSignal = () => void this.stop();
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    try {
      await this.run();
      try {
        await this.#ended?.promise;
      } catch (error) {
        // What is under way is answered first: whoever awaits this may end the process.
        await this.#stopping?.catch(() => undefined);
        throw error;
      }
      await this.#stopping;
    } finally {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    }
  }

  /**
   * Stops serving: not ready at once, no new work; requests under way finish for up to `exitTimeoutSecs`.
   * Idempotent. The models stay bound for the next {@link run}.
   */
  stop(): Promise<void> {
    if (this.#running === undefined) return Promise.resolve();
    return (this.#stopping ??= this.#stop());
  }

  /**
   * Resolves when the model, or without a name every model, is loaded. Rejects with NOT_FOUND for a name that
   * is not bound, UNAVAILABLE when the server does not run, or with the reason why the model did not load.
   */
  async ready(modelName?: string): Promise<void> {
    const wanted = [...this.#bindings.values()].filter(
      ({ config }) => modelName === undefined || config.name === modelName,
    );
    if (modelName !== undefined && wanted.length === 0)
      throw new TritonError('NOT_FOUND', `model '${modelName}' is not bound`);
    if (this.#running === undefined || this.#stopping !== undefined)
      throw new TritonError('UNAVAILABLE', 'the server does not run; call run() first');
    await this.#running;
    for (const { loading } of wanted) await loading;
  }

  /** True while the server runs and every model is ready. */
  get isReady(): boolean {
    return this.#serving && this.#loads === 0;
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

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #start(): Promise<void> {
    this.#ended = deferred();
    try {
      const server = this.#config.serverThread
        ? new ThreadServer(this.#options, (error) => this.#died(error))
        : new LocalServer(this.#options);
      this.#server = server;
      for (const warning of this.#warnings) process.emitWarning(warning, 'TSTritonWarning');
      this.#ports = await server.start();
      const loads = [...this.#bindings.values()].map((binding) => this.#load(binding, server));
      if (this.#config.exitOnError) await Promise.all(loads);
      else await Promise.allSettled(loads);
      await server.started();
      this.#serving = true;
    } catch (error) {
      await this.#server?.stop().catch(() => undefined);
      await this.#forget();
      this.#running = undefined;
      throw error;
    }
  }

  async #stop(timeoutSecs?: number): Promise<void> {
    const running = this.#running;
    this.#serving = false;
    // A run that failed has cleaned up after itself.
    await running?.catch(() => undefined);
    const ended = this.#ended;
    this.#serving = false;
    try {
      await this.#server?.stop(timeoutSecs);
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
    await Promise.all([...this.#bindings.values()].map((binding) => binding.release()));
  }

  #binding(model: BoundModel<TensorSpecs, TensorSpecs, boolean>): ModelBinding {
    const binding = new ModelBinding(model);
    if (binding.config.responseCache && this.#config.responseCacheByteSize === undefined) {
      throw new TritonError(
        'INVALID_ARG',
        `config.responseCache of model '${binding.config.name}' needs a response cache; TritonConfig has none: give it cacheConfig: 'local,size=<bytes>' or responseCacheByteSize`,
      );
    }
    return binding;
  }

  #load(binding: ModelBinding, server: ServerHandle): Promise<void> {
    this.#loads++;
    binding.onUnrecoverable = (error) => this.#unrecoverable(error);
    const loading = binding.load(server).finally(() => this.#loads--);
    // Whoever calls ready() or run() gets the reason; nobody has to.
    loading.catch(() => undefined);
    binding.loading = loading;
    return loading;
  }

  /** No further inference is possible: answers what is under way, shortly, and ends. */
  #unrecoverable(error: TritonError): void {
    if (this.#stopping !== undefined) return;
    this.#server?.logger.error(`shutting down after an unrecoverable error: ${error.message}`);
    this.#ended?.reject(error);
    this.#ended?.promise.catch(() => undefined);
    this.#stopping = this.#stop(UNRECOVERABLE_GRACE_SECS);
    this.onUnrecoverable?.(error);
  }

  #died(error: TritonError): void {
    this.#ended?.reject(error);
    this.#ended?.promise.catch(() => undefined);
    void this.stop();
  }
}

function serverOptions({ config, restrictions, vertexAi, sagemaker }: ReadTritonConfig): ServerOptions {
  const http = {
    address: config.httpAddress,
    maxInputSize: config.httpMaxInputSize,
    restrictions: restrictions.http,
  };
  return {
    id: config.id,
    http: config.allowHttp
      ? {
          ...http,
          port: config.httpPort,
          headerForwardPattern: config.httpHeaderForwardPattern,
          corsAllowOrigin: config.corsAllowOrigin,
        }
      : undefined,
    grpc: config.allowGrpc
      ? {
          address: config.grpcAddress,
          port: config.grpcPort,
          maxMessageSize: config.grpcMaxMessageSize,
          headerForwardPattern: config.grpcHeaderForwardPattern,
          ...grpcSettings(config),
          restrictions: restrictions.grpc,
        }
      : undefined,
    metrics: config.allowMetrics
      ? {
          address: config.metricsAddress,
          port: config.metricsPort,
          intervalMs: config.metricsIntervalMs,
          cpu: config.allowCpuMetrics,
          ...config.metricsConfig,
        }
      : undefined,
    vertexAi: vertexAi && {
      ...http,
      ...vertexAi,
      port: config.vertexAiPort,
      defaultModel: config.vertexAiDefaultModel,
    },
    sagemaker: sagemaker && { ...http, ...sagemaker, port: config.sagemakerPort },
    strictReadiness: config.strictReadiness,
    modelControlMode: config.modelControlMode,
    loadModel: config.loadModel,
    responseCacheByteSize: config.responseCacheByteSize,
    allowClientShm: config.allowClientShm,
    logFile: config.logFile,
    logSettings: {
      error: config.logError,
      warning: config.logWarning,
      info: config.logInfo,
      verboseLevel: config.logVerbose,
      format: config.logFormat,
    },
    exitTimeoutSecs: config.exitTimeoutSecs,
  };
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
