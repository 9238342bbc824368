// The server in a thread of its own, seen from the user's thread, where the callables stay.

import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { MessageChannel, Worker, type MessagePort, type Transferable } from 'node:worker_threads';

import { TritonError } from '../errors.js';
import { PortHost } from '../link/port-host.js';
import type { RequestTracing } from '../link/request-tracing.js';
import { ServerLogger } from '../logger.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { instanceLogger } from '../model/instance-logger.js';
import { modelKey } from '../model/model-key.js';
import type {
  ControlCall,
  ControlReply,
  ControlRequest,
  HostReply,
  HostRequest,
  ServerMessage,
} from './control-messages.js';
import { openLogSink, type ClosableLogSink } from './log-sink.js';
import type { HostedModel, ServerHandle } from './server-handle.js';
import type { ServerOptions } from './server-options.js';
import type { ServerPorts } from './server.js';

interface Waiting {
  readonly resolve: (reply: ControlReply) => void;
  readonly reject: (error: TritonError) => void;
}

export class ThreadServer implements ServerHandle {
  readonly tracing: RequestTracing | undefined;
  readonly #worker: Worker;
  readonly #exited: Promise<void>;
  readonly #waiting = new Map<number, Waiting>();
  /** By the number that stands for each with the server. */
  readonly #models = new Map<number, HostedModel>();
  /** The instances in this thread of models that are loaded, by the same number. */
  readonly #hosts = new Map<number, readonly PortHost[]>();
  readonly #sink: ClosableLogSink;
  readonly #logger: ServerLogger;
  #nextId = 0;
  #stopping: Promise<void> | undefined;
  #over = false;
  readonly #onDeath: (error: TritonError) => void;

