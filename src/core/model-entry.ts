// One version of a model in the repository, and how it is. All changes of that are made here: what has no place here does
// not happen to a version, and `onChange` is called for each change that does.

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { RepositoryState } from '../model/repository-model.js';
import type { Model } from './model.js';
import { type Interruption, INTERRUPTIONS } from './refusals.js';

type ModelStatus =
  | { readonly kind: 'loading' | 'ready' | 'unloading' | 'unloaded' }
  | { readonly kind: 'interrupted'; readonly by: Interruption }
  | { readonly kind: 'failed'; readonly reason: string };

/** The protocol's states. */
const STATES = {
  loading: 'LOADING',
  ready: 'READY',
  unloading: 'UNLOADING',
  unloaded: 'UNAVAILABLE',
  interrupted: 'UNAVAILABLE',
  failed: 'UNAVAILABLE',
} as const satisfies Record<ModelStatus['kind'], RepositoryState>;

/** A model that requests are decoded for, as plain data. */
export interface ResolvedModel {
  readonly config: CompleteModelConfig;
  /** Stands for this load of the model. A model that is replaced or loaded again has another number. */
  readonly load: number;
}

export class ModelEntry {
  readonly model: Model;
  readonly resolved: ResolvedModel;
  #status: ModelStatus = { kind: 'loading' };
  readonly #onChange: () => void;

  constructor(model: Model, load: number, onChange: () => void) {
    this.model = model;
    this.resolved = { config: model.config, load };
    this.#onChange = onChange;
  }

  get status(): ModelStatus {
    return this.#status;
  }

  /** In the protocol's words. */
  get state(): RepositoryState {
    return STATES[this.#status.kind];
  }

  /** Why it is UNAVAILABLE, or ''. */
  get reason(): string {
    const status = this.#status;
    if (status.kind === 'interrupted') return INTERRUPTIONS[status.by];
    if (status.kind === 'failed') return status.reason;
    return status.kind === 'unloaded' ? 'unloaded' : '';
  }

  get isReady(): boolean {
    return this.#status.kind === 'ready';
  }

  /** Whether it serves, or will when its instances are there again. */
  get isLoaded(): boolean {
    return this.#status.kind === 'ready' || this.#status.kind === 'interrupted';
  }

  /** Its instances are there. */
  loaded(): void {
    this.#become({ kind: 'ready' });
  }

  failed(reason: string): void {
    this.#become({ kind: 'failed', reason });
  }

  interrupted(by: Interruption): void {
    if (this.isReady) this.#become({ kind: 'interrupted', by });
  }

  /** What interrupted it is over. */
  resumed(by: Interruption): void {
    if (this.#status.kind === 'interrupted' && this.#status.by === by) this.#become({ kind: 'ready' });
  }

  /** It takes no more requests. False when there is nothing to unload. */
  unloading(): boolean {
    if (this.isLoaded) this.#become({ kind: 'unloading' });
    return this.#status.kind === 'unloading';
  }

  /** Its last request has ended. */
  unloaded(): void {
    this.#become({ kind: 'unloaded' });
  }

  #become(status: ModelStatus): void {
    this.#status = status;
    this.#onChange();
  }
}
