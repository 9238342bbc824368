// The life of a server, from one start to the next: it is started with all models that are bound, serves, and is stopped, by its
// user or by an error after which no inference is possible.

import type { CompleteTritonConfig } from '../config/complete-triton-config.js';
import { TritonError } from '../errors.js';
import { loadOpenTelemetry } from '../host/opentelemetry.js';
import { RequestTracing } from '../host/request-tracing.js';
import { unlessInterrupted } from '../model/interrupted-load.js';
import type { ModelBinding } from './model-binding.js';
import type { ModelBindings } from './model-bindings.js';
import type { PolledFolders } from './polled-folders.js';
import type { LocalServer, ServerHandle, ServerServices } from './server-handle.js';
import { withoutPorts, type ServerOptions, type ServerPorts, type StopTimes } from './server-options.js';
import { ThreadServer } from './thread-server.js';

/** How long requests under way may go on after an unrecoverable error. */
const UNRECOVERABLE_GRACE: StopTimes = { delaySecs: 0, graceSecs: 0, timeoutSecs: 0.5 };
/** Requests that clients send before they know of a stop are answered. */
const LONGEST_GRACE_SECS = 0.5;
type OpenServer = (tracing: RequestTracing | undefined) => ServerHandle | Promise<ServerHandle>;

const NO_PORTS: ServerPorts = {
  http: undefined,
  grpc: undefined,
  metrics: undefined,
  vertexAi: undefined,
  sagemaker: undefined,
};

interface LifeSurroundings {
  readonly config: CompleteTritonConfig;
  readonly options: ServerOptions;
  /** Of what was configured: told at every start. */
  readonly warnings: readonly string[];
  readonly bindings: ModelBindings;
  /** What is refused of a model by the server's own options. Throws INVALID_ARG. */
  readonly check: (binding: ModelBinding) => void;
  /** Who is told of an unrecoverable error, as it is when there is one. */
  readonly listener: () => ((error: TritonError) => void) | undefined;
}

export class ServerLife {
  readonly #config: CompleteTritonConfig;
  readonly #options: ServerOptions;
  readonly #warnings: readonly string[];
  readonly #bindings: ModelBindings;
  readonly #check: LifeSurroundings['check'];
  readonly #listener: LifeSurroundings['listener'];
  /** The models of `modelRepository`, since they were first read. */
  #folders: PolledFolders | undefined;
  #server: ServerHandle | undefined;
  #ports = NO_PORTS;
  #running: Promise<void> | undefined;
  /** Ends the start. */
  #interruption = new AbortController();
  #stopping: Promise<void> | undefined;
  /** Everything bound before `run()` is loaded. */
  #serving = false;
  /** Whether `serve()` waits, and rejects with what ends the server. */
  #awaited = false;
  /** Ends `serve()`: by stop, or by what ends the server. */
  #ended:
    | { readonly promise: Promise<void>; readonly resolve: () => void; readonly reject: (error: TritonError) => void }
    | undefined;

  constructor({ config, options, warnings, bindings, check, listener }: LifeSurroundings) {
    this.#config = config;
    this.#options = options;
    this.#warnings = warnings;
    this.#bindings = bindings;
    this.#check = check;
    this.#listener = listener;
  }

  get ports(): ServerPorts {
    return this.#ports;
  }

  get isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** All models have been loaded, or have failed to, and the server is there. */
  get serves(): boolean {
    return this.#serving && this.#server?.lives === true;
  }

  /** It serves, and every model is ready, also those in folders that could not even be bound. */
  get isReady(): boolean {
    return this.serves && this.#bindings.areReady && !this.#folders?.areBroken;
  }

  /** Whether code of the user's goes on that the last stop did not wait for. */
  get leavesBehind(): boolean {
    return this.#running === undefined && this.#bindings.areLeftBehind;
  }

