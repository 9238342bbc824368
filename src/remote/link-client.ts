// Binds the models of this process to a server, and does so again whenever the link was lost. It lives in the link's thread,
// so that the server hears of this process whatever the callables do.

import type { ClientTlsOptions } from '../client/client-options.js';
import { TritonError } from '../errors.js';
import { followSignal } from '../lifecycle/follow-signal.js';
import { pause } from '../lifecycle/pause.js';
import { RestartPauses } from '../lifecycle/restart-pauses.js';
import { untilThere } from '../lifecycle/until-there.js';
import { receiveFailure, sendFailure } from '../link/sent-error.js';
import { type DeclaredModel, declaredModel } from '../link/stream/declared-model.js';
import type { LinkedInstance, ServerMessage } from '../link/stream/link-messages.js';
import { type CompleteModelConfig, modelKey } from '../model/complete-model-config.js';
import type { InstancePort } from '../server/control-messages.js';
import { type DirectOptions, LinkConnection, type LinkTarget } from './link-connection.js';
import { LinkInstance } from './link-instance.js';

/** Between attempts of the first connection, in milliseconds. */
const FIRST_PAUSE = 200;
/** Callables that connect to the server themselves. Those beyond it share the link's connection. */
const MOST_DIRECT = 64;

/** The instances of a load, as the user's thread opens them. */
export interface HostedOpening {
  /** The user's thread knows the opening by this number. */
  readonly number: number;
  readonly ports: readonly InstancePort[];
}

/** What the callables' side does for a link. */
export interface LinkHost {
  open(model: number): Promise<HostedOpening>;
  /** The certificates of the next connection. Rejects with UNAVAILABLE where there are none for now. */
  tls(): Promise<ClientTlsOptions>;
  close(opening: number): Promise<void>;
  endInstance(opening: number, thread: number, reason: string): void;
  ready(model: number, isReady: boolean): void;
  /** The link was lost for this reason, or is there again. */
  linked(isThere: boolean, error?: TritonError): void;
  /** A model could not be bound again, or the server could not be reached again. */
  failed(message: string): void;
}

interface WantedModel {
  readonly number: number;
  readonly key: string;
  readonly name: string;
  readonly declared: DeclaredModel;
  readonly instances: number;
  /** Settles the bind that is under way. */
  pending: { readonly resolve: () => void; readonly reject: (error: TritonError) => void } | undefined;
}

interface LinkedOpening {
  readonly hosted: number;
  readonly instances: Map<number, LinkInstance>;
}

export class LinkClient {
  readonly #target: LinkTarget;
  readonly #timeoutMs: number;
  readonly #host: LinkHost;
  readonly #models = new Map<number, WantedModel>();
  /** By the server's numbers; undefined while the host opens one. */
  readonly #openings = new Map<number, LinkedOpening | undefined>();
  /** By channel. */
  readonly #instances = new Map<number, LinkInstance>();
  /** Unbound models whose last requests are under way. */
  readonly #unbinding = new Map<number, () => void>();
  readonly #pauses = new RestartPauses();
  #connection: LinkConnection | undefined;
  #connectedAt = 0;
  #nextChannel = 1;
  /** Aborts with the error of a link that was stopped. */
  readonly #over = new AbortController();

  /** `timeoutMs`: how long the first connection may take. */
  constructor(target: LinkTarget, timeoutMs: number, host: LinkHost) {
    this.#target = target;
    this.#timeoutMs = timeoutMs;
    this.#host = host;
  }

  /** Waits for a server that is not there yet. Rejects with UNAVAILABLE, or at once with its refusal. */
  connect(): Promise<void> {
    return untilThere({
      timeoutMs: this.#timeoutMs,
      pauseMs: FIRST_PAUSE,
      signal: this.#over.signal,
      attempt: (leftMs) => this.#attempt(leftMs),
    });
  }

  /** Resolves when the server serves the model. Rejects with its refusal, or with UNAVAILABLE when the link is lost. */
  async bind(number: number, config: CompleteModelConfig): Promise<void> {
    const { name, instanceCount: instances } = config;
    const declared = declaredModel(config);
    const model: WantedModel = { number, key: modelKey(config), name, declared, instances, pending: undefined };
    this.#models.set(number, model);
    try {
      await this.#bind(model);
    } catch (error) {
      // What a server has refused it would refuse again.
      if (this.#connection !== undefined) this.#models.delete(number);
      throw error;
    }
  }

  async #bind(model: WantedModel): Promise<void> {
    const connection = this.#connection;
    if (connection === undefined)
      throw new TritonError('UNAVAILABLE', 'the server is not there; the model is bound when it is');
    await new Promise<void>((resolve, reject) => {
      model.pending = { resolve, reject };
      connection.send({ kind: 'bind', model: model.number, declared: model.declared, instances: model.instances });
    });
  }

