// A model that other processes have bound: the source of its instances for the server. Each load opens instances at every
// process that has bound the model, and processes may come and go while it is loaded.

import { INTERRUPTIONS } from '../../core/refusals.js';
import { TritonError } from '../../errors.js';
import { followSignal } from '../../lifecycle/follow-signal.js';
import { ChannelInstance } from '../../link/channel-instance.js';
import type { LinkedInstance, ServerMessage } from '../../link/stream/link-messages.js';
import type { RemoteChannel } from '../../link/stream/remote-channel.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { Logger } from '../../observability/logger.js';
import type { InstanceSource } from '../served-model.js';
import type { ClosableInstance, OpenedInstances } from '../served-opening.js';

/** What a model needs of the link to a process. */
export interface BinderLink {
  readonly isOver: boolean;
  send(message: ServerMessage): void;
  /** Asks for the instances of a load, which has this number. */
  open(binder: Binder): { readonly number: number; readonly instances: Promise<readonly LinkedInstance[]> };
  close(opening: number): void;
  /** The channel of an instance. Throws INVALID_ARG for a number that is taken. */
  channel(number: number, config: CompleteModelConfig): RemoteChannel;
}

/** A process that has bound the model. */
export interface Binder {
  readonly link: BinderLink;
  /** The model's number on the link. */
  readonly model: number;
  /** The number of its instances. */
  readonly instances: number;
  /** Aborts when the process unbinds the model. */
  readonly unbound: AbortSignal;
}

export interface RemoteModelOptions {
  readonly config: CompleteModelConfig;
  readonly logger: Logger;
  /** Sends the model's warm-up requests to instances. */
  readonly warmUp: (config: CompleteModelConfig, instances: readonly ClosableInstance[]) => Promise<void>;
}

export class RemoteModel implements InstanceSource {
  readonly config: CompleteModelConfig;
  readonly binders = new Set<Binder>();
  readonly #options: RemoteModelOptions;
  readonly #openings = new Set<RemoteOpening>();
  #isReady = false;

  constructor(options: RemoteModelOptions) {
    this.config = options.config;
    this.#options = options;
  }