  get state(): string {
    if (this.#stopping !== undefined) return 'stopping';
    if (this.#running === undefined) return 'stopped';
    if (!this.#serving) return 'starting';
    return this.isReady ? 'ready' : 'not ready';
  }

  run(): Promise<void> {
    return this.#run((tracing) => this.#newServer(tracing));
  }

  /** Without ports; resolves to the core. */
  async runInProcess(): Promise<unknown> {
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
    this.#interruption = new AbortController();
    const { signal } = this.#interruption;
    this.#running = before.then(() => this.#start(open, signal));
    return this.#running;
  }

  /**
   * Runs, unless it does already, until it has been stopped. Rejects with what ends the server. The caller has SIGINT and SIGTERM
   * stop it.
   */
  async untilEnded(): Promise<void> {
    try {
      this.#awaited = true;
      const running = this.#stopping === undefined && this.#running ? this.#running : this.run();
      const { signal } = this.#interruption;
      try {
        await running;
        await this.#server?.watchSignals(this.#stopTimes);
      } catch (error) {
        if (error !== signal.reason) throw error;
      }
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
    }
  }

  /** Idempotent. */
  stop(): Promise<void> {
    if (this.#running === undefined) return Promise.resolve();
    // Nobody has to wait for a start that is interrupted.
    this.#running.catch(() => undefined);
    this.#interruption.abort(new TritonError('UNAVAILABLE', 'the server was stopped while it started'));
    return (this.#stopping ??= this.#stop(this.#stopTimes));
  }

  /** Resolves when the start is over. Rejects with UNAVAILABLE when there is none, or with what it failed with. */
  async started(): Promise<void> {
    if (this.#running === undefined || this.#stopping !== undefined) throw notRunning();
    await this.#running;
  }

  /** Looks for changes in the model repository. Rejects with UNAVAILABLE when the server does not run. */
  async pollFolders(): Promise<void> {
    if (!this.#serving || this.#folders === undefined) throw notRunning();
    await this.#folders.poll();
  }

  #newServer(tracing: RequestTracing | undefined): ServerHandle | Promise<ServerHandle> {
    const services = this.#services(tracing);
    if (!this.#config.serverThread) return openLocalServer(this.#options, services);
    const listeners = {
      onDeath: (error: TritonError) => this.#listener()?.(error),
      onGivenUp: (error: TritonError) => this.unrecoverable(error),
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
    const { PolledFolders } = await import('./polled-folders.js');
    this.#folders ??= new PolledFolders({
      repositories,
      mode,
      loadModel,
      disableAutoCompleteConfig,
      pollSecs: repositoryPollSecs,
      bindings: this.#bindings,
      check: this.#check,
    });
    await this.#folders.start(server, { exitOnError });
  }

  async #start(open: OpenServer, signal: AbortSignal): Promise<void> {
    this.#ended = deferred();
    try {
      signal.throwIfAborted();
      const spans = this.#options.tracing?.mode === 'opentelemetry';
      const tracing = spans ? new RequestTracing(await loadOpenTelemetry()) : undefined;
      const server = await open(tracing);
      this.#server = server;
      const watching = this.#awaited ? server.watchSignals(this.#stopTimes) : undefined;
      for (const warning of this.#warnings) process.emitWarning(warning, 'TSTritonWarning');
      this.#ports = await server.start();
      await unlessInterrupted(Promise.all([this.#load(server), watching]), signal);
      this.#folders?.begin();
      this.#serving = true;
    } catch (error) {
      await this.#end({ ...this.#stopTimes, delaySecs: 0, graceSecs: 0 }).catch(() => undefined);
      this.#running = undefined;
      throw error;
    }
  }

  async #load(server: ServerHandle): Promise<void> {
    await this.#readFolders(server);
    await this.#bindings.loadAll(server, this.#config);
    await server.started();
  }

  get #stopTimes(): StopTimes {
    const { shutdownDelaySecs: delaySecs, exitTimeoutSecs: timeoutSecs } = this.#config;
    return { delaySecs, graceSecs: Math.min(LONGEST_GRACE_SECS, timeoutSecs), timeoutSecs };
  }

  async #stop(times: StopTimes): Promise<void> {
    const running = this.#running;
    this.#serving = false;
    // A run that failed has cleaned up after itself.
    await running?.catch(() => undefined);
    const ended = this.#ended;
    try {
      await this.#end(times);
    } finally {
      // Unless run() was called again meanwhile.
      if (this.#running === running || this.#running === undefined) {
        this.#running = undefined;
        this.#stopping = undefined;
      }
      ended?.resolve();
    }
  }

  /** Stops the server, if there is one, and ends the loads that are under way. */
  async #end(times: StopTimes): Promise<void> {
    const server = this.#server;
    this.#serving = false;
    try {
      // First, so that loads which are interrupted do not look like failed ones.
      const stopped = server?.stop(times);
      const loads = [
        ...(this.#folders?.end() ?? []).map((name) => `'${name}'`),
        ...this.#bindings.detach().map(nameOf),
      ];
      if (loads.length > 0) server?.logger.info(`Stopping while models load: ${[...new Set(loads)].join(', ')}`);
      await stopped;
    } finally {
      await this.#forget();
    }
  }

  async #forget(): Promise<void> {
    this.#serving = false;
    this.#server = undefined;
    this.#ports = NO_PORTS;
    await this.#bindings.releaseAll();
    await this.#folders?.close();
  }

  /** No further inference is possible: answers what is under way, shortly, and ends. */
  unrecoverable(error: TritonError): void {
    if (this.#stopping !== undefined) return;
    // Nobody else would tell whoever supervises the process. While it starts, run() rejects.
    if (this.#serving && !this.#awaited && this.#listener() === undefined) process.exitCode = 1;
    this.#server?.logger.error(`shutting down after an unrecoverable error: ${error.message}`);
    this.#ended?.reject(error);
    this.#ended?.promise.catch(() => undefined);
    this.#stopping = this.#stop(UNRECOVERABLE_GRACE);
    this.#listener()?.(error);
  }
}

function nameOf({ config }: ModelBinding): string {
  return `'${config.name}' version ${config.version}`;
}

function notRunning(): TritonError {
  return new TritonError('UNAVAILABLE', 'the server does not run; call run() first');
}

/** Imported when there is one: all of the server would take room and time where it runs in a thread of its own. */
async function openLocalServer(...given: ConstructorParameters<typeof LocalServer>): Promise<LocalServer> {
  const module = await import('./server-handle.js');
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