  /** Resolves when the last request of the model has ended. */
  async unbind(config: CompleteModelConfig): Promise<void> {
    const key = modelKey(config);
    const models = [...this.#models.values()].filter((model) => model.key === key);
    await Promise.all(models.map(({ number }) => this.#unbind(number)));
  }

  async #unbind(number: number): Promise<void> {
    this.#models.delete(number);
    const connection = this.#connection;
    if (connection === undefined) return;
    await new Promise<void>((resolve) => {
      this.#unbinding.set(number, resolve);
      connection.send({ kind: 'unbind', model: number });
    });
  }

  /** A thread of an opening was started again. */
  attach(hosted: number, port: InstancePort): void {
    const [number, opening] = [...this.#openings].find(([, one]) => one?.hosted === hosted) ?? [];
    if (number === undefined || opening === undefined) return port.port.close();
    const connection = this.#connection;
    const instance = this.#open(opening, port);
    void this.#announce([instance], connection, ([linked]) =>
      connection?.send({ kind: 'attached', opening: number, instance: linked! }),
    );
  }

  /** Unbinds all models, waits for their last requests for this time at most, and closes the link. */
  async stop(timeoutMs: number): Promise<void> {
    const stopped = new TritonError('UNAVAILABLE', 'the link was stopped');
    this.#over.abort(stopped);
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, timeoutMs)));
    await Promise.race([late, Promise.all([...this.#models.keys()].map((number) => this.#unbind(number)))]);
    clearTimeout(timer);
    await this.#connection?.close(stopped);
  }

  async #attempt(timeoutMs: number): Promise<void> {
    const { signal } = this.#over;
    const tls = await this.#tls();
    signal.throwIfAborted();
    let ended: TritonError | undefined;
    const connection: LinkConnection = new LinkConnection(this.#target, tls, {
      onControl: (message) => this.#control(message),
      onMessage: (channel, value) => this.#instances.get(channel)?.receive(value),
      onEnd: (error) => {
        ended = error;
        this.#lost(connection, error);
      },
    });
    const { address } = this.#target.server;
    const end = (error: TritonError) => void connection.close(error);
    const late = `${address} did not answer as a TSTriton server within ${Math.round(timeoutMs)} ms`;
    const timer = setTimeout(() => end(new TritonError('DEADLINE_EXCEEDED', late)), timeoutMs);
    const leave = followSignal(signal, () => end(signal.reason as TritonError));
    try {
      await connection.ready;
      // The read that brought the welcome may have brought the end too.
      if (ended !== undefined) throw ended as TritonError;
      this.#connection = connection;
      this.#connectedAt = performance.now();
    } catch (error) {
      await connection.close(TritonError.from(error));
      throw error;
    } finally {
      clearTimeout(timer);
      leave();
    }
  }

  /** Without TLS there is nothing to ask for. */
  async #tls(): Promise<ClientTlsOptions> {
    return this.#target.server.tls ? this.#host.tls() : {};
  }

