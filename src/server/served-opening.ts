// Holds the live instances of one load of a model, on the server's side. Threads may end and restart while it is open.

import type { ModelInstance } from '../core/instance/model-instance.js';
import type { InstanceListener, Opening } from '../core/opening.js';
import { Life } from '../lifecycle/lives.js';
import type { ModelCaller } from '../model/model-calls.js';

/** An instance that can be closed, or be lost. */
export interface ClosableInstance extends ModelInstance {
  close?(): void;
  /** Whether it is gone already. Default: false. */
  readonly isClosed?: boolean;
  /** Called when the instance is gone. */
  onClosed?: (() => void) | undefined;
  /** Makes the calls of other models for the instance's callable. */
  caller?: ModelCaller | undefined;
}

/** The instances of a load of a model. */
export interface OpenedInstances {
  readonly instances: readonly ClosableInstance[];
  /** Called with restarted instances; the server sets it. */
  onRestart: (instance: ClosableInstance) => void;
  /** Called with instances that come beside the others; the server sets it. */
  onJoin?: (instance: ClosableInstance) => void;
  /** Called with instances that are to get no more batches and finish theirs; the server sets it. */
  onLeave?: (instance: ClosableInstance) => void;
  /** Releases everything else of the load, once the instances are closed. */
  close(): Promise<void>;
}

/** The members that all models of a server share. */
export interface ServedSurroundings {
  /** Makes the calls of other models for callables. */
  readonly caller: ModelCaller;
  /** The openings that are open or closing. */
  readonly openings: Set<ServedOpening>;
  /** The server ends: loads that clients asked for no longer happen. */
  isEnding: boolean;
  /** The user's thread is blocked. */
  isOwnerBlocked: boolean;
}

export class ServedOpening implements Opening {
  readonly #life = new Life('opening', 'open');
  readonly #opened: OpenedInstances;
  readonly #surroundings: ServedSurroundings;
  readonly #instances = new Set<ClosableInstance>();
  #listener: InstanceListener | undefined;

  constructor(opened: OpenedInstances, surroundings: ServedSurroundings) {
    this.#opened = opened;
    this.#surroundings = surroundings;
    surroundings.openings.add(this);
    opened.onRestart = (instance) => {
      if (this.#comes(instance)) this.#listener?.started(instance);
    };
    opened.onJoin = (instance) => {
      if (this.#comes(instance)) this.#listener?.added(instance);
    };
    opened.onLeave = (instance) => {
      if (this.#instances.delete(instance)) this.#listener?.ended(instance);
    };
    // One may be gone before the others were there.
    for (const instance of opened.instances) if (instance.isClosed !== true) this.#add(instance);
  }

  get instances(): readonly ClosableInstance[] {
    return [...this.#instances];
  }

  watch(listener: InstanceListener): void {
    this.#listener = listener;
    if (this.#surroundings.isOwnerBlocked) this.ownerBlocked(true);
  }

  /** Records that the user's thread is blocked, or goes on. */
  ownerBlocked(isBlocked: boolean): void {
    for (const instance of this.#instances) {
      // Other instances have threads of their own.
      if (instance.end === undefined) this.#listener?.blocked(instance, isBlocked);
    }
  }

  async close(): Promise<void> {
    this.#life.on('closing');
    this.endInstances();
    await this.#opened.close();
    this.#life.on('closed');
    this.#surroundings.openings.delete(this);
  }

  /** Ends the instances at the server's end: their running batches fail. */
  endInstances(): void {
    const instances = [...this.#instances];
    // Without this, each would count as lost.
    this.#instances.clear();
    for (const instance of instances) instance.close?.();
  }

  /** Returns false for an instance that is gone already, or comes while the opening closes. */
  #comes(instance: ClosableInstance): boolean {
    if (instance.isClosed === true) return false;
    if (this.#life.state !== 'open' || this.#surroundings.isEnding) {
      instance.close?.();
      return false;
    }
    this.#add(instance);
    return true;
  }

  #add(instance: ClosableInstance): void {
    instance.caller = this.#surroundings.caller;
    instance.onClosed = () => {
      if (this.#instances.delete(instance)) this.#listener?.ended(instance);
    };
    this.#instances.add(instance);
  }
}
