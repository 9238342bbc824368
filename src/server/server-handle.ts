// A running server as `Triton` sees it: in this thread (LocalServer) or in one of its own (ThreadServer).

import { InlineInstance } from '../link/inline-instance.js';
import type { Callable } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { Server, type ServerOptions, type ServerPorts } from './server.js';

export interface ServerHandle {
  /** Opens all ports. */
  start(): Promise<ServerPorts>;
  /** Serves a model; one instance per callable. */
  load(config: CompleteModelConfig, callables: readonly Callable[]): Promise<void>;
  /** All that was bound before serving is loaded. */
  started(): Promise<void>;
  /** Finishes what is under way and closes. Idempotent. */
  stop(): Promise<void>;
}

/** The server in the caller's own thread: lowest latency, but a callable that computes stops everything. */
export class LocalServer implements ServerHandle {
  readonly #server: Server;
  #stopping: Promise<void> | undefined;

  constructor(options: ServerOptions) {
    this.#server = new Server(options);
  }

  start(): Promise<ServerPorts> {
    return this.#server.start();
  }

  load(config: CompleteModelConfig, callables: readonly Callable[]): Promise<void> {
    const instances = callables.map((callable) => new InlineInstance(config, callable, this.#server.logger));
    return this.#server.load(config, instances);
  }

  async started(): Promise<void> {
    this.#server.started();
  }

  stop(): Promise<void> {
    return (this.#stopping ??= this.#server.stop());
  }
}