  #lost(connection: LinkConnection, error: TritonError): void {
    if (this.#connection !== connection) return;
    this.#connection = undefined;
    const instances = [...this.#instances.values()];
    this.#instances.clear();
    this.#openings.clear();
    for (const instance of instances) instance.close();
    this.#host.linked(false, error);
    for (const model of this.#models.values()) {
      model.pending?.reject(error);
      model.pending = undefined;
    }
    for (const resolve of this.#unbinding.values()) resolve();
    this.#unbinding.clear();
    if (!this.#over.signal.aborted) void this.#reconnect();
  }

  async #reconnect(): Promise<void> {
    let lived = performance.now() - this.#connectedAt;
    let told: string | undefined;
    const { signal } = this.#over;
    while (!signal.aborted) {
      // A server that restarts needs a moment, so that even the first attempt comes after a pause.
      await pause(Math.max(FIRST_PAUSE, this.#pauses.next(lived)), signal);
      lived = 0;
      try {
        await this.#attempt(this.#timeoutMs);
        break;
      } catch (thrown) {
        const { message } = TritonError.from(thrown);
        if (message !== told && !signal.aborted) this.#host.failed(`cannot link again: ${message}`);
        told = message;
      }
    }
    if (this.#connection === undefined) return;
    this.#host.linked(true);
    for (const model of this.#models.values()) void this.#bindAgain(model);
  }

  async #bindAgain(model: WantedModel): Promise<void> {
    try {
      await this.#bind(model);
    } catch (error) {
      this.#host.failed(`model '${model.name}' is not bound again: ${TritonError.from(error).message}`);
    }
  }

  #control(message: ServerMessage): void {
    switch (message.kind) {
      case 'bound': {
        const model = this.#models.get(message.model);
        const pending = model?.pending;
        if (model !== undefined) model.pending = undefined;
        if (message.error === undefined) pending?.resolve();
        else pending?.reject(receiveFailure(message.error));
        return;
      }
      case 'unbound':
        this.#unbinding.get(message.model)?.();
        this.#unbinding.delete(message.model);
        return;
      case 'open':
        return void this.#opens(message.model, message.opening);
      case 'close':
        return this.#closes(message.opening);
      case 'end': {
        const thread = this.#instances.get(message.channel)?.thread;
        const opening = [...this.#openings.values()].find((one) => one?.instances.has(message.channel));
        if (thread !== undefined && opening !== undefined) {
          this.#host.endInstance(opening.hosted, thread, message.reason);
        }
        return;
      }
      case 'welcome':
      case 'pong':
        return undefined;
      case 'readiness':
        return this.#host.ready(message.model, message.isReady);
    }
  }

  async #opens(model: number, opening: number): Promise<void> {
    const connection = this.#connection;
    this.#openings.set(opening, undefined);
    try {
      const { number: hosted, ports } = await this.#host.open(model);
      if (connection === undefined || this.#connection !== connection || !this.#openings.has(opening)) {
        // The server has closed it meanwhile, or the link was lost: the next one opens the model anew.
        for (const { port } of ports) port.close();
        return await this.#host.close(hosted);
      }
      const opened: LinkedOpening = { hosted, instances: new Map() };
      this.#openings.set(opening, opened);
      const opens = ports.map((port) => this.#open(opened, port));
      await this.#announce(opens, connection, (instances) => connection.send({ kind: 'opened', opening, instances }));
    } catch (thrown) {
      if (this.#connection !== connection) return;
      this.#openings.delete(opening);
      connection?.send({ kind: 'opened', opening, error: sendFailure(TritonError.from(thrown)) });
    }
  }

  #open(opening: LinkedOpening, port: InstancePort): LinkInstance {
    const channel = this.#nextChannel++;
    const connection = this.#connection;
    const instance = new LinkInstance({
      channel,
      instance: port,
      direct: this.#instances.size < MOST_DIRECT && connection ? this.#direct(connection, channel) : undefined,
      send: (message) => this.#connection?.post(channel, message),
      onClosed: () => {
        opening.instances.delete(channel);
        if (this.#instances.delete(channel) && instance.isAnnounced) this.#connection?.send({ kind: 'ended', channel });
      },
      onLost: (reason) => {
        const message = `a callable has lost its connection: ${reason ?? 'it has ended'}`;
        void connection?.close(new TritonError('UNAVAILABLE', message));
      },
    });
    opening.instances.set(channel, instance);
    this.#instances.set(channel, instance);
    return instance;
  }

  async #direct(connection: LinkConnection, channel: number): Promise<DirectOptions> {
    return connection.direct(channel, await this.#tls());
  }

  /** Tells the server of instances when each has its connection, or will have none. */
  async #announce(
    instances: readonly LinkInstance[],
    connection: LinkConnection | undefined,
    send: (instances: readonly LinkedInstance[]) => void,
  ): Promise<void> {
    await Promise.all(instances.map(({ decided }) => decided));
    if (connection === undefined || this.#connection !== connection) return;
    send(instances.map(({ channel, thread }) => ({ channel, hasThread: thread !== undefined })));
    for (const instance of instances) {
      instance.isAnnounced = true;
      // Its thread may have died meanwhile.
      if (!this.#instances.has(instance.channel)) connection.send({ kind: 'ended', channel: instance.channel });
    }
  }

  #closes(number: number): void {
    const opening = this.#openings.get(number);
    this.#openings.delete(number);
    if (opening === undefined) return;
    for (const [channel, instance] of opening.instances) {
      this.#instances.delete(channel);
      instance.close();
    }
    void this.#host.close(opening.hosted);
  }
}
