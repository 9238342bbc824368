// The engine and its frontends, assembled: the whole server, in whatever thread it is started.

import { InferenceServer } from '../core/inference-server.js';
import type { ModelInstance } from '../core/instance/model-instance.js';
import type { Frontend } from '../frontend/frontend.js';
import { GrpcFrontend } from '../frontend/grpc/grpc-frontend.js';
import { HttpFrontend } from '../frontend/http/http-frontend.js';
import { MetricsFrontend } from '../frontend/metrics/metrics-frontend.js';
import { ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { openLogSink, type ClosableLogSink } from './log-sink.js';
import { VERSION } from './version.js';

/** What a server is started with: plain data that crosses threads. */
export interface ServerOptions {
  readonly id: string;
  readonly http: { readonly address: string; readonly port: number; readonly maxInputSize: number } | undefined;
  readonly grpc: { readonly address: string; readonly port: number; readonly maxMessageSize: number } | undefined;
  readonly metrics: { readonly address: string; readonly port: number } | undefined;
  readonly logFile: string | undefined;
  readonly logVerbose: number;
  readonly exitTimeoutSecs: number;
}

/** The real ports; undefined where a frontend is off. */
export interface ServerPorts {
  readonly http: number | undefined;
  readonly grpc: number | undefined;
  readonly metrics: number | undefined;
}

export class Server {
  readonly #options: ServerOptions;
  readonly #sink: ClosableLogSink;
  readonly #engine: InferenceServer;
  #frontends: Frontend[] = [];

  /** Throws INVALID_ARG when the log file cannot be opened. */
  constructor(options: ServerOptions) {
    this.#options = options;
    this.#sink = openLogSink(options.logFile);
    const logger = new ServerLogger(this.#sink, { verboseLevel: options.logVerbose });
    this.#engine = new InferenceServer({ name: options.id, version: VERSION, logger });
  }

  /** Opens all ports. Rejects with UNAVAILABLE naming a port that is taken; then none is open. */
  async start(): Promise<ServerPorts> {
    const { http, grpc, metrics } = this.#options;
    const server = this.#engine;
    const { logger } = server;
    const frontends = {
      http: http && new HttpFrontend({ server, logger, ...http }),
      grpc: grpc && new GrpcFrontend({ server, logger, ...grpc }),
      metrics: metrics && new MetricsFrontend({ server, logger, ...metrics }),
    };
    this.#frontends = Object.values(frontends).filter((frontend) => frontend !== undefined);
    const started = await Promise.allSettled(this.#frontends.map((frontend) => frontend.start()));
    const failed = started.find((result) => result.status === 'rejected');
    if (failed !== undefined) {
      await Promise.all(this.#frontends.map((frontend) => frontend.close()));
      this.#sink.close();
      throw failed.reason;
    }
    const portOf = (frontend: Frontend | undefined): number | undefined => {
      const result = started[this.#frontends.indexOf(frontend!)];
      return result?.status === 'fulfilled' ? result.value : undefined;
    };
    const ports = { http: portOf(frontends.http), grpc: portOf(frontends.grpc), metrics: portOf(frontends.metrics) };
    if (grpc) logger.info(`Started GRPCInferenceService at ${grpc.address}:${ports.grpc}`);
    if (http) logger.info(`Started HTTPService at ${http.address}:${ports.http}`);
    if (metrics) logger.info(`Started Metrics Service at ${metrics.address}:${ports.metrics}`);
    return ports;
  }

  /** Every model that was bound before serving is loaded: the server may be ready. */
  started(): void {
    this.#engine.started();
  }

  /** Serves a model with these instances. */
  load(config: CompleteModelConfig, instances: readonly ModelInstance[]): void {
    const entry = this.#engine.repository.add(config);
    for (const instance of instances) entry.model.addInstance(instance);
    entry.state = 'READY';
    this.#engine.logger.info(`successfully loaded '${config.name}' version ${config.version}`);
  }

  /** The log that callables in this thread write to. */
  get logger() {
    return this.#engine.logger;
  }

  /** Lets requests under way finish for `exitTimeoutSecs`, then fails them with UNAVAILABLE; closes all ports. */
  async stop(): Promise<void> {
    for (const frontend of this.#frontends) frontend.drain();
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise((resolve) => (timer = setTimeout(resolve, this.#options.exitTimeoutSecs * 1000)));
    await Promise.race([this.#engine.drain(), timeout]);
    clearTimeout(timer);
    this.#engine.stop();
    await Promise.all(this.#frontends.map((frontend) => frontend.close()));
    this.#engine.logger.info('Server stopped');
    this.#sink.close();
  }
}
