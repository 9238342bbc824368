// `RemoteTriton` is the users' class for models that run in this process and are served by another one.

import { inspect, type InspectOptions } from 'node:util';

import { checkMembers, expectInteger, expectObject, textOf } from '../checks/check.js';
import { checkTls } from '../client/check-tls.js';
import type { ClientTls } from '../client/client-options.js';
import { parseUrl, type ServerUrl } from '../client/parse-url.js';
import { invalidArg, TritonError } from '../errors.js';
import { type Deferred, deferred } from '../lifecycle/deferred.js';
import type { ExternalLogger } from '../logger.js';
import type { BoundModel } from '../model/bound-model.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import { refusedStart } from '../server/importing-models.js';
import { ModelBinding } from '../server/model-binding.js';
import { ModelBindings } from '../server/model-bindings.js';
import type { ServerHandle } from '../server/server-handle.js';
import type { StopTimes } from '../server/server-options.js';
import { HEARS_SIGNALS } from '../server/signal-watcher.js';
import { LONGEST_SOCKET_PATH } from '../sockets/unix-socket.js';
import type { JoinOptions } from './joined-tritonserver.js';
import type { LinkTarget } from './link-connection.js';
import { RemoteServer } from './remote-server.js';

/** Options of {@link RemoteTriton} for any server. */
export interface AnyServerOptions {
  /** Certificates, for `grpcs://` and `https://`; a function is asked for them before each connection is made. */
  readonly tls?: ClientTls;
  /** How long `connect()` waits for the server, in milliseconds. Default 10 000. */
  readonly timeoutMs?: number;
  /** How long `stop()` waits for requests under way, in seconds. Default 30. */
  readonly exitTimeoutSecs?: number;
  /** Gets the log of this process's models; by default it goes to standard error. */
  readonly logger?: ExternalLogger;
}

/** Options of {@link RemoteTriton} for a server of TSTriton. */
export interface TstritonServerOptions extends AnyServerOptions {
  readonly engine?: 'tstriton';
  /** The server's `remoteAccessToken`. */
  readonly accessToken: string;
}

/** Options of {@link RemoteTriton} for NVIDIA's Triton Inference Server. It runs with `--model-control-mode=explicit`. */
export interface TritonserverOptions extends AnyServerOptions {
  readonly engine: 'tritonserver';
  /**
   * Where the server's instances find this process: the path of a Unix socket in a folder that both see, or `host:port`. This
   * process listens there.
   */
  readonly instanceAddress: string;
  /** Go with each request to the server, for one that restricts its model repository API. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** Options of {@link RemoteTriton}. */
export type RemoteTritonOptions = TstritonServerOptions | TritonserverOptions;

const MEMBERS = ['engine', 'tls', 'timeoutMs', 'exitTimeoutSecs', 'logger'];
const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_EXIT_SECS = 30;
/** Shells report this code for a process that SIGINT ended. */
const INTERRUPTED_EXIT_CODE = 130;

/**
 * Binds models of this process to a TSTriton server that runs in another one. The server has to allow it by its option
 * `remoteAccessToken`. The callables run here. For the server they are instances of its models: batching, the cache,
 * statistics and all protocols are the server's. Several processes may bind the same model: each is an instance of it. When
 * the link is lost, this process links again, and its models serve again. With `engine: 'tritonserver'` the server is NVIDIA's
 * Triton, which may run in another container.
 *
 * @example
 * const triton = new RemoteTriton('grpc://localhost:8001', { accessToken });
 * triton.bind({
 *   modelName: 'Double',
 *   inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })),
 *   inputs: { x: { dtype: 'float32', shape: [-1] } },
 *   outputs: { y: { dtype: 'float32', shape: [-1] } },
 * });
 * await triton.serve();
 */
export class RemoteTriton {
  readonly #address: string;
  /** Opens the way to the server. */
  readonly #open: () => ServerHandle | Promise<ServerHandle>;
  readonly #times: StopTimes;
  readonly #bindings = new ModelBindings((error) => this.#unrecoverable(error));
  #server: ServerHandle | undefined;
  #connecting: Promise<void> | undefined;
  #stopping: Promise<void> | undefined;
  #ending: Deferred | undefined;
  /** Whether all models that were bound before `connect()` serve. */
  #serves = false;
  /** Called with an unrecoverable error of a model when this process begins to stop; `serve()` rejects with it as well. */
  onUnrecoverable: ((error: TritonError) => void) | undefined;

