// Serves the models of this process with a tritonserver that runs already, perhaps in another container: loads them into it
// through its API, and runs their batches. It loads them again when tritonserver, or the way to it, was gone.

import { randomUUID } from 'node:crypto';
import type { ListenOptions } from 'node:net';
import { isDeepStrictEqual } from 'node:util';

import type { ClientTls } from '../client/client-options.js';
import { ServerClient } from '../client/server/server-client.js';
import { TritonError } from '../errors.js';
import { joinSignals } from '../lifecycle/join-signals.js';
import { pause } from '../lifecycle/pause.js';
import { Turns } from '../lifecycle/turns.js';
import { untilThere } from '../lifecycle/until-there.js';
import { DEFAULT_LOG_SETTINGS, type ExternalLogger, ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { listOpening } from '../server/list-opening.js';
import { type ClosableLogSink, openLogSink, writeTo } from '../server/log-sink.js';
import { type ListedOpening, RetiringOpenings } from '../server/retiring-openings.js';
import type { EndableLoad, HostedModel, ServerHandle } from '../server/server-handle.js';
import { NO_PORTS, type ServerPorts, type StopTimes } from '../server/server-options.js';
import { SignalWatcher } from '../server/signal-watcher.js';
import { removeDeadSocket } from '../sockets/unix-socket.js';
import { writtenConfig } from '../tritonserver/config-text.js';
import { InstanceListener } from '../tritonserver/instance-listener.js';
import { expectOneDeclaration, versionFiles } from '../tritonserver/model-folders.js';
import { Heartbeat } from './heartbeat.js';

/** Between looks for a tritonserver that is gone, in milliseconds. */
const LOOK_MS = 500;
/** For calls that need no time of their own, in milliseconds. */
const CALL_MS = 5000;
/** The signal thread writes to standard error. */
const SIGNAL_LOG = { logFile: undefined, logSettings: DEFAULT_LOG_SETTINGS };
/** A model may take long to load, and a heartbeat bounds its calls itself. */
const LOAD_MS = 24 * 3_600_000;
/** To load again what has loaded before, in milliseconds, or this many times as long as it took. Twice as long after each try. */
const LOAD_AGAIN_MS = 20_000;
const LOAD_AGAIN_FACTOR = 4;
/** The parameter of a model's configuration that says which process has bound it. */
const OWNER = 'tstriton_instance_address';
/** Differs from load to load: tritonserver loads nothing anew that is the same. */
const LOAD = 'tstriton_load';

export interface JoinOptions {
  readonly url: string;
  /** Where `model.py` finds this process: the path of a Unix socket, or `host:port`. */
  readonly instanceAddress: string;
  readonly headers: Readonly<Record<string, string>> | undefined;
  readonly tls: ClientTls | undefined;
  /** How long `start` waits for tritonserver. */
  readonly timeoutMs: number;
  readonly logger: ExternalLogger | undefined;
}

/** A version that tritonserver serves, or served. */
interface Served extends ListedOpening {
  readonly config: CompleteModelConfig;
  readonly model: HostedModel;
}

interface LoadLimits {
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

export class JoinedTritonserver implements ServerHandle {
  readonly tracing = undefined;
  readonly logger: ServerLogger;
  readonly #options: JoinOptions;
  readonly #sink: ClosableLogSink;
  readonly #listener: InstanceListener;
  readonly #client: ServerClient;
  /** By name and version number. */
  readonly #models = new Map<string, Map<number, Served>>();
  readonly #retiring: RetiringOpenings;
  /**
   * How long each name may take to load again. An answer may never come, from a live machine: the instances of a tritonserver that was
   * killed while it loaded may outlive it, and hold its connections.
   */
  readonly #limits = new Map<string, number>();
  /** Names of models that are to be loaded again. */
  readonly #lost = new Set<string>();
  /** Names of models that are loaded again now. */
  readonly #loadingAgain = new Set<string>();
  /** Loads and unloads of each name, in turn. */
  readonly #turns = new Turns();
  readonly #over = new AbortController();
  /** Aborts when tritonserver is silent. */
  #silence = new AbortController();
  #heartbeat: Heartbeat | undefined;
  #isLinked = false;
  #isWatching = false;
  /** What the log was told last of each name, and of tritonserver under '', so that it is not told again and again. */
  readonly #failures = new Map<string, string>();
  #watcher: SignalWatcher | undefined;
  #stopping: Promise<void> | undefined;

  constructor(options: JoinOptions) {
    const { url, headers, tls, logger } = options;
    this.#options = options;
    this.#sink = openLogSink(undefined, writeTo(logger));
    this.logger = new ServerLogger(this.#sink);
    this.#listener = new InstanceListener(this.logger);
    this.#retiring = new RetiringOpenings(this.#listener);
    this.#client = new ServerClient(url, {
      ...(headers !== undefined && { headers }),
      ...(tls !== undefined && { tls }),
      retry: false,
    });
  }

  get lives(): boolean {
    return this.#isLinked;
  }

  async start(): Promise<ServerPorts> {
    const { url, timeoutMs, instanceAddress } = this.#options;
    await this.#listener.listen(await placeOf(instanceAddress));
    await this.#live(timeoutMs);
    this.#isLinked = true;
    this.#heartbeat = new Heartbeat({
      ask: (signal) => this.#client.isLive({ timeoutMs: LOAD_MS, signal }),
      onSilent: () => this.#silent(),
    });
    this.logger.info(`serving through the tritonserver at ${url}`);
    return NO_PORTS;
  }

  /** Waits until it answers. */
  #live(timeoutMs: number): Promise<void> {
    const { signal } = this.#over;
    const attempt = async (leftMs: number) => {
      if (await this.#client.isLive({ timeoutMs: Math.max(1, Math.round(leftMs)), signal })) return;
      throw new TritonError('UNAVAILABLE', `${this.#options.url} is not live`);
    };
    return untilThere({ timeoutMs, pauseMs: LOOK_MS, signal, attempt });
  }

  load(model: HostedModel, { signal }: EndableLoad): Promise<void> {
    return this.#turns.take(model.config.name, () => this.#load(model, signal));
  }

  async #load(model: HostedModel, signal: AbortSignal): Promise<void> {
    const { config } = model;
    const { name, version } = config;
    const versions = this.#models.get(name) ?? new Map<number, Served>();
    writtenConfig(config);
    expectOneDeclaration(config, versions.values());
    if (versions.size === 0) await this.#expectFree(name);
    const before = versions.get(version);
    const opening = await model.open(undefined, signal);
    const key: string = listOpening(model, opening, {
      listener: this.#listener,
      logger: this.logger,
      tracing: undefined,
      onLost: () => {
        this.#lost.add(name);
        void this.#watch();
      },
      onLeft: () => void this.#watch(),
    });
    const served: Served = { config, model, opening, key };
    this.#models.set(name, versions.set(version, served));
    try {
      const startedAt = performance.now();
      await this.#ask(name, { signal });
      this.#limits.set(name, Math.max(LOAD_AGAIN_MS, LOAD_AGAIN_FACTOR * (performance.now() - startedAt)));
      model.isReady = true;
    } catch (error) {
      if (before === undefined) versions.delete(version);
      else versions.set(version, before);
      if (versions.size === 0) this.#models.delete(name);
      this.#listener.remove(key);
      await opening.close();
      // tritonserver goes on with it, and finds no instance.
      if (signal.aborted && versions.size === 0)
        await this.#client.unloadModel(name, { timeoutMs: CALL_MS }).catch(() => undefined);
      throw error;
    }
    if (before !== undefined) this.#retiring.add(before);
  }

  /** Has tritonserver load the versions of a name. */
  async #ask(name: string, { timeoutMs = LOAD_MS, signal: given }: LoadLimits = {}): Promise<void> {
    const { instanceAddress, url } = this.#options;
    const silence = this.#silence.signal;
    const versions = [...this.#models.get(name)!.values()];
    const { json, files } = writtenConfig(versions[0]!.config);
    const owner = { [OWNER]: { string_value: instanceAddress }, [LOAD]: { string_value: randomUUID() } };
    const config = { ...json, parameters: { ...(json['parameters'] as object | undefined), ...owner } };
    const all = [...files, ...versions.flatMap((version) => [...versionFiles(version, instanceAddress)])];
    const { signal, release } = joinSignals([this.#over.signal, silence, given]);
    try {
      await this.#client.loadModel(name, {
        config,
        files: Object.fromEntries(all.map(([file, content]) => [file, Buffer.from(content)])),
        timeoutMs,
        signal: signal!,
      });
    } catch (thrown) {
      const error = TritonError.from(thrown);
      if (silence.aborted)
        throw new TritonError('UNAVAILABLE', `the tritonserver at ${url} is silent`, { cause: error });
      if (!error.message.includes('explicit model load')) throw error;
      const message = `the tritonserver at ${url} takes no models: it needs --model-control-mode=explicit`;
      throw new TritonError('UNSUPPORTED', message, { cause: error });
    } finally {
      release();
    }
  }

  /** Rejects with ALREADY_EXISTS for a name that another model has. */
  async #expectFree(name: string): Promise<void> {
    const options = { timeoutMs: this.#options.timeoutMs, signal: this.#over.signal };
    if (!(await this.#client.isModelReady(name, options))) return;
    const { parameters } = await this.#client.modelConfig(name, options);
    // Only this process listens at its address, so that the model is one that an earlier process has left.
    if (
      isDeepStrictEqual((parameters as Record<string, unknown> | undefined)?.[OWNER], {
        stringValue: this.#options.instanceAddress,
      })
    )
      return;
    const message = `model '${name}' is loaded already in the tritonserver at ${this.#options.url}, and not by this process`;
    throw new TritonError('ALREADY_EXISTS', message);
  }

  async listBroken(): Promise<void> {}

  async started(): Promise<void> {}

  unload(config: CompleteModelConfig): Promise<void> {
    return this.#turns.take(config.name, async () => {
      const { name, version } = config;
      const versions = this.#models.get(name);
      const served = versions?.get(version);
      if (served === undefined) return;
      versions!.delete(version);
      if (versions!.size === 0) this.#models.delete(name);
      this.#retiring.add(served);
      // Where it is gone, it serves nothing.
      if (!this.#isLinked) return;
      if (versions!.size > 0) await this.#ask(name);
      else await this.#client.unloadModel(name, { timeoutMs: CALL_MS });
    });
  }

  retired(config: CompleteModelConfig): Promise<void> {
    return this.#retiring.ended(config);
  }

  /** Looks after models that have no instances, or have lost one. A model that a client has unloaded stays unloaded. */
  async #watch(): Promise<void> {
    if (this.#isWatching) return;
    this.#isWatching = true;
    while (!this.#over.signal.aborted && (this.#lost.size > 0 || this.#unready().length > 0)) {
      await pause(LOOK_MS, this.#over.signal);
      const isThere = await this.#isThere();
      // A load may never end, and other names do not wait for it. A name whose load fails comes back, after the next look.
      if (isThere) for (const name of this.#lost) void this.#loadAgain(name);
      // It has none of the models when it is there again.
      else for (const name of this.#unready()) this.#lost.add(name);
    }
    this.#isWatching = false;
  }

  /** Nothing can come of the batches under way. When it is there again, it may have none of the models. */
  #silent(): void {
    this.#silence.abort();
    this.#silence = new AbortController();
    for (const versions of this.#models.values()) for (const { key } of versions.values()) this.#listener.lose(key);
  }

  /** Without those that are loaded again now. */
  #unready(): readonly string[] {
    const names = [...this.#models.keys()].filter((name) => !this.#loadingAgain.has(name));
    return names.filter((name) => [...this.#models.get(name)!.values()].some(({ model }) => !model.isReady));
  }

  async #isThere(): Promise<boolean> {
    const options = { timeoutMs: CALL_MS, signal: this.#over.signal };
    let reason = 'it is not live';
    const isThere = await this.#client.isLive(options).catch((error: unknown) => {
      reason = TritonError.from(error).message;
      return false;
    });
    if (!isThere && !this.#over.signal.aborted) {
      // It was there meanwhile.
      if (this.#isLinked) this.#failures.clear();
      this.#tell('', `the tritonserver at ${this.#options.url} is gone; looking for it: ${reason}`);
    }
    this.#isLinked = isThere;
    return isThere;
  }

  async #loadAgain(name: string): Promise<void> {
    if (this.#loadingAgain.has(name)) return;
    this.#loadingAgain.add(name);
    const limitMs = Math.round(this.#limits.get(name) ?? LOAD_AGAIN_MS);
    try {
      await this.#turns.take(name, async () => {
        this.#lost.delete(name);
        const versions = this.#models.get(name);
        if (versions === undefined || this.#over.signal.aborted) return;
        await this.#ask(name, { timeoutMs: limitMs });
        for (const { model } of versions.values()) model.isReady = true;
        this.#failures.delete(name);
        this.logger.info(`model '${name}' is loaded again`);
      });
    } catch (thrown) {
      if (this.#over.signal.aborted) return;
      this.#lost.add(name);
      const { code, message } = TritonError.from(thrown);
      if (code === 'DEADLINE_EXCEEDED') this.#limits.set(name, Math.min(LOAD_MS, 2 * limitMs));
      this.#tell(name, `model '${name}' is not loaded again: ${message}`);
    } finally {
      this.#loadingAgain.delete(name);
      void this.#watch();
    }
  }

  /** Says a failure in the log, once for as long as it stays the same. */
  #tell(name: string, failure: string): void {
    if (failure !== this.#failures.get(name)) this.logger.error(failure);
    this.#failures.set(name, failure);
  }

  watchSignals(times: StopTimes): Promise<void> {
    return (this.#watcher ??= new SignalWatcher(times, SIGNAL_LOG)).watching;
  }

  stop(times: StopTimes): Promise<void> {
    return (this.#stopping ??= this.#stop(times));
  }

  async #stop({ timeoutSecs }: StopTimes): Promise<void> {
    const all = [...this.#models.values()].flatMap((versions) => [...versions.values()]);
    const late = setTimeout(() => this.#over.abort(), timeoutSecs * 1000);
    const cut = new Promise<void>((resolve) => this.#over.signal.addEventListener('abort', () => resolve()));
    try {
      const unloaded = all.map(async ({ config }) => {
        await this.unload(config).catch((error: unknown) => this.logger.error(TritonError.from(error).message));
        await this.retired(config);
      });
      await Promise.race([Promise.all(unloaded), cut]);
    } finally {
      clearTimeout(late);
      this.#heartbeat?.close();
      this.#over.abort();
      this.#isLinked = false;
      await this.#listener.close();
      await this.#client.close();
      await this.#watcher?.close();
      this.#sink.close();
    }
  }
}

/** Where to listen. */
async function placeOf(address: string): Promise<ListenOptions> {
  const port = /^[^/]+:([0-9]+)$/.exec(address)?.[1];
  if (port !== undefined) return { port: Number(port) };
  try {
    await removeDeadSocket(address);
  } catch (error) {
    throw new TritonError('UNAVAILABLE', `cannot listen at ${address}: ${(error as Error).message}`, { cause: error });
  }
  // tritonserver may run as another user. The key of a model is what lets its instances in.
  return { path: address, readableAll: true, writableAll: true };
}
