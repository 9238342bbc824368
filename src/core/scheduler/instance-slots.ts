// The instances of a model version and how busy each one is: which of them gets the next batch.

import type { ModelInstance } from '../instance/model-instance.js';

export interface Slot {
  readonly instance: ModelInstance;
  /** The batches that it has been given and that have not ended. */
  running: number;
  /** How many of `running` will probably never end. */
  stuck: number;
  /** The thread that it runs in is blocked. */
  isBlocked: boolean;
  /** How long its callable takes for a batch as a rule, in milliseconds; Infinity until it has run one. */
  typicalMs: number;
}

/**
 * An instance is given as many batches ahead as its callable runs in about this many milliseconds. A message to another thread and
 * the answer take about a tenth of that.
 */
const AHEAD_MS = 1;
/** The most batches that an instance is given ahead, however fast its callable is. */
export const MOST_AHEAD = 64;
/** Weight of the last execution in the typical duration. */
const LAST_WEIGHT = 1 / 8;

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

  /** Batches that instances work on, without the stuck ones. */
  get running(): number {
    let sum = 0;
    for (const { running, stuck } of this.#slots) sum += running - stuck;
    return sum;
  }

  add(instance: ModelInstance): void {
    this.#slots.push({ instance, running: 0, stuck: 0, isBlocked: false, typicalMs: Infinity });
  }

  /** Gives the slot that the instance had. */
  remove(instance: ModelInstance): Slot | undefined {
    const index = this.#slots.findIndex((slot) => slot.instance === instance);
    return index < 0 ? undefined : this.#slots.splice(index, 1)[0];
  }

  block(instance: ModelInstance, isBlocked: boolean): void {
    const slot = this.#slots.find((known) => known.instance === instance);
    if (slot !== undefined) slot.isBlocked = isBlocked;
  }

  /** The instances, blocked or not, in the order in which they came. */
  get all(): readonly Slot[] {
    return this.#slots;
  }

  /** Whether a given instance has room for a batch. */
  hasRoom({ isBlocked, running }: Slot): boolean {
    return !isBlocked && running < this.#concurrency;
  }

  indexOf(slot: Slot): number {
    return this.#slots.indexOf(slot);
  }

  /** The least busy instance that has room for a batch, in turn among equals. `ahead`: room for one that is given ahead. */
  free(ahead = false): Slot | undefined {
    const count = this.#slots.length;
    let best: Slot | undefined;
    for (let i = 0; i < count; i++) {
      const slot = this.#slots[(this.#turn + i) % count]!;
      if (slot.isBlocked || (best !== undefined && slot.running >= best.running)) continue;
      if (slot.running < this.#concurrency + (ahead ? roomAhead(slot) : 0)) best = slot;
    }
    return best;
  }

  /** The instance gets a batch: the turn is the next one's. */
  begin(slot: Slot): void {
    this.#turn = this.#slots.indexOf(slot) + 1;
    slot.running++;
  }

  /** Records how long the callable took for a batch. */
  took(slot: Slot, milliseconds: number): void {
    const { typicalMs } = slot;
    slot.typicalMs = typicalMs === Infinity ? milliseconds : typicalMs + (milliseconds - typicalMs) * LAST_WEIGHT;
  }

  #isStuck({ stuck }: Slot): boolean {
    return stuck >= this.#concurrency;
  }
}

function roomAhead({ instance, stuck, typicalMs }: Slot): number {
  if (instance.executeAhead === undefined || stuck > 0) return 0;
  return Math.min(MOST_AHEAD, Math.floor(AHEAD_MS / typicalMs));
}