  /**
   * `url` names the server's gRPC port: `grpc://host:8001`, `grpcs://…` with TLS, `host:8001`, or `unix:/path` for its
   * `remoteSocket`. Of NVIDIA's Triton it may name the HTTP port too. Throws INVALID_ARG for a wrong URL or option.
   */
  constructor(url: string, options: RemoteTritonOptions) {
    const server = serverOf(url);
    expectObject(options, 'options of RemoteTriton');
    const { tls, exitTimeoutSecs = DEFAULT_EXIT_SECS, timeoutMs = DEFAULT_TIMEOUT_MS } = options;
    this.#address = server.address;
    if (options.engine === 'tritonserver') {
      checkMembers(
        options,
        [...MEMBERS, 'instanceAddress', 'headers'],
        "options of RemoteTriton with engine 'tritonserver'",
      );
      const { headers, logger, instanceAddress } = options;
      expectInstanceAddress(instanceAddress);
      if (server.socketPath !== undefined) throw invalidArg(`tritonserver has no Unix socket, got ${server.address}`);
      const join: JoinOptions = { url: server.address, instanceAddress, headers, tls, timeoutMs, logger };
      this.#open = () => openJoined(join);
    } else {
      checkMembers(options, [...MEMBERS, 'accessToken'], 'options of RemoteTriton');
      if (options.engine !== undefined && options.engine !== 'tstriton') {
        throw invalidArg(`engine of RemoteTriton must be tstriton or tritonserver, got ${textOf(options.engine)}`);
      }
      const { accessToken, logger } = options;
      expectToken(accessToken);
      if (server.protocol !== 'grpc') {
        throw invalidArg(
          `RemoteTriton needs the server's gRPC port, such as grpc://localhost:8001, got ${server.address}`,
        );
      }
      const onGivenUp = (error: TritonError) => this.#unrecoverable(error);
      const target: LinkTarget = { server, accessToken };
      this.#open = () => new RemoteServer({ target, tls, timeoutMs, logger, onGivenUp });
    }
    if (tls !== undefined && !server.tls) {
      throw invalidArg(`options.tls of RemoteTriton needs grpcs://, got ${server.address}`);
    }
    if (tls !== undefined) checkTls(tls, 'RemoteTriton');
    expectInteger(timeoutMs, 1, 2 ** 31 - 1, 'timeoutMs of RemoteTriton');
    expectInteger(exitTimeoutSecs, 0, 2_147_483, 'exitTimeoutSecs of RemoteTriton');
    this.#times = { delaySecs: 0, graceSecs: 0, timeoutSecs: exitTimeoutSecs };
  }

  /**
   * Declares a model and its callable, as `bind` of `Triton`. Before `connect()` this only records it; afterwards the model is bound in
   * the background, see {@link ready}. Throws INVALID_ARG for anything that cannot work, ALREADY_EXISTS when the name and version are
   * bound here.
   */
  bind<
    const I extends TensorSpecs,
    const O extends TensorSpecs,
    const Decoupled extends boolean = false,
    const Method extends string = string,
    Loose = never,
  >(model: BoundModel<I, O, Decoupled, Method, Loose>): this {
    this.#bindings.add(new ModelBinding(model as never));
    return this;
  }

  /**
   * Links to the server and binds the models; resolves when they serve. Waits up to `timeoutMs` for a server that is not there yet.
   * When it rejects, nothing is left open. The codes: UNAVAILABLE or DEADLINE_EXCEEDED without a server, UNAUTHENTICATED for a wrong
   * token, UNSUPPORTED for a server that takes no remote models or has another version, and ALREADY_EXISTS for a name that is taken. A
   * model that does not load has a reason of its own. Keeps the process alive until {@link stop}.
   */
  connect(): Promise<void> {
    const refused = refusedStart();
    if (refused !== undefined) return Promise.reject(refused);
    if (this.#connecting !== undefined && this.#stopping === undefined) {
      return Promise.reject(new TritonError('ALREADY_EXISTS', 'the models are connected already'));
    }
    const before = this.#stopping ?? Promise.resolve();
    this.#stopping = undefined;
    this.#connecting = before.then(() => this.#connect());
    return this.#connecting;
  }

  async #connect(): Promise<void> {
    this.#ending = deferred();
    // Nobody has to wait for it.
    this.#ending.promise.catch(() => undefined);
    try {
      const opened = this.#open();
      const server = opened instanceof Promise ? await opened : opened;
      this.#server = server;
      await server.start();
      await this.#bindings.loadAll(server, { exitOnError: true });
      this.#serves = true;
    } catch (error) {
      this.#stopping ??= this.#stop({ ...this.#times, timeoutSecs: 0 });
      await this.#stopping;
      throw error;
    }
  }

