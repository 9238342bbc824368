// The server of another process, as the models of this one see it: it takes the place of a server of their own. The link to
// it has a thread, and the callables stay in the user's thread.

import type { ClientTls } from '../client/client-options.js';
import type { TritonError } from '../errors.js';
import { ServerLogger, type ExternalLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { receiveFailure } from '../link/sent-error.js';
import type { LinkNotice } from '../server/control-messages.js';
import { HostedModels } from '../server/hosted-models.js';
import { type ClosableLogSink, openLogSink, writeTo } from '../server/log-sink.js';
import type { HostedModel, ServerHandle } from '../server/server-handle.js';
import { NO_PORTS, type ServerPorts, type StopTimes } from '../server/server-options.js';
import { ServerWorker, type ThreadEntry } from '../server/server-worker.js';
import type { LinkTarget } from './link-connection.js';

/** The start data of the link's thread. */
export interface LinkThreadData {
  readonly target: LinkTarget;
  /** How long a connection may take. */
  readonly timeoutMs: number;
}

export interface RemoteServerOptions extends LinkThreadData {
  readonly tls: ClientTls | undefined;
  /** Undefined: the log goes to standard error. */
  readonly logger: ExternalLogger | undefined;
  /** The link's thread is dead, and does not restart. */
  readonly onGivenUp: (error: TritonError) => void;
}

const LINK_THREAD: ThreadEntry = {
  url: () => new URL('./link-thread.js', import.meta.url),
  name: 'tstriton-link',
  called: "the link's thread",
  advice: '',
};

export class RemoteServer implements ServerHandle {
  readonly tracing = undefined;
  readonly logger: ServerLogger;
  readonly #address: string;
  readonly #sink: ClosableLogSink;
  readonly #models: HostedModels;
  readonly #loading = new Set<number>();
  readonly #worker: ServerWorker;
  #isLinked = false;
  #stopping: Promise<void> | undefined;

  constructor({ target, tls, timeoutMs, logger, onGivenUp }: RemoteServerOptions) {
    this.#address = target.server.address;
    this.#sink = openLogSink(undefined, writeTo(logger));
    this.logger = new ServerLogger(this.#sink);
    this.#models = new HostedModels({
      logger: this.logger,
      tracing: undefined,
      loadFolder: async () => false,
      // Imported late: a start without a link does not need it.
      linkTls: async () => {
        const { connectionTls } = await import('../client/connection-tls.js');
        return connectionTls(tls ?? {}, this.#address)();
      },
      onMessage: () => undefined,
    });
    const data: LinkThreadData = { target, timeoutMs };
    const worker: ServerWorker = new ServerWorker(
      data,
      {
        onMessage: (message) => {
          switch (message.kind) {
            case 'host':
              return void this.#models.host(message, worker);
            case 'end instance':
              return this.#models.endInstance(message);
            case 'readiness':
              return this.#models.ready(message);
            case 'log':
              return this.logger.error(message.entry.message);
            case 'link':
              return this.#linked(message);
            case 'traces':
            case 'log settings':
          }
        },
        onDeath: onGivenUp,
      },
      LINK_THREAD,
    );
    this.#worker = worker;
  }

  /** Whether the link is there. */
  get lives(): boolean {
    return this.#isLinked && !this.#worker.isOver;
  }

  async start(): Promise<ServerPorts> {
    await this.#worker.call({ kind: 'start' });
    this.#isLinked = true;
    this.logger.info(`linked to ${this.#address}`);
    return NO_PORTS;
  }

  async load(model: HostedModel): Promise<void> {
    const id = this.#models.add(model);
    this.#loading.add(id);
    try {
      await this.#worker.call({ kind: 'load', config: model.config, model: id });
    } catch (error) {
      this.#models.abandon(id);
      throw error;
    } finally {
      this.#loading.delete(id);
    }
    this.#models.forget(model.config, id);
  }

  async unload(config: CompleteModelConfig): Promise<void> {
    if (!this.#worker.isOver) await this.#worker.call({ kind: 'unload', config });
    for (const id of this.#models.forget(config)) await this.#models.closeLeft(id);
  }

  // An unloaded model has answered its last request.
  async retired(): Promise<void> {}

  async started(): Promise<void> {}

  async listBroken(): Promise<void> {}

  async watchSignals(times: StopTimes): Promise<void> {
    await this.#worker.call({ kind: 'watch signals', times });
  }

  stop(times: StopTimes): Promise<void> {
    return (this.#stopping ??= this.#stop(times));
  }

  async #stop(times: StopTimes): Promise<void> {
    try {
      if (!this.#worker.isOver) await this.#worker.call({ kind: 'stop', times });
    } catch (error) {
      // A thread that dies now has stopped too.
      if (!this.#worker.isOver) throw error;
    } finally {
      this.#isLinked = false;
      this.#models.closeHosts();
      await this.#worker.terminate();
      this.#models.closeHosts();
      this.#sink.close();
    }
  }

  #linked({ isThere, error }: LinkNotice): void {
    this.#isLinked = isThere;
    if (isThere) return this.logger.info(`linked to ${this.#address} again`);
    // Their ports are closed. The next link gets others.
    this.#models.leave(this.#loading);
    if (this.#stopping !== undefined) return;
    const reason = error === undefined ? '' : `: ${receiveFailure(error).message}`;
    this.logger.error(`the link to ${this.#address} is lost${reason}; linking again`);
  }
}
