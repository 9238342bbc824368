// One load of a version in the repository, and how it is. It owns what the load runs on: it closes that once, after its last
// request. All changes of its state are made here, as the table in `model/lives.ts` has them.

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { Life, type LifeState } from '../model/lives.js';
import type { RepositoryState } from '../model/repository-model.js';
import type { Model } from './model.js';
import type { Opening } from './opening.js';
import { type Interruption, INTERRUPTIONS } from './refusals.js';

/** The protocol's states. */
const STATES = {
  loading: 'LOADING',
  ready: 'READY',
  unloading: 'UNLOADING',
  unloaded: 'UNAVAILABLE',
  interrupted: 'UNAVAILABLE',
  failed: 'UNAVAILABLE',
} as const satisfies Record<LifeState<'entry'>, RepositoryState>;

/** A model that requests are decoded for, as plain data. */
export interface ResolvedModel {
  readonly config: CompleteModelConfig;
  /** Stands for this load of the model. A model that is replaced or loaded again has another number. */
  readonly load: number;
}

export class ModelEntry {
  readonly model: Model;
  readonly resolved: ResolvedModel;
  readonly #life = new Life('entry', 'loading');
  readonly #onChange: () => void;
  #failure = '';
  #opening: Opening | undefined;
  #retired: Promise<void> | undefined;

  constructor(model: Model, load: number, onChange: () => void) {
    this.model = model;
    this.resolved = { config: model.config, load };
    this.#onChange = onChange;
  }

  get status(): LifeState<'entry'> {
    return this.#life.state;
  }

  /** In the protocol's words. */
  get state(): RepositoryState {
    return STATES[this.status];
  }

  /** Why it serves nobody, where there is more to say than the state does. */
  get reason(): string {
    if (this.status === 'interrupted') return INTERRUPTIONS[this.model.interruption!];
    if (this.status === 'failed') return this.#failure;
    return this.status === 'unloaded' ? 'unloaded' : '';
  }

  get isReady(): boolean {
    return this.status === 'ready';
  }

  /** Whether it serves, or will when its instances are there again. */
  get isLoaded(): boolean {
    return this.isReady || this.status === 'interrupted';
  }

  /** Serves with the instances of an opening, which is its own from now on. */
  serve(opening: Opening): void {
    this.#opening = opening;
    const { model } = this;
    this.#become('opened');
    model.onInterrupted = (by) => this.#interrupted(by);
    model.start(opening.instances);
    opening.watch?.({
      started: (instance) => {
        model.statistics.instanceRestarts++;
        model.addInstance(instance);
      },
      ended: (instance) => model.removeInstance(instance),
      blocked: (instance, isBlocked) => model.blockInstance(instance, isBlocked),
    });
  }

  failed(reason: string): void {
    this.#failure = reason;
    this.#become('failed');
  }

  /**
   * Takes no more requests. Resolves when the last one has ended, the callables have settled, and what they ran on is closed. What
   * is not loaded has nothing to retire. Idempotent.
   */
  retire(): Promise<void> {
    if (!this.isLoaded) return this.#retired ?? Promise.resolve();
    this.#become('retired');
    this.#retired = this.#retire();
    return this.#retired;
  }

  async #retire(): Promise<void> {
    await this.model.drain();
    try {
      await this.#opening?.close?.();
    } finally {
      this.#become('closed');
    }
  }

  #interrupted(by: Interruption | undefined): void {
    this.#become(by === undefined ? 'resumed' : 'interrupted');
  }

  #become(event: Parameters<Life<'entry'>['on']>[0]): void {
    this.#life.on(event);
    this.#onChange();
  }
}
