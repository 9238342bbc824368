// A running server as `Triton` sees it: in this thread (LocalServer) or in one of its own (ThreadServer).

import type { MessagePort } from 'node:worker_threads';

import { TritonError } from '../errors.js';
import { InlineInstance } from '../link/inline-instance.js';
import type { RequestTracing } from '../link/request-tracing.js';
import type { ServerLogger } from '../logger.js';
import type { Callable } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ServerOptions } from './server-options.js';
import { Server, type ServerPorts } from './server.js';

/** What a model runs on while it is loaded. */
export interface OpenedModel {
  /** One instance each, in the user's thread. */
  readonly callables: readonly Callable[];
  /** One instance each, in threads of their own. */
  readonly ports: readonly MessagePort[];
}

/** A bound model as the user's thread hosts it. */
export interface HostedModel {
  readonly config: CompleteModelConfig;
  /** Sets it up and starts its threads, for every load anew. */
  open(): Promise<OpenedModel>;
  /** Ends what `open` started. Idempotent. */
  close(): Promise<void>;
  readonly onUnrecoverable: (error: TritonError) => void;
}

export interface ServerHandle {
  /** The server's log, for what happens in the user's thread. */
  readonly logger: ServerLogger;
  /** Makes the spans of traced requests in the user's thread; undefined where nothing is traced. */
  readonly tracing: RequestTracing | undefined;
  /** Opens all ports. */
  start(): Promise<ServerPorts>;
  /**
   * Serves a model, or, where clients load models, only knows it. A version that is there is replaced: resolves when
   * its last request has ended.
   */
  load(model: HostedModel): Promise<void>;
  /** An instance in a thread of its own was started again. */
  attach(config: CompleteModelConfig, port: MessagePort): Promise<void>;
  /** Serves a model no more; resolves when its last request has ended. */
  unload(config: CompleteModelConfig): Promise<void>;
  /** All that was bound before serving is loaded. */
  started(): Promise<void>;
  /** Finishes what is under way, for so many seconds or else `exitTimeoutSecs`, and closes. Idempotent. */
  stop(timeoutSecs?: number): Promise<void>;
}

/** The server in the caller's own thread: lowest latency, but a callable that computes stops everything. */
export class LocalServer implements ServerHandle {
  readonly tracing: RequestTracing | undefined;
  readonly #server: Server;
  #stopping: Promise<void> | undefined;

  constructor(options: ServerOptions, tracing?: RequestTracing) {
    this.tracing = tracing;
    this.#server = new Server(options, { onTraces: (ended) => tracing?.recordEnded(ended, this.logger) });
  }

  get logger(): ServerLogger {
    return this.#server.logger;
  }

  start(): Promise<ServerPorts> {
    return this.#server.start();
  }

  load(model: HostedModel): Promise<void> {
    const { config, onUnrecoverable } = model;
    return this.#server.load(config, {
      open: async () => {
        // What a client asked for before may get its turn only now, when the model may be another server's already.
        if (this.#stopping !== undefined)
          throw new TritonError('UNAVAILABLE', 'the server was stopped before the model was loaded');
        const { callables, ports } = await model.open();
        const instances = callables.map((callable) => {
          const instance = new InlineInstance(config, callable, this.#server.logger);
          instance.onUnrecoverable = onUnrecoverable;
          instance.tracing = this.tracing;
          return instance;
        });
        return [...instances, ...ports.map((port) => this.#server.instanceAt(config, port))];
      },
      close: () => model.close(),
    });
  }

  async attach(config: CompleteModelConfig, port: MessagePort): Promise<void> {
    this.#server.attach(config, port);
  }

  unload(config: CompleteModelConfig): Promise<void> {
    return this.#server.unload(config);
  }

  async started(): Promise<void> {
    this.#server.started();
  }

  stop(timeoutSecs?: number): Promise<void> {
    return (this.#stopping ??= this.#server.stop(timeoutSecs));
  }
}