  /** `onDeath` is told when the thread ends without having been asked to. */
  constructor(options: ServerOptions, onDeath: (error: TritonError) => void, tracing?: RequestTracing) {
    this.#onDeath = onDeath;
    this.tracing = tracing;
    const entry = new URL('./server-thread.js', import.meta.url);
    if (entry.protocol !== 'file:' || !existsSync(fileURLToPath(entry))) {
      throw new TritonError(
        'UNSUPPORTED',
        `the entry of the server's thread was not found at ${entry.href}, as happens in a bundle; set serverThread: false to run the server in this thread`,
      );
    }
    this.#sink = openLogSink(options.logFile);
    this.#logger = new ServerLogger(this.#sink, options.logSettings);
    // Flags of this process such as --import or --inspect are not meant for the thread.
    this.#worker = new Worker(entry, { workerData: options, execArgv: [], name: 'tstriton-server' });
    this.#worker.on('message', (message: ServerMessage) => {
      if (message.kind === 'reply') this.#answered(message);
      else if (message.kind === 'host') void this.#host(message);
      else if (message.kind === 'traces') this.tracing?.recordEnded(message.ended, this.#logger);
      // The callables of this thread log too.
      else this.#logger.configure(message.settings);
    });
    this.#worker.on('error', (error) => this.#died(error));
    this.#exited = new Promise((resolve) =>
      this.#worker.once('exit', (code) => {
        if (this.#stopping === undefined) this.#died(new Error(`it exited with code ${code}`));
        this.#failWaiting(new TritonError('UNAVAILABLE', "the server's thread has ended"));
        resolve();
      }),
    );
  }

  async start(): Promise<ServerPorts> {
    const { ports } = await this.#call({ kind: 'start' });
    return ports!;
  }

  get logger(): ServerLogger {
    return this.#logger;
  }

  async load(model: HostedModel): Promise<void> {
    const id = this.#nextId++;
    this.#models.set(id, model);
    try {
      await this.#call({ kind: 'load', config: model.config, model: id });
    } catch (error) {
      // It may have been opened and have failed its warm-up.
      this.#closeHosts(id);
      throw error;
    }
    // Whatever it replaced is closed.
    this.#forget(model.config, id);
  }

  async attach(config: CompleteModelConfig, port: MessagePort): Promise<void> {
    const known = [...this.#models].find(([, model]) => model.config === config);
    if (known === undefined) port.close();
    else await this.#call({ kind: 'attach', model: known[0], port }, [port]);
  }

  async unload(config: CompleteModelConfig): Promise<void> {
    await this.#call({ kind: 'unload', config });
    this.#forget(config);
  }

  #forget(unloaded: CompleteModelConfig, but?: number): void {
    const key = modelKey(unloaded);
    for (const [id, { config }] of this.#models) if (id !== but && modelKey(config) === key) this.#models.delete(id);
  }

  async started(): Promise<void> {
    await this.#call({ kind: 'started' });
  }

  stop(timeoutSecs?: number): Promise<void> {
    return (this.#stopping ??= this.#stop(timeoutSecs));
  }

  async #stop(timeoutSecs: number | undefined): Promise<void> {
    try {
      if (!this.#over) await this.#call({ kind: 'stop', timeoutSecs });
    } finally {
      this.#closeAllHosts();
      await this.#worker.terminate();
      await this.#exited;
      // Those of models that were opened meanwhile.
      this.#closeAllHosts();
      this.#sink.close();
    }
  }

  #call(call: ControlCall, transfer: readonly Transferable[] = []): Promise<ControlReply> {
    if (this.#over) return Promise.reject(new TritonError('UNAVAILABLE', "the server's thread has ended"));
    return new Promise((resolve, reject) => {
      const id = this.#nextId++;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ kind: 'call', id, call } satisfies ControlRequest, [...transfer]);
    });
  }

  async #host({ id, action, model: number }: HostRequest): Promise<void> {
    let reply: HostReply;
    try {
      const model = this.#models.get(number)!;
      const ports = action === 'open' ? await this.#open(number, model) : [];
      if (action === 'close') await this.#close(number, model);
      reply = { kind: 'hosted', id, ports };
    } catch (thrown) {
      const { code, message } = TritonError.from(thrown);
      reply = { kind: 'hosted', id, ports: [], error: { code, message } };
    }
    this.#worker.postMessage(reply, [...reply.ports]);
  }

  async #open(number: number, model: HostedModel): Promise<readonly MessagePort[]> {
    const { callables, ports } = await model.open();
    // Nobody would take the other ends of their ports; the model is released by whoever loads it.
    if (this.#over) throw new TritonError('UNAVAILABLE', "the server's thread has ended");
    const hosts: PortHost[] = [];
    const own = callables.map((callable, index) => {
      const { port1, port2 } = new MessageChannel();
      const logger = instanceLogger(this.#logger, model.config, index);
      const host = new PortHost(port1, model.config, callable, logger);
      host.onUnrecoverable = model.onUnrecoverable;
      host.tracing = this.tracing;
      hosts.push(host);
      return port2;
    });
    this.#hosts.set(number, hosts);
    return [...own, ...ports];
  }

  async #close(number: number, model: HostedModel): Promise<void> {
    this.#closeHosts(number);
    await model.close();
  }

  #closeHosts(number: number): void {
    for (const host of this.#hosts.get(number) ?? []) host.close();
    this.#hosts.delete(number);
  }

  #closeAllHosts(): void {
    for (const number of this.#hosts.keys()) this.#closeHosts(number);
  }

  #answered(reply: ControlReply): void {
    const waiting = this.#waiting.get(reply.id);
    this.#waiting.delete(reply.id);
    if (reply.error === undefined) waiting?.resolve(reply);
    else waiting?.reject(new TritonError(reply.error.code, reply.error.message));
  }

  #died(cause: unknown): void {
    if (this.#over) return;
    const error = new TritonError('UNAVAILABLE', `the server's thread ended: ${TritonError.from(cause).message}`, {
      cause,
    });
    this.#failWaiting(error);
    this.#onDeath(error);
  }

  #failWaiting(error: TritonError): void {
    this.#over = true;
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
