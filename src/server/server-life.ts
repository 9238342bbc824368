// Manages the life of a server from one start to the next. It starts the server with all bound models, and stops it for
// its user or after an unrecoverable error.

import { type CompleteTritonConfig, expectEndpoint } from '../config/complete-triton-config.js';
import type { ReadTritonConfig } from '../config/read-triton-config.js';
import { invalidArg, TritonError } from '../errors.js';
import { loadOpenTelemetry } from '../host/opentelemetry.js';
import { RequestTracing } from '../host/request-tracing.js';
import { type Deferred, deferred } from '../lifecycle/deferred.js';
import { unlessInterrupted } from '../lifecycle/interrupted-load.js';
import type { InProcessRun } from '../frontend/served-core.js';
import { Mount } from './mount.js';
import type { ModelBinding } from './model-binding.js';
import type { ModelBindings } from './model-bindings.js';
import type { PolledFolders } from './polled-folders.js';
import type { LocalServer, ServerHandle, ServerServices } from './server-handle.js';
import { NO_PORTS, withoutPorts, type ServerOptions, type ServerPorts, type StopTimes } from './server-options.js';
import { HEARS_SIGNALS } from './signal-watcher.js';
import { watchStandardOutput } from './standard-output.js';
import { ThreadServer } from './thread-server.js';

/** How long requests under way may go on after an unrecoverable error. */
const UNRECOVERABLE_GRACE: StopTimes = { delaySecs: 0, graceSecs: 0, timeoutSecs: 0.5 };
/** Requests that clients send before they know of a stop are answered. */
const LONGEST_GRACE_SECS = 0.5;
type OpenServer = (tracing: RequestTracing | undefined) => ServerHandle | Promise<ServerHandle>;

interface LifeSurroundings {
  readonly read: ReadTritonConfig;
  readonly options: ServerOptions;
  readonly bindings: ModelBindings;
  /** Refuses a model that does not fit the server's own options. Throws INVALID_ARG. */
  readonly check: (binding: ModelBinding) => void;
  /** Returns the current listener for unrecoverable errors. */
  readonly listener: () => ((error: TritonError) => void) | undefined;
}

export class ServerLife {
  readonly #config: CompleteTritonConfig;
  readonly #read: ReadTritonConfig;
  readonly #options: ServerOptions;
  readonly #bindings: ModelBindings;
  readonly #check: LifeSurroundings['check'];
  readonly #listener: LifeSurroundings['listener'];
  /** The models of `modelRepository`, from the first read on. */
  #folders: PolledFolders | undefined;
  #server: ServerHandle | undefined;
  #leaveOutput: (() => void) | undefined;
  readonly #mount: Mount;
  #ports = NO_PORTS;
  #running: Promise<void> | undefined;
  /** Ends the start. */
  #interruption = new AbortController();
  #stopping: Promise<void> | undefined;
  /** Whether everything bound before `run()` is loaded. */
  #serving = false;
  /** Whether `serve()` waits; it then rejects with the error that ends the server. */
  #awaited = false;
  /** Ends `serve()`, by a stop or with the error that ends the server. */
  #ended: Deferred | undefined;

  constructor({ read, options, bindings, check, listener }: LifeSurroundings) {
    this.#read = read;
    this.#config = read.config;
    this.#options = options;
    this.#bindings = bindings;
    this.#mount = new Mount((path) => bindings.hasPath(path));
    this.#check = check;
    this.#listener = listener;
  }

  get ports(): ServerPorts {
    return this.#ports;
  }

  get isStopping(): boolean {
    return this.#stopping !== undefined;
  }

  /** Whether the server runs, and all models have loaded or failed to load. */
  get serves(): boolean {
    return this.#serving && this.#server?.lives === true;
  }

  /** Whether the server serves and every model is ready. A model in a folder that could not be bound is not ready. */
  get isReady(): boolean {
    return this.serves && this.#bindings.areReady && !this.#folders?.areBroken;
  }

  /** Whether user's code still runs that the last stop did not wait for. */
  get leavesBehind(): boolean {
    return this.#running === undefined && this.#bindings.areLeftBehind;
  }

