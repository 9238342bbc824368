// Serves the bound models with NVIDIA's tritonserver: a process of its own, whose python backend hands batches to the
// callables of this process. It starts with a model repository made for it, and restarts when it dies.

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { ServerClient } from '../client/server/server-client.js';
import type { ReadTritonConfig } from '../config/read-triton-config.js';
import { tritonserverFlags, type TritonserverPorts } from '../config/tritonserver-options.js';
import { TritonError } from '../errors.js';
import type { RequestTracing } from '../host/request-tracing.js';
import { ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { modelKey } from '../model/complete-model-config.js';
import { findTritonserver } from '../tritonserver/find-tritonserver.js';
import { freePort } from '../tritonserver/free-port.js';
import { InstanceListener } from '../tritonserver/instance-listener.js';
import { END_SECS, KeptTritonserver } from '../tritonserver/kept-tritonserver.js';
import { ModelFolders } from '../tritonserver/model-folders.js';
import { listOpening } from './list-opening.js';
import { openLogSink, type ClosableLogSink, writeTo } from './log-sink.js';
import type { ModelOpening } from './model-opening.js';
import { type ListedOpening, RetiringOpenings } from './retiring-openings.js';
import type { EndableLoad, HostedModel, ServerHandle } from './server-handle.js';
import type { ServerOptions, ServerPorts, StopTimes } from './server-options.js';
import { SignalWatcher } from './signal-watcher.js';

export interface TritonserverListeners {
  /** tritonserver died and is about to restart. */
  readonly onDeath: (error: TritonError) => void;
  /** tritonserver is dead and does not restart. */
  readonly onGivenUp: (error: TritonError) => void;
}

const REVIVE_MS = 500;

/** A model that tritonserver serves, or served: its last requests may be under way. */
interface Served extends ListedOpening {
  readonly model: HostedModel;
}

export class TritonserverEngine implements ServerHandle {
  readonly tracing: RequestTracing | undefined;
  readonly logger: ServerLogger;
  readonly #read: ReadTritonConfig;
  readonly #options: ServerOptions;
  readonly #listeners: TritonserverListeners;
  readonly #sink: ClosableLogSink;
  readonly #scratch = mkdtempSync(join(tmpdir(), 'tstriton-'));
  readonly #listener: InstanceListener;
  readonly #folders: ModelFolders;
  readonly #served = new Map<string, Served>();
  readonly #retiring: RetiringOpenings;
  /** Models that load again. */
  readonly #reviving = new Set<string>();
  #ports: TritonserverPorts | undefined;
  #tritonserver: KeptTritonserver | undefined;
  #client: ServerClient | undefined;
  #watcher: SignalWatcher | undefined;
  #stopping: Promise<void> | undefined;

  constructor(
    read: ReadTritonConfig,
    options: ServerOptions,
    listeners: TritonserverListeners,
    tracing?: RequestTracing,
  ) {
    this.#read = read;
    this.#options = options;
    this.#listeners = listeners;
    this.tracing = tracing;
    this.#sink = openLogSink(options.logFile, writeTo(read.config.logger));
    this.logger = new ServerLogger(this.#sink, options.logSettings);
    this.#listener = new InstanceListener(this.logger);
    this.#retiring = new RetiringOpenings(this.#listener);
    const address = join(this.#scratch, 'instances');
    this.#folders = new ModelFolders(join(this.#scratch, 'models'), address);
  }

  get lives(): boolean {
    return this.#tritonserver?.lives === true;
  }

  /** Chooses the ports. tritonserver starts once it is known which models it has. */
  async start(): Promise<ServerPorts> {
    const { config } = this.#read;
    await this.#listener.listen({ path: join(this.#scratch, 'instances') });
    const port = (what: string, isOn: boolean, address: string, given: number) =>
      isOn ? freePort(what, address, given) : undefined;
    const http = await port('HTTP', config.allowHttp, config.httpAddress, config.httpPort);
    const grpc = await port('gRPC', config.allowGrpc, config.grpcAddress, config.grpcPort);
    const metrics = await port('metrics', config.allowMetrics, config.metricsAddress, config.metricsPort);
    this.#ports = { http, grpc, metrics };
    this.#client = this.#newClient();
    this.#tritonserver = this.#keep(this.#client);
    const vertexAi = config.allowVertexAi ? config.vertexAiPort : undefined;
    return { http, grpc, metrics, vertexAi, sagemaker: config.allowSagemaker ? config.sagemakerPort : undefined };
  }

  async load(model: HostedModel, { signal }: EndableLoad): Promise<void> {
    const { config } = model;
    const served = this.#list(model, await model.open(undefined, signal));
    const before = this.#served.get(modelKey(config));
    try {
      this.#folders.put({ config, key: served.key });
      this.#served.set(modelKey(config), served);
      if (!this.lives) return;
      await this.#client!.loadModel(config.name, { signal });
      model.isReady = true;
    } catch (error) {
      this.#listener.remove(served.key);
      this.#served.delete(modelKey(config));
      if (before !== undefined) {
        this.#served.set(modelKey(config), before);
        this.#folders.put({ config: before.model.config, key: before.key });
      }
      await served.opening.close();
      throw error;
    }
    if (before !== undefined) this.#retiring.add(before);
  }

  async listBroken(): Promise<void> {}

  async unload(config: CompleteModelConfig): Promise<void> {
    const served = this.#served.get(modelKey(config));
    this.#served.delete(modelKey(config));
    const isLeft = this.#folders.remove(config);
    if (this.lives) {
      if (isLeft) await this.#client!.loadModel(config.name);
      else await this.#client!.unloadModel(config.name);
    }
    if (served !== undefined) this.#retiring.add(served);
  }

  retired(config: CompleteModelConfig): Promise<void> {
    return this.#retiring.ended(config);
  }

  /** Starts tritonserver with the models so far. Rejects with the reason when it ends, or when a model did not load. */
  async started(): Promise<void> {
    await this.#tritonserver!.start();
    await this.#expectLoaded();
  }

  async watchSignals(times: StopTimes): Promise<void> {
    await (this.#watcher ??= new SignalWatcher(times, this.#options)).watching;
  }

  stop(times: StopTimes): Promise<void> {
    return (this.#stopping ??= this.#stop(times));
  }

  async #stop({ timeoutSecs }: StopTimes): Promise<void> {
    try {
      // tritonserver waits for open connections.
      await this.#client?.close();
      await this.#tritonserver?.stop(timeoutSecs);
      await this.#listener.close();
    } finally {
      rmSync(this.#scratch, { recursive: true, force: true });
      await this.#watcher?.close();
      this.logger.info('Server stopped');
      this.#sink.close();
    }
  }

  /** Expects the instances of an opened model. */
  #list(model: HostedModel, opening: ModelOpening): Served {
    const key = listOpening(model, opening, {
      listener: this.#listener,
      logger: this.logger,
      tracing: this.tracing,
      onLost: () => void this.#revive(opening.config, key),
    });
    return { model, opening, key };
  }

  /** Loads a model again of which a process has died: tritonserver leaves it at that. */
  async #revive(config: CompleteModelConfig, key: string): Promise<void> {
    const { name } = config;
    const isServed = () => this.lives && this.#served.get(modelKey(config))?.key === key;
    // When tritonserver itself has died, that is known soon.
    await new Promise((resolve) => setTimeout(resolve, REVIVE_MS));
    if (!isServed() || this.#reviving.has(name)) return;
    this.#reviving.add(name);
    this.logger.error(`a process of model '${name}' ended: loading the model again`);
    try {
      // Only a model whose files have changed is loaded anew.
      this.#folders.put({ config, key });
      await this.#client!.loadModel(name);
      const served = this.#served.get(modelKey(config));
      if (served !== undefined) served.model.isReady = true;
    } catch (error) {
      if (isServed()) this.logger.error(`model '${name}' did not load again: ${TritonError.from(error).message}`);
    } finally {
      this.#reviving.delete(name);
    }
  }

  #keep(client: ServerClient): KeptTritonserver {
    const { binary, flags, environment } = findTritonserver(this.#read.config.tritonserverPath, this.#scratch);
    const { given, restrictions, config } = this.#read;
    const { exitTimeoutSecs } = config;
    const ours = tritonserverFlags({ given, ports: this.#ports!, restrictions, exitTimeoutSecs });
    return new KeptTritonserver({
      process: {
        binary,
        // Failures of models come by name, see below.
        flags: [`--model-repository=${this.#folders.folder}`, '--exit-on-error=false', ...flags, ...ours],
        environment,
        logger: this.logger,
        limitSecs: exitTimeoutSecs + END_SECS,
        folder: this.#scratch,
      },
      isLive: () => client.isLive().catch(() => false),
      onDeath: (error) => {
        for (const { model } of this.#served.values()) model.isReady = false;
        this.#listeners.onDeath(error);
      },
      onBack: () =>
        this.#expectLoaded().catch((reason: unknown) => this.logger.error(TritonError.from(reason).message)),
      onGivenUp: this.#listeners.onGivenUp,
    });
  }

  #newClient(): ServerClient {
    const { http, grpc } = this.#ports!;
    const { restrictions, config } = this.#read;
    const isHttp = http !== undefined;
    const address = isHttp ? config.httpAddress : config.grpcAddress;
    const host = address === '0.0.0.0' ? '127.0.0.1' : address;
    const prefix = isHttp ? '' : 'triton-grpc-protocol-';
    const headers = Object.fromEntries(
      restrictions[isHttp ? 'http' : 'grpc'].map(({ key, value }) => [prefix + key, value]),
    );
    return new ServerClient(isHttp ? `http://${host}:${http}` : `grpc://${host}:${grpc}`, {
      headers,
      timeoutMs: 24 * 3_600_000,
    });
  }

  /** Rejects with the reason when a model that was to be loaded is not. */
  async #expectLoaded(): Promise<void> {
    const { config } = this.#read;
    const index = await this.#client!.repositoryIndex();
    const failures: string[] = [];
    let isTaken = false;
    for (const { name, version, state, reason } of index) {
      const served = this.#served.get(`${name}/${version}`);
      if (served !== undefined) served.model.isReady = state === 'READY';
      if (state !== 'UNAVAILABLE' || reason === '' || reason === 'unloaded') continue;
      isTaken ||= reason.includes('two or more repositories');
      // A failure of all versions has none.
      failures.push(`model '${name}'${version === '' ? '' : ` version ${version}`}: ${reason}`);
    }
    if (failures.length === 0 || !config.exitOnError) return;
    throw new TritonError(isTaken ? 'ALREADY_EXISTS' : 'INTERNAL', failures.join('; '));
  }
}
