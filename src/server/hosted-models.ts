// The models of a server in a thread of its own, as the user's thread hosts them: what the server's thread asks for by
// number, and what of them lives on when that thread dies.

import { MessageChannel } from 'node:worker_threads';

import type { FoldersOfModels } from '../core/inference-server.js';
import { TritonError } from '../errors.js';
import type { RequestTracing } from '../host/request-tracing.js';
import { ChannelHost } from '../link/channel-host.js';
import { PortChannel } from '../link/channel.js';
import type { ThreadedInstance } from '../link/instance-supervisor.js';
import { sendFailure } from '../link/sent-error.js';
import type { ServerLogger } from '../logger.js';
import { type CompleteModelConfig, modelKey } from '../model/complete-model-config.js';
import { instanceLogger } from '../model/logger.js';
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
  /** Whether it did not load. */
  failed: boolean;
}

/** An opening that the server's thread asked for. */
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
  /** Called with each message for a callable of this thread. */
  readonly onMessage: () => void;
}

export class HostedModels {
  readonly #options: HostedModelsOptions;
  readonly #models = new Map<number, KnownModel>();
  /** By the number that the server's thread gave each. */
  readonly #openings = new Map<number, ServedOpening>();
  /** What models ran on when the server's thread died, for the next one, by model. */
  readonly #left = new Map<number, ModelOpening>();
  #nextId = 0;

  constructor(options: HostedModelsOptions) {
    this.#options = options;
  }

  /** The number that stands for the model from now on. */
  add(model: HostedModel): number {
    const id = this.#nextId++;
    this.#models.set(id, { model, failed: false });
    return id;
  }

  /** Every model's configuration by its number. */
  get all(): readonly (readonly [number, CompleteModelConfig])[] {
    return Array.from(this.#models, ([id, { model }]) => [id, model.config] as const);
  }

  /** How the model was when the server's thread died; undefined when it is to be tried again. */
  before(id: number): LoadedBefore | undefined {
    const known = this.#models.get(id);
    if (known === undefined || known.failed) return undefined;
    const left = this.#left.get(id);
    return { isLoaded: left !== undefined, override: left?.override };
  }

  /** The model did not load. The server knows it all the same, unless it was to replace one, which stays. */
  abandon(id: number): void {
    const own = this.all.find(([known]) => known === id)?.[1];
    const replaces = this.all.some(([known, config]) => known !== id && own && modelKey(config) === modelKey(own));
    if (replaces) this.#models.delete(id);
    else this.tried(id, { failed: true });
  }

  tried(id: number, { failed }: { readonly failed: boolean }): void {
    const known = this.#models.get(id);
    if (known !== undefined) known.failed = failed;
  }

  /** Forgets the models of a name and version, but for the one that is in their place now. */
  forget(unloaded: CompleteModelConfig, but?: number): void {
    const key = modelKey(unloaded);
    for (const [id, config] of this.all) if (id !== but && modelKey(config) === key) this.#models.delete(id);
  }

  /** Opens a model, or closes what was opened, as the server's thread asks, and answers it. */
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
      case 'load folder':
        return { ports: [], isThere: await this.#options.loadFolder(action.name, action.parameters, action.ready) };
    }
  }

  /** Ends the thread of an instance, which is then started again. */
  endInstance({ opening, thread, reason }: EndInstanceNotice): void {
    this.#openings.get(opening)?.threads.get(thread)?.end(reason);
  }

  ready({ model, isReady }: ReadinessNotice): void {
    const known = this.#models.get(model);
    if (known !== undefined) known.model.isReady = isReady;
  }

  /** The server's thread is dead. Keeps for the next one what each model ran on last; those that were loading have nothing. */
  leave(loading: ReadonlySet<number>): void {
    for (const { model, opening, hosts } of this.#openings.values()) {
      for (const host of hosts) host.close();
      const before = this.#left.get(model);
      // Ends in the background: nobody waits for it.
      void before?.close();
      this.#left.set(model, opening);
    }
    this.#openings.clear();
    for (const id of loading) void this.closeLeft(id);
    // The next server tells.
    for (const { model } of this.#models.values()) model.isReady = false;
  }

  /** Ends what the server's thread did not ask for again. */
  async closeLeft(id: number): Promise<void> {
    const opening = this.#left.get(id);
    this.#left.delete(id);
    await opening?.close();
  }

  /** Nothing hosts a callable any more; the models are released by whoever bound them. */
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
    const opening = await known.model.open(config);
    if (!worker.isOver) return this.#connect({ model: id, number, opening, threads: opening.threads }, worker);
    // Nobody would take the other ends of their ports.
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
      hosts.push(new ChannelHost(new PortChannel(port1), opening.config, callable, services));
      return { port: port2, thread: undefined };
    });
    const living = new Map(threads.map((thread) => [thread.instance, thread]));
    this.#openings.set(number, { model, opening, hosts, threads: living });
    opening.onRestart = (thread) => {
      living.set(thread.instance, thread);
      const { port, instance } = thread;
      const attached = worker.call({ kind: 'attach', opening: number, port: { port, thread: instance } }, [port]);
      // A thread that is started after this one's death gets a port to the next.
      attached.catch(() => port.close());
    };
    return [...inline, ...threads.map(({ port, instance }): InstancePort => ({ port, thread: instance }))];
  }

  async #close(number: number): Promise<readonly InstancePort[]> {
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
  /** What the server's thread calls the opening. */
  readonly number: number;
  readonly opening: ModelOpening;
  readonly threads: readonly ThreadedInstance[];
}