  async open(override: CompleteModelConfig | undefined, signal: AbortSignal): Promise<OpenedInstances> {
    const { name } = this.config;
    if (override !== undefined) {
      const message = `model '${name}' is bound by another process, and takes no other configuration than its own`;
      throw new TritonError('UNSUPPORTED', message);
    }
    if (this.binders.size === 0) {
      throw new TritonError('UNAVAILABLE', `no process that has bound model '${name}' is connected`);
    }
    const opening = new RemoteOpening(this.#options, () => this.#openings.delete(opening));
    this.#openings.add(opening);
    const unfollow = followSignal(signal, () => void opening.close());
    const opened = await Promise.allSettled(Array.from(this.binders, (binder) => opening.begin(binder)));
    unfollow();
    const failed = opened.find((result) => result.status === 'rejected');
    if (opening.instances.some(({ isClosed }) => isClosed !== true)) return opening;
    await opening.close();
    throw failed?.reason ?? new TritonError('UNAVAILABLE', INTERRUPTIONS.ended);
  }

  onReady(isReady: boolean): void {
    this.#isReady = isReady;
    for (const { link, model } of this.binders) link.send({ kind: 'readiness', model, isReady });
  }

  /** Adds a process to the loads of the model. Rejects with the reason when it cannot serve. */
  async join(binder: Binder): Promise<void> {
    this.binders.add(binder);
    try {
      await Promise.all(Array.from(this.#openings, (opening) => opening.join(binder)));
    } catch (error) {
      await this.leave(binder);
      throw error;
    }
    binder.link.send({ kind: 'readiness', model: binder.model, isReady: this.#isReady });
  }

  /** Gives a process no more requests. Resolves when its last has ended. */
  async leave(binder: Binder): Promise<void> {
    this.binders.delete(binder);
    await Promise.all(Array.from(this.#openings, (opening) => opening.leave(binder)));
  }

  attached(binder: Binder, number: number, instance: LinkedInstance): void {
    for (const opening of this.#openings) opening.attached(binder, number, instance);
  }

  /** The link of a process has ended, and its channels with it. */
  lost(binder: Binder): void {
    this.binders.delete(binder);
    for (const opening of this.#openings) opening.lost(binder);
  }
}

/** The instances of one process. */
interface Part {
  /** The opening's number on its link. */
  readonly number: number;
  readonly instances: Map<ChannelInstance, RemoteChannel>;
}

/** One load of the model. */
class RemoteOpening implements OpenedInstances {
  readonly instances: ClosableInstance[] = [];
  onRestart: (instance: ClosableInstance) => void = (instance) => void this.instances.push(instance);
  onJoin: (instance: ClosableInstance) => void = (instance) => void this.instances.push(instance);
  onLeave: (instance: ClosableInstance) => void = () => undefined;
  readonly #options: RemoteModelOptions;
  readonly #onClosed: () => void;
  readonly #parts = new Map<Binder, Part>();
  #isClosed = false;

  constructor(options: RemoteModelOptions, onClosed: () => void) {
    this.#options = options;
    this.#onClosed = onClosed;
  }

  /** Opens the instances of a process for the start of the load, which warms them up. */
  async begin(binder: Binder): Promise<void> {
    this.instances.push(...(await this.#open(binder)));
  }

  /** Opens the instances of a process that comes later. */
  async join(binder: Binder): Promise<void> {
    const instances = await this.#open(binder);
    await this.#options.warmUp(this.#options.config, instances);
    for (const instance of instances) this.onJoin(instance);
  }

  async #open(binder: Binder): Promise<readonly ClosableInstance[]> {
    const { number, instances } = binder.link.open(binder);
    const part: Part = { number, instances: new Map() };
    this.#parts.set(binder, part);
    const linked = await instances;
    if (this.#isClosed) throw new TritonError('UNAVAILABLE', 'the model was unloaded while it was opened');
    if (linked.length !== binder.instances) {
      throw new TritonError('INVALID_ARG', `${linked.length} instances were opened, expected ${binder.instances}`);
    }
    return linked.map((instance) => this.#instanceAt(binder, part, instance));
  }

  #instanceAt({ link }: Binder, part: Part, { channel: number, hasThread }: LinkedInstance): ChannelInstance {
    const channel = link.channel(number, this.#options.config);
    const end = (reason: string) => link.send({ kind: 'end', channel: number, reason });
    const instance = new ChannelInstance(this.#options.config, channel, hasThread ? end : undefined);
    part.instances.set(instance, channel);
    return instance;
  }

  attached(binder: Binder, number: number, instance: LinkedInstance): void {
    const part = this.#parts.get(binder);
    if (part?.number !== number) return;
    for (const [known, { isClosed, isEnding }] of part.instances)
      if (isClosed || isEnding) part.instances.delete(known);
    if (part.instances.size >= binder.instances) throw new TritonError('INVALID_ARG', 'more instances than were bound');
    this.onRestart(this.#instanceAt(binder, part, instance));
  }

  async leave(binder: Binder): Promise<void> {
    const part = this.#parts.get(binder);
    if (part === undefined) return;
    this.#parts.delete(binder);
    for (const instance of part.instances.keys()) this.onLeave(instance);
    await Promise.all(Array.from(part.instances.values(), (channel) => channel.idle()));
    for (const instance of part.instances.keys()) instance.close();
    binder.link.close(part.number);
  }

  lost(binder: Binder): void {
    this.#parts.delete(binder);
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#onClosed();
    for (const [{ link }, { number, instances }] of this.#parts) {
      for (const instance of instances.keys()) instance.close();
      link.close(number);
    }
    this.#parts.clear();
  }
}
