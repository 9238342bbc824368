// What one load of a model runs on, as the server sees it: those of its instances that live. Threads end and are started again
// while it is open.

import type { ModelInstance } from '../core/instance/model-instance.js';
import type { InstanceListener, Opening } from '../core/opening.js';
import { Life } from '../model/lives.js';
import type { ModelCaller } from '../model/model-calls.js';

/** An instance that can be closed, or be lost. */
export interface ClosableInstance extends ModelInstance {
  close?(): void;
  /** Called when the instance is gone. */
  onClosed?: (() => void) | undefined;
  /** Makes the calls of other models that the instance's callable asks for. */
  caller?: ModelCaller | undefined;
}

/** The instances of a load of a model. */
export interface OpenedInstances {
  readonly instances: readonly ClosableInstance[];
  /** Called with instances that were started again; the server sets it. */
  onRestart: (instance: ClosableInstance) => void;
  /** Ends what they needed, once they are closed. */
  close(): Promise<void>;
}

/** What the models of a server share. */
export interface ServedSurroundings {
  /** Makes the calls of other models that callables ask for. */
  readonly caller: ModelCaller;
  /** Those that are open, or are being closed. */
  readonly openings: Set<ServedOpening>;
  /** The server ends: what clients wanted loaded is not loaded any more. */
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
    opened.onRestart = (instance) => this.#restarted(instance);
    for (const instance of opened.instances) this.#add(instance);
  }

  get instances(): readonly ClosableInstance[] {
    return [...this.#instances];
  }

  watch(listener: InstanceListener): void {
    this.#listener = listener;
    if (this.#surroundings.isOwnerBlocked) this.ownerBlocked(true);
  }

  /** The user's thread is blocked, or is not any more. */
  ownerBlocked(isBlocked: boolean): void {
    for (const instance of this.#instances) {
      // Others have threads of their own.
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

  /** The server ends: whatever an instance still works on fails. */
  endInstances(): void {
    const instances = [...this.#instances];
    // None of them is lost then.
    this.#instances.clear();
    for (const instance of instances) instance.close?.();
  }

  #restarted(instance: ClosableInstance): void {
    // As happens while it is closed.
    if (this.#life.state !== 'open' || this.#surroundings.isEnding) return instance.close?.();
    this.#add(instance);
    this.#listener?.started(instance);
  }

  #add(instance: ClosableInstance): void {
    instance.caller = this.#surroundings.caller;
    instance.onClosed = () => {
      if (this.#instances.delete(instance)) this.#listener?.ended(instance);
    };
    this.#instances.add(instance);
  }
}
