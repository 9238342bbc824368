// The instances of a model version and how busy each one is: which of them gets the next batch.

import type { ModelInstance } from '../instance/model-instance.js';

export interface Slot {
  readonly instance: ModelInstance;
  /** Batches that it is working on. */
  running: number;
  /** Those of them that will hardly come to an end. */
  stuck: number;
  /** The thread that it runs in is blocked. */
  isBlocked: boolean;
}

export class InstanceSlots {
  readonly #slots: Slot[] = [];
  readonly #concurrency: number;
  /** Index of the slot whose turn it is. */
  #turn = 0;

  /** `concurrency`: how many batches an instance may work on at a time. */
  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  get count(): number {
    return this.#slots.length;
  }

  /** Instances that have, or will have, room for a batch. */
  get working(): number {
    return this.#slots.filter((slot) => !slot.isBlocked && !this.#isStuck(slot)).length;
  }

  /** Whether no instance would have room, blocked or not. */
  get areStuck(): boolean {
    return this.#slots.every((slot) => this.#isStuck(slot));
  }

  /** Batches that instances work on, but for those that will hardly come to an end. */
  get running(): number {
    return this.#slots.reduce((sum, { running, stuck }) => sum + running - stuck, 0);
  }

  add(instance: ModelInstance): void {
    this.#slots.push({ instance, running: 0, stuck: 0, isBlocked: false });
  }

  remove(instance: ModelInstance): void {
    const index = this.#slots.findIndex((slot) => slot.instance === instance);
    if (index >= 0) this.#slots.splice(index, 1);
  }

  block(instance: ModelInstance, isBlocked: boolean): void {
    const slot = this.#slots.find((known) => known.instance === instance);
    if (slot !== undefined) slot.isBlocked = isBlocked;
  }

  indexOf(slot: Slot): number {
    return this.#slots.indexOf(slot);
  }

  /** The least busy instance that has room for a batch, in turn among equals. */
  free(): Slot | undefined {
    const count = this.#slots.length;
    let best: Slot | undefined;
    for (let i = 0; i < count; i++) {
      const slot = this.#slots[(this.#turn + i) % count]!;
      if (!slot.isBlocked && slot.running < (best?.running ?? this.#concurrency)) best = slot;
    }
    return best;
  }

  /** The instance gets a batch: the turn is the next one's. */
  begin(slot: Slot): void {
    this.#turn = this.#slots.indexOf(slot) + 1;
    slot.running++;
  }

  #isStuck({ stuck }: Slot): boolean {
    return stuck >= this.#concurrency;
  }
}
