// A model that the server serves, with those of its instances that live: threads end and are started again while
// the model stays. It is ready while at least one instance lives. Instances are there while it is loaded only.

import type { ModelInstance } from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import type { Model } from '../core/model.js';
import { INSTANCES_ENDED, type ModelEntry, type ModelRepository } from '../core/model-repository.js';
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
  /** What its instances work for; a model that was replaced still answers what it had. */
  #model: Model | undefined;
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

  /** The instances that live now. */
  serve(): readonly ModelInstance[] {
    return [...this.#instances];
  }

  servedBy(model: Model): void {
    this.#model = model;
  }

  /** Ends the instances and what they needed. */
  async close(): Promise<void> {
    this.closeInstances();
    await this.#source.close();
  }

  closeInstances(): void {
    this.#model = undefined;
    clearTimeout(this.#grace);
    const instances = [...this.#instances];
    // None of them is lost then.
    this.#instances.clear();
    for (const instance of instances) instance.close?.();
  }

  /** An instance was started again. */
  attach(instance: ClosableInstance): void {
    this.#add(instance);
    const model = this.#model;
    if (model === undefined) return;
    clearTimeout(this.#grace);
    // A model that was replaced, or is being unloaded, answers what waits in its queue first.
    model.addInstance(instance);
    model.statistics.instanceRestarts++;
    const entry = this.#entryOf(model);
    if (entry?.state !== 'UNAVAILABLE') return;
    entry.state = 'READY';
    entry.reason = '';
  }

  /** An instance has ended. */
  lost(instance: ClosableInstance): void {
    if (!this.#instances.delete(instance)) return;
    const model = this.#model;
    if (model === undefined || model.removeInstance(instance) > 0) return;
    const entry = this.#entryOf(model);
    if (entry?.state === 'READY') {
      entry.state = 'UNAVAILABLE';
      entry.reason = INSTANCES_ENDED;
    }
    // Whoever waits for a thread that does not start again would wait for ever.
    // Accepted, and counted as failed: in other words than those that are refused meanwhile.
    const message = `model '${this.config.name}' is not ready: all instances ended while the request waited`;
    const failure = new TritonError('UNAVAILABLE', message);
    this.#grace = setTimeout(() => model.failWaiting(failure), RESTART_GRACE);
  }

  /** Undefined once another one has taken the model's place. */
  #entryOf(model: Model): ModelEntry | undefined {
    const entry = this.#repository.find(this.config.name, this.config.version);
    return entry?.model === model ? entry : undefined;
  }

  #add(instance: ClosableInstance): void {
    instance.caller = this.#caller;
    this.#instances.add(instance);
  }
}
