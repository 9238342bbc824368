// Hosts in the user's thread the models of a server that has a thread of its own. It serves that thread's requests by
// number, and keeps callables and instance threads when that thread dies.

import { MessageChannel } from 'node:worker_threads';

import type { ClientTlsOptions } from '../client/client-options.js';
import type { FoldersOfModels } from '../core/client-loads.js';
import { TritonError } from '../errors.js';
import type { RequestTracing } from '../host/request-tracing.js';
import { loadSuperseded } from '../lifecycle/interrupted-load.js';
import { ChannelHost } from '../link/channel-host.js';
import { HostPort } from '../link/host-port.js';
import type { ThreadedInstance } from '../link/instance-supervisor.js';
import { sendFailure } from '../link/sent-error.js';
import type { ServerLogger } from '../logger.js';
import { type CompleteModelConfig, modelKey } from '../model/complete-model-config.js';
import { instanceLogger } from '../observability/logger.js';
import type {
  EndInstanceNotice,
  HostReply,
  HostRequest,
  InstancePort,
  LoadedBefore,
  ReadinessNotice,
} from './control-messages.js';
import type { ModelOpening } from './model-opening.js';
import type { HostedModel } from './server-handle.js';
import type { ServerWorker } from './server-worker.js';

interface KnownModel {
  readonly model: HostedModel;
  /** Whether the model failed to load. */
  failed: boolean;
}

/** An opening for the server's thread. */
interface ServedOpening {
  readonly model: number;
  readonly opening: ModelOpening;
  readonly hosts: readonly ChannelHost[];
  /** By the number of the instance. */
  readonly threads: Map<number, ThreadedInstance>;
}

export interface HostedModelsOptions {
  readonly logger: ServerLogger;
  readonly tracing: RequestTracing | undefined;
  readonly loadFolder: FoldersOfModels['load'];
  /** Gives the certificates of the link's next connection. */
  readonly linkTls?: () => Promise<ClientTlsOptions>;
  /** Called with each message for a callable of this thread. */
  readonly onMessage: () => void;
}

export class HostedModels {
  readonly #options: HostedModelsOptions;
  readonly #models = new Map<number, KnownModel>();
  /** The numbers of each name and version: a model, and others that are to replace it. */
  readonly #numbers = new Map<string, Set<number>>();
  /** By the numbers of the server's thread. */
  readonly #openings = new Map<number, ServedOpening>();
  /** The openings that are not open yet, by the same numbers. */
  readonly #starting = new Map<number, AbortController>();
  /** The openings at the death of the server's thread, for the next thread, by model. */
  readonly #left = new Map<number, ModelOpening>();
  #nextId = 0;

  constructor(options: HostedModelsOptions) {
    this.#options = options;
  }

  /** Adds a model and returns its number. */
  add(model: HostedModel): number {
    const id = this.#nextId++;
    this.#models.set(id, { model, failed: false });
    const key = modelKey(model.config);
    this.#numbers.set(key, (this.#numbers.get(key) ?? new Set()).add(id));
    return id;
  }

