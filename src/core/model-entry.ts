// One load of a version in the repository, and its state. It owns the opening that the load runs on, and closes it once, after
// the last request. All changes of its state are made here, as the table in `lifecycle/lives.ts` has them.

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { Life, type LifeState } from '../lifecycle/lives.js';
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
  /** Whether this load takes requests now. The engine keeps it current. */
  readonly isServed: boolean;
}

export class ModelEntry {
  readonly model: Model;
  readonly resolved: { -readonly [Member in keyof ResolvedModel]: ResolvedModel[Member] };
  readonly #life = new Life('entry', 'loading');
  readonly #onChange: (entry: ModelEntry) => void;
  #failure = '';
  #opening: Opening | undefined;
  #retired: Promise<void> | undefined;

  constructor(model: Model, load: number, onChange: (entry: ModelEntry) => void) {
    this.model = model;
    this.resolved = { config: model.config, load, isServed: false };
    this.#onChange = onChange;
  }

  get status(): LifeState<'entry'> {
    return this.#life.state;
  }

  /** In the protocol's words. */
  get state(): RepositoryState {
    return STATES[this.status];
  }

  /** Why it serves nobody, where the state does not say it all. */
  get reason(): string {
    if (this.status === 'interrupted') return INTERRUPTIONS[this.model.interruption!];
    if (this.status === 'failed') return this.#failure;
    return this.status === 'unloaded' ? 'unloaded' : '';
  }

  get isReady(): boolean {
    return this.resolved.isServed;
  }

  /** Whether readiness does not wait for it: it serves, or was unloaded on request. */
  get countsAsReady(): boolean {
    return this.isReady || this.status === 'unloaded';
  }

  /** Whether it serves, or will when its instances are there again. */
  get isLoaded(): boolean {
    return this.isReady || this.status === 'interrupted';
  }

  /** Whether it takes no more requests, and may still answer its last ones. */
  get isUnloaded(): boolean {
    return this.status === 'unloading' || this.status === 'unloaded';
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
      added: (instance) => model.addInstance(instance),
      ended: (instance) => model.removeInstance(instance),
      blocked: (instance, isBlocked) => model.blockInstance(instance, isBlocked),
    });
  }

  failed(reason: string): void {
    this.#failure = reason;
    this.#become('failed');
  }

  /** A client has unloaded it before it was loaded. */
  dropped(): void {
    this.#become('closed');
  }

  /**
   * Takes no more requests. Resolves when the last one has ended, the callables have settled, and their opening is closed. An
   * entry that is not loaded has nothing to retire. Idempotent. With `accepting`, requests of live sequences are still accepted.
   */
  retire(accepting = false): Promise<void> {
    if (!this.isLoaded) return this.#retired ?? Promise.resolve();
    this.#become('retired');
    this.#retired = this.#retire(accepting);
    return this.#retired;
  }

  async #retire(accepting: boolean): Promise<void> {
    await this.model.drain(accepting);
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
    this.resolved.isServed = this.#life.state === 'ready';
    this.#onChange(this);
  }
}