  /**
   * Connects, unless that has been done, and serves until SIGINT or SIGTERM; then stops. A second signal ends the process at once, with
   * exit code 130. Rejects as {@link connect} does, and with an unrecoverable error of a model.
   */
  async serve(): Promise<void> {
    let isStopping = false;
    const onSignal = () => {
      if (isStopping) process.exit(INTERRUPTED_EXIT_CODE);
      isStopping = true;
      void this.stop();
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
    try {
      try {
        await (this.#stopping === undefined && this.#connecting ? this.#connecting : this.connect());
      } catch (error) {
        if (!isStopping) throw error;
      }
      if (HEARS_SIGNALS) await this.#server?.watchSignals(this.#times);
      await this.#ending?.promise;
      await this.#stopping;
    } finally {
      process.off('SIGINT', onSignal);
      process.off('SIGTERM', onSignal);
    }
  }

  /**
   * Unbinds the models, and ends the link when their last requests have ended, after `exitTimeoutSecs` at most. A model that no other
   * process has bound is gone from the server. Idempotent. The models stay bound here for the next {@link connect}.
   */
  stop(): Promise<void> {
    if (this.#server === undefined) {
      // It is being opened, if at all.
      const stop = () => (this.#server === undefined ? undefined : this.stop());
      return Promise.resolve(this.#connecting?.then(stop, () => undefined));
    }
    return (this.#stopping ??= this.#stop(this.#times));
  }

  /**
   * Resolves when the model, or without a name every model, is bound to the server. Rejects with NOT_FOUND for a name that is not bound
   * here, UNAVAILABLE without a connection, or with the server's reason for refusing it.
   */
  async ready(modelName?: string): Promise<void> {
    const wanted = this.#bindings.find(modelName);
    if (modelName !== undefined && wanted.length === 0)
      throw new TritonError('NOT_FOUND', `model '${modelName}' is not bound`);
    if (this.#connecting === undefined || this.#stopping !== undefined)
      throw new TritonError('UNAVAILABLE', 'there is no link; call connect() first');
    await this.#connecting;
    for (const { loading } of wanted) await loading;
  }

  /** True while the link is there and the server serves every model of this process. */
  get isReady(): boolean {
    return this.#serves && this.#server?.lives === true && this.#bindings.areReady;
  }

  /** For `console.log` and similar. */
  [inspect.custom](depth: number, options: InspectOptions, show: typeof inspect): string {
    if (depth < 0) return '[RemoteTriton]';
    const models = this.#bindings
      .find()
      .map(
        ({ config: { name, version }, isReady }) => `${name} version ${version}: ${isReady ? 'ready' : 'not ready'}`,
      );
    return `RemoteTriton ${show({ server: this.#address, isLinked: this.#server?.lives === true, models }, options)}`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
  }

  async #stop(times: StopTimes): Promise<void> {
    const server = this.#server;
    const ended = this.#ending;
    this.#serves = false;
    try {
      const stopped = server?.stop(times);
      this.#bindings.detach();
      await stopped;
    } finally {
      await this.#bindings.releaseAll();
      if (this.#server === server) {
        this.#server = undefined;
        this.#connecting = undefined;
        this.#stopping = undefined;
      }
      ended?.resolve();
    }
  }

  #unrecoverable(error: TritonError): void {
    if (this.#stopping !== undefined) return;
    this.#server?.logger.error(`stopping after an unrecoverable error: ${error.message}`);
    this.#ending?.reject(error);
    this.#stopping = this.#stop({ ...this.#times, timeoutSecs: 0.5 });
    this.onUnrecoverable?.(error);
  }
}

/** `unix:/path` is the server's `remoteSocket`. */
function serverOf(url: unknown): ServerUrl {
  const path = typeof url === 'string' ? /^unix:(?:\/\/)?(\/[^\0]+)$/.exec(url)?.[1] : undefined;
  if (path === undefined) return parseUrl(typeof url === 'string' && !url.includes('://') ? `grpc://${url}` : url);
  const server = parseUrl('grpc://localhost');
  return { ...server, socketPath: path, address: `unix:${path}` };
}

/** Imported late, because few processes have that engine, and it needs the client. */
async function openJoined(options: JoinOptions): Promise<ServerHandle> {
  const { JoinedTritonserver } = await import('./joined-tritonserver.js');
  return new JoinedTritonserver(options);
}

function expectToken(accessToken: unknown): void {
  if (typeof accessToken === 'string' && /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(accessToken)) return;
  const got = typeof accessToken === 'string' ? 'other characters' : textOf(accessToken);
  throw invalidArg(`accessToken of RemoteTriton must be a non-empty string of visible ASCII characters, got ${got}`);
}

function expectInstanceAddress(address: unknown): void {
  const port = typeof address === 'string' ? /^[^/\s]+:([0-9]{1,5})$/.exec(address)?.[1] : undefined;
  if (port !== undefined && Number(port) >= 1 && Number(port) <= 65_535) return;
  if (typeof address === 'string' && /^\/[^\0]+$/.test(address) && Buffer.byteLength(address) <= LONGEST_SOCKET_PATH)
    return;
  throw invalidArg(
    `instanceAddress of RemoteTriton must be the absolute path of a Unix socket, of at most ${LONGEST_SOCKET_PATH} bytes, or host:port, got ${textOf(address)}`,
  );
}