  /** Every model's configuration by its number. */
  get all(): readonly (readonly [number, CompleteModelConfig])[] {
    return Array.from(this.#models, ([id, { model }]) => [id, model.config] as const);
  }

  /** The model's state when the server's thread died; undefined when its load is to be tried again. */
  before(id: number): LoadedBefore | undefined {
    const known = this.#models.get(id);
    if (known === undefined || known.failed) return undefined;
    const left = this.#left.get(id);
    return { isLoaded: left !== undefined, override: left?.override };
  }

  /**
   * Records that the model did not load. The server still knows it, unless it was a replacement; then the old model
   * stays.
   */
  abandon(id: number): void {
    const known = this.#models.get(id);
    if (known === undefined) return;
    const numbers = this.#numbers.get(modelKey(known.model.config))!;
    if (numbers.size === 1) known.failed = true;
    else {
      numbers.delete(id);
      this.#models.delete(id);
    }
  }

  tried(id: number, { failed }: { readonly failed: boolean }): void {
    const known = this.#models.get(id);
    if (known !== undefined) known.failed = failed;
  }

  /** Forgets the models of a name and version, except `but`, which has replaced them. Returns the forgotten numbers. */
  forget(unloaded: CompleteModelConfig, but?: number): readonly number[] {
    const key = modelKey(unloaded);
    const numbers = this.#numbers.get(key) ?? new Set();
    const forgotten = [...numbers].filter((id) => id !== but);
    for (const id of forgotten) {
      numbers.delete(id);
      this.#models.delete(id);
    }
    if (numbers.size === 0) this.#numbers.delete(key);
    return forgotten;
  }

  /** Opens a model or closes an opening, as the server's thread asks, and answers. */
  async host({ id, action }: HostRequest, worker: ServerWorker): Promise<void> {
    let reply: HostReply;
    try {
      reply = { kind: 'hosted', id, ...(await this.#perform(action, worker)) };
    } catch (thrown) {
      reply = { kind: 'hosted', id, ports: [], error: sendFailure(TritonError.from(thrown)) };
    }
    if (!worker.isOver) worker.reply(reply);
  }

  async #perform(action: HostRequest['action'], worker: ServerWorker): Promise<Omit<HostReply, 'kind' | 'id'>> {
    switch (action.kind) {
      case 'open':
        return { ports: await this.#open(action, worker) };
      case 'close':
        return { ports: await this.#close(action.opening) };
      case 'ping':
        return { ports: [] };
      case 'link tls':
        return { ports: [], tls: await this.#options.linkTls?.() };
      case 'load folder':
        return { ports: [], isThere: await this.#options.loadFolder(action.name, action.parameters, action.ready) };
    }
  }

  /** Ends the thread of an instance, which then restarts. */
  endInstance({ opening, thread, reason }: EndInstanceNotice): void {
    this.#openings.get(opening)?.threads.get(thread)?.end(reason);
  }

  ready({ model, isReady }: ReadinessNotice): void {
    const known = this.#models.get(model);
    if (known !== undefined) known.model.isReady = isReady;
  }

  /**
   * Handles the death of the server's thread. It keeps the last opening of each model for the next thread, except for
   * models that were loading.
   */
  leave(loading: ReadonlySet<number>): void {
    for (const { model, opening, hosts } of this.#openings.values()) {
      for (const host of hosts) host.close();
      const before = this.#left.get(model);
      // It ends in the background, and nothing waits for it.
      void before?.close();
      this.#left.set(model, opening);
    }
    this.#openings.clear();
    for (const id of loading) void this.closeLeft(id);
    // The next server reports readiness anew.
    for (const { model } of this.#models.values()) model.isReady = false;
  }

  /** Closes the openings that the new server's thread did not ask for. */
  async closeLeft(id: number): Promise<void> {
    const opening = this.#left.get(id);
    this.#left.delete(id);
    await opening?.close();
  }

  /** Closes the hosts of all callables. The binder of each model releases the rest. */
  closeHosts(): void {
    for (const { hosts } of this.#openings.values()) for (const host of hosts) host.close();
    this.#openings.clear();
  }

  async #open(
    { model: id, opening: number, config }: OpenAction,
    worker: ServerWorker,
  ): Promise<readonly InstancePort[]> {
    const left = this.#left.get(id);
    if (left !== undefined) {
      this.#left.delete(id);
      return this.#connect({ model: id, number, opening: left, threads: left.reconnect() }, worker);
    }
    const known = this.#models.get(id);
    if (known === undefined) throw new TritonError('UNAVAILABLE', 'the model was unbound');
    const starting = new AbortController();
    this.#starting.set(number, starting);
    const opening = await known.model.open(config, starting.signal).finally(() => {
      // The next server's thread counts anew.
      if (this.#starting.get(number) === starting) this.#starting.delete(number);
    });
    if (!worker.isOver) return this.#connect({ model: id, number, opening, threads: opening.threads }, worker);
    // Nothing would take the other ends of their ports.
    await opening.close();
    return [];
  }

  #connect({ model, number, opening, threads }: Connection, worker: ServerWorker): readonly InstancePort[] {
    const { logger, tracing, onMessage } = this.#options;
    const hosts: ChannelHost[] = [];
    const inline = opening.callables.map((callable, index): InstancePort => {
      const { port1, port2 } = new MessageChannel();
      port1.on('message', onMessage);
      const services = {
        logger: instanceLogger(logger, opening.config, index),
        onUnrecoverable: (error: TritonError) => this.#models.get(model)?.model.onUnrecoverable(error),
        tracing,
      };
      hosts.push(new ChannelHost(new HostPort(port1), opening.config, callable, services));
      return { port: port2, thread: undefined };
    });
    const living = new Map(threads.map((thread) => [thread.instance, thread]));
    this.#openings.set(number, { model, opening, hosts, threads: living });
    opening.onRestart = (thread) => {
      living.set(thread.instance, thread);
      const { port, instance } = thread;
      const attached = worker.call({ kind: 'attach', opening: number, port: { port, thread: instance } }, [port]);
      // A thread that starts after this server's death gets a port to the next server.
      attached.catch(() => port.close());
    };
    return [...inline, ...threads.map(({ port, instance }): InstancePort => ({ port, thread: instance }))];
  }

  async #close(number: number): Promise<readonly InstancePort[]> {
    this.#starting.get(number)?.abort(loadSuperseded());
    const served = this.#openings.get(number);
    this.#openings.delete(number);
    for (const host of served?.hosts ?? []) host.close();
    await served?.opening.close();
    return [];
  }
}

type OpenAction = Extract<HostRequest['action'], { kind: 'open' }>;

interface Connection {
  readonly model: number;
  /** The server's number of the opening. */
  readonly number: number;
  readonly opening: ModelOpening;
  readonly threads: readonly ThreadedInstance[];
}
