// A model that the server serves, with those of its instances that live: threads end and are started again while
// the model stays. It is ready while at least one instance lives.

import type { ModelInstance } from '../core/instance/model-instance.js';
import type { ModelRepository } from '../core/model-repository.js';
import type { ModelCaller } from '../model/model-calls.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';

/** An instance that can be closed. */
export interface ClosableInstance extends ModelInstance {
  close?(): void;
  /** Makes the calls of other models that the instance's callable asks for. */
  caller?: ModelCaller | undefined;
}

const NO_INSTANCE = 'all instances have ended';

export class ServedModel {
  readonly config: CompleteModelConfig;
  readonly #repository: ModelRepository;
  readonly #instances: Set<ClosableInstance>;

  constructor(config: CompleteModelConfig, instances: readonly ClosableInstance[], repository: ModelRepository) {
    this.config = config;
    this.#instances = new Set(instances);
    this.#repository = repository;
  }

  /** The instances that live, for every load anew. */
  open(): readonly ModelInstance[] {
    return [...this.#instances];
  }

  close(): void {
    for (const instance of this.#instances) instance.close?.();
    this.#instances.clear();
  }

  /** An instance was started again. */
  attach(instance: ClosableInstance): void {
    this.#instances.add(instance);
    const entry = this.#repository.find(this.config.name, this.config.version);
    if (entry === undefined) return;
    const lost = entry.state === 'UNAVAILABLE' && entry.reason === NO_INSTANCE;
    if (entry.state !== 'READY' && !lost) return;
    entry.model.addInstance(instance);
    entry.model.statistics.instanceRestarts++;
    entry.state = 'READY';
    entry.reason = '';
  }

  /** An instance has ended. */
  lost(instance: ClosableInstance): void {
    if (!this.#instances.delete(instance)) return;
    const entry = this.#repository.find(this.config.name, this.config.version);
    const left = entry?.model.removeInstance(instance);
    if (entry?.state !== 'READY' || left !== 0) return;
    entry.state = 'UNAVAILABLE';
    entry.reason = NO_INSTANCE;
  }
}