  get state(): string {
    if (this.#stopping !== undefined) return 'stopping';
    if (this.#running === undefined) return 'stopped';
    if (!this.#serving) return 'starting';
    return this.isReady ? 'ready' : 'not ready';
  }

  /**
   * Handlers in other HTTP servers. Throws INVALID_ARG when the server runs without them: it may run in another thread.
   */
  get mount(): Mount {
    this.#expectOwnEngine();
    if (this.#running !== undefined && !this.#mount.isAsked) {
      throw invalidArg('handlers have to be made before run(), because a server with handlers runs in their thread');
    }
    return this.#mount;
  }

  /** For clients in this thread. Throws INVALID_ARG when the server runs in another thread. */
  openTransport(): unknown {
    this.#expectOwnEngine();
    if (this.#running !== undefined && !this.#mount.isAsked && this.#mount.running === undefined) {
      throw invalidArg(
        'the server runs in a thread of its own: a client takes a Triton in the place of a URL if it is made before run(), or with serverThread: false',
      );
    }
    return this.#mount.local();
  }

  /** Throws UNSUPPORTED where the engine has no place in this process. */
  #expectOwnEngine(): void {
    if (this.#config.engine !== 'tritonserver') return;
    throw new TritonError(
      'UNSUPPORTED',
      "engine: 'tritonserver' has ports of its own alone: handlers and clients of this process need engine: 'tstriton'",
    );
  }

  /** Rejects also with INVALID_ARG when nobody could reach the server. */
  run(): Promise<void> {
    try {
      if (!this.#mount.isAsked) expectEndpoint(this.#config);
    } catch (error) {
      return Promise.reject(error as TritonError);
    }
    return this.#run((tracing) => this.#newServer(tracing));
  }

  /** Runs without ports; resolves to the core. */
  async runInProcess(): Promise<InProcessRun> {
    let run!: InProcessRun;
    await this.#run(async (tracing) => {
      const server = await openLocalServer(withoutPorts(this.#options), this.#services(tracing));
      run = server.inProcess;
      return server;
    });
    return run;
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
   * Runs the server, unless it runs already, until it has stopped. Rejects with the error that ends the server. The
   * caller must stop it on SIGINT and SIGTERM.
   */
  async untilEnded(): Promise<void> {
    try {
      this.#awaited = true;
      const running = this.#stopping === undefined && this.#running ? this.#running : this.run();
      const { signal } = this.#interruption;
      try {
        await running;
        if (HEARS_SIGNALS) await this.#server?.watchSignals(this.#stopTimes);
      } catch (error) {
        if (error !== signal.reason) throw error;
      }
      try {
        await this.#ended?.promise;
      } catch (error) {
        // Requests under way are answered first, because the caller may end the process afterwards.
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

  /** Resolves when the start is over. Rejects with the reason of its failure, or with UNAVAILABLE without a start. */
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
    if (this.#config.engine === 'tritonserver') return this.#newTritonserver(tracing);
    const services = this.#services(tracing);
    if (!this.#config.serverThread || this.#mount.isAsked) return openLocalServer(this.#options, services);
    return new ThreadServer(this.#options, this.#deathListeners, services);
  }

  /** Imported late, because few servers run so. */
  async #newTritonserver(tracing: RequestTracing | undefined): Promise<ServerHandle> {
    const { TritonserverEngine } = await import('./tritonserver-engine.js');
    return new TritonserverEngine(this.#read, this.#options, this.#deathListeners, tracing);
  }

  get #deathListeners() {
    return {
      onDeath: (error: TritonError) => this.#listener()?.(error),
      onGivenUp: (error: TritonError) => this.unrecoverable(error),
    };
  }

  #services(tracing: RequestTracing | undefined): ServerServices {
    const { logger } = this.#config;
    const mount = this.#mount;
    return {
      tracing,
      logger,
      mount,
      loadFolder: (name, parameters, ready) => this.#folders!.load(name, parameters, ready),
    };
  }

  /** Reads the model repository, if there is one, before anything is loaded. */
  async #readFolders(server: ServerHandle): Promise<void> {
    const { modelRepository: repositories, repositoryPollSecs, exitOnError } = this.#config;
    const { modelControlMode: mode, loadModel, disableAutoCompleteConfig } = this.#config;
    // tritonserver reads them itself.
    if (repositories.length === 0 || this.#config.engine === 'tritonserver') return;
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
      this.#leaveOutput = watchStandardOutput(server.logger);
      const watching = this.#awaited && HEARS_SIGNALS ? server.watchSignals(this.#stopTimes) : undefined;
      for (const warning of this.#read.warnings) process.emitWarning(warning, 'TSTritonWarning');
      this.#ports = await server.start();
      await unlessInterrupted(Promise.all([this.#load(server), watching]), signal);
      this.#serving = true;
    } catch (error) {
      await this.#end({ ...this.#stopTimes, delaySecs: 0, graceSecs: 0 }).catch(() => undefined);
      this.#running = undefined;
      throw error;
    }
  }

  async #load(server: ServerHandle): Promise<void> {
    await this.#readFolders(server);
    const loaded = this.#bindings.loadAll(server, this.#config);
    this.#folders?.begin();
    await loaded;
    await server.started();
  }

  get #stopTimes(): StopTimes {
    const { shutdownDelaySecs: delaySecs, exitTimeoutSecs: timeoutSecs } = this.#config;
    // Where nobody waits for the end, as in tests and scripts, stop() is to be quick.
    const graceSecs = this.#awaited ? Math.min(LONGEST_GRACE_SECS, timeoutSecs) : 0;
    return { delaySecs, graceSecs, timeoutSecs };
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
      // A new run() may have begun meanwhile.
      if (this.#running === running || this.#running === undefined) {
        this.#running = undefined;
        this.#stopping = undefined;
      }
      ended?.resolve();
    }
  }

  /** Stops the server, if there is one, and ends the loads under way. */
  async #end(times: StopTimes): Promise<void> {
    const server = this.#server;
    this.#serving = false;
    try {
      // The stop begins first, so that interrupted loads do not look like failed ones.
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
    this.#leaveOutput?.();
    this.#ports = NO_PORTS;
    await this.#bindings.releaseAll();
    await this.#folders?.close();
  }

  /** Ends the server after an unrecoverable error; requests under way have a short time. */
  unrecoverable(error: TritonError): void {
    if (this.#stopping !== undefined) return;
    // Only the exit code can tell the supervisor of the process. During the start, run() rejects instead.
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

/**
 * Imports the server only where it runs in this thread. Otherwise the import would cost time and memory for nothing.
 */
async function openLocalServer(...given: ConstructorParameters<typeof LocalServer>): Promise<LocalServer> {
  const module = await import('./server-handle.js');
  return new module.LocalServer(...given);
}
