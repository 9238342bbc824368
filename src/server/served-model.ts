// A model that the server serves, with those of its instances that live: threads end and are started again while
// the model stays. It is ready while at least one instance lives. Instances are there while it is loaded only.

import type { ModelInstance } from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import { INSTANCES_ENDED, type ModelRepository } from '../core/model-repository.js';
import type { ModelCaller } from '../model/model-calls.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';

/** An instance that can be closed. */
export interface ClosableInstance extends ModelInstance {
  close?(): void;
  /** Makes the calls of other models that the instance's callable asks for. */
  caller?: ModelCaller | undefined;
}

/** Where the instances of a model come from, for every load anew. */
export interface InstanceSource {
  /** Sets the model up and starts its instances. */
  open(): Promise<readonly ClosableInstance[]>;
  /** Ends what `open` started, once the instances are closed. */
  close(): Promise<void>;
}

/** For how long requests wait for the first of their instances to be there again, in milliseconds. */
const RESTART_GRACE = 1000;

export class ServedModel {
  readonly config: CompleteModelConfig;
  readonly #source: InstanceSource;
  readonly #repository: ModelRepository;
  readonly #caller: ModelCaller;
  readonly #instances = new Set<ClosableInstance>();
  #serves = false;
  /** Runs while no instance is left. */
  #grace: NodeJS.Timeout | undefined;

  constructor(
    config: CompleteModelConfig,
    source: InstanceSource,
    { repository, caller }: { readonly repository: ModelRepository; readonly caller: ModelCaller },
  ) {
    this.config = config;
    this.#source = source;
    this.#repository = repository;
    this.#caller = caller;
  }

  /** Starts the instances, for every load anew. */
  async open(): Promise<readonly ModelInstance[]> {
    for (const instance of await this.#source.open()) this.#add(instance);
    return [...this.#instances];
  }

  /** The instances that live now; from now on, those that come and go are the model's. */
  serve(): readonly ModelInstance[] {
    this.#serves = true;
    return [...this.#instances];
  }

  /** Ends the instances and what they needed. */
  async close(): Promise<void> {
    this.closeInstances();
    await this.#source.close();
  }

  closeInstances(): void {
    this.#serves = false;
    clearTimeout(this.#grace);
    const instances = [...this.#instances];
    // None of them is lost then.
    this.#instances.clear();
    for (const instance of instances) instance.close?.();
  }

  /** An instance was started again. */
  attach(instance: ClosableInstance): void {
    this.#add(instance);
    if (!this.#serves) return;
    const entry = this.#repository.find(this.config.name, this.config.version);
    if (entry === undefined) return;
    const lost = entry.state === 'UNAVAILABLE' && entry.reason === INSTANCES_ENDED;
    // A model that is being unloaded answers what waits in its queue first.
    const drains = entry.state === 'UNLOADING';
    if (entry.state !== 'READY' && !lost && !drains) return;
    clearTimeout(this.#grace);
    entry.model.addInstance(instance);
    entry.model.statistics.instanceRestarts++;
    if (drains) return;
    entry.state = 'READY';
    entry.reason = '';
  }

  /** An instance has ended. */
  lost(instance: ClosableInstance): void {
    if (!this.#instances.delete(instance) || !this.#serves) return;
    const entry = this.#repository.find(this.config.name, this.config.version);
    const left = entry?.model.removeInstance(instance);
    if (entry === undefined || left !== 0) return;
    if (entry.state === 'READY') {
      entry.state = 'UNAVAILABLE';
      entry.reason = INSTANCES_ENDED;
    } else if (entry.state !== 'UNLOADING') return;
    // Whoever waits for a thread that does not start again would wait for ever.
    const { model } = entry;
    const failure = new TritonError('UNAVAILABLE', `model '${this.config.name}' is not ready: ${INSTANCES_ENDED}`);
    this.#grace = setTimeout(() => model.failWaiting(failure), RESTART_GRACE);
  }

  #add(instance: ClosableInstance): void {
    instance.caller = this.#caller;
    this.#instances.add(instance);
  }
}
