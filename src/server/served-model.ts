// A model that the server serves, with those of its instances that live: threads end and are started again while
// the model stays. It is ready while at least one instance lives. Instances are there while it is loaded only.

import type { ModelInstance } from '../core/instance/model-instance.js';
import { INSTANCES_ENDED, INSTANCES_STALLED } from '../core/interruption.js';
import { TritonError } from '../errors.js';
import type { Model } from '../core/model.js';
import type { ModelEntry, ModelRepository } from '../core/model-repository.js';
import type { ModelCaller } from '../model/model-calls.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';

/** An instance that can be closed, or be lost. */
export interface ClosableInstance extends ModelInstance {
  close?(): void;
  /** Told when it is gone. */
  onClosed?: (() => void) | undefined;
  /** Makes the calls of other models that the instance's callable asks for. */
  caller?: ModelCaller | undefined;
}

/** The instances of a load of a model. */
export interface OpenedInstances {
  readonly instances: readonly ClosableInstance[];
  /** Told of instances that were started again; for whoever opened them to set. */
  onRestart: (instance: ClosableInstance) => void;
  /** Ends what they needed, once they are closed. */
  close(): Promise<void>;
}

/** Where the instances of a model come from, for every load anew. */
export interface InstanceSource {
  /** Sets the model up for this configuration and starts its instances. */
  open(config: CompleteModelConfig): Promise<OpenedInstances>;
  /** Told when no instance will take a batch any more, though they live, and when one does again. */
  onStalled(isStalled: boolean): void;
}

/** For how long requests wait for the first of their instances to be there again, in milliseconds. */
const RESTART_GRACE = 1000;

export class ServedModel {
  readonly config: CompleteModelConfig;
  readonly #source: InstanceSource;
  readonly #repository: ModelRepository;
  readonly #caller: ModelCaller;
  readonly #instances = new Set<ClosableInstance>();
  #opened: OpenedInstances | undefined;
  /** What its instances work for; a model that was replaced still answers what it had. */
  #model: Model | undefined;
  #isStalled = false;
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
    const opened = await this.#source.open(this.config);
    this.#opened = opened;
    opened.onRestart = (instance) => this.#attach(instance);
    for (const instance of opened.instances) this.#add(instance);
    return [...this.#instances];
  }

  /** The instances that live now. */
  serve(): readonly ModelInstance[] {
    return [...this.#instances];
  }

  servedBy(model: Model): void {
    this.#model = model;
    model.onStalled = (isStalled) => this.#stalled(model, isStalled);
    // Those that a server before this one had may have ended with nothing.
    if (this.#instances.size === 0) this.#noneLeft(model);
  }

  /** Ends the instances and what they needed. */
  async close(): Promise<void> {
    this.closeInstances();
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.close();
  }

  closeInstances(): void {
    const model = this.#model;
    this.#model = undefined;
    // What becomes of batches that took too long is nobody's concern any more.
    if (model !== undefined) {
      model.onStalled = () => undefined;
      this.#tellStalled(false);
    }
    clearTimeout(this.#grace);
    const instances = [...this.#instances];
    // None of them is lost then.
    this.#instances.clear();
    for (const instance of instances) instance.close?.();
  }

  /** An instance was started again. */
  #attach(instance: ClosableInstance): void {
    // As happens while it is closed.
    if (this.#opened === undefined) return instance.close?.();
    this.#add(instance);
    const model = this.#model;
    if (model === undefined) return;
    clearTimeout(this.#grace);
    // A model that was replaced, or is being unloaded, answers what waits in its queue first.
    model.addInstance(instance);
    model.statistics.instanceRestarts++;
    this.#resume(model, INSTANCES_ENDED);
  }

  /** An instance has ended. */
  #lost(instance: ClosableInstance): void {
    if (!this.#instances.delete(instance)) return;
    const model = this.#model;
    if (model !== undefined && model.removeInstance(instance) === 0) this.#noneLeft(model);
  }

  #noneLeft(model: Model): void {
    this.#interrupt(model, INSTANCES_ENDED);
    // Whoever waits for a thread that does not start again would wait for ever.
    // Accepted, and counted as failed: in other words than those that are refused meanwhile.
    const message = `model '${this.config.name}' is not ready: all instances ended while the request waited`;
    const failure = new TritonError('UNAVAILABLE', message);
    this.#grace = setTimeout(() => model.failQueued(failure), RESTART_GRACE);
  }

  /** Its instances live, but none of them will take a batch; or one does again. What waited has been refused. */
  #stalled(model: Model, isStalled: boolean): void {
    if (isStalled) this.#interrupt(model, INSTANCES_STALLED);
    else this.#resume(model, INSTANCES_STALLED);
    this.#tellStalled(isStalled);
  }

  #tellStalled(isStalled: boolean): void {
    if (isStalled === this.#isStalled) return;
    this.#isStalled = isStalled;
    this.#source.onStalled(isStalled);
  }

  #interrupt(model: Model, reason: string): void {
    const entry = this.#entryOf(model);
    if (entry?.state !== 'READY') return;
    entry.state = 'UNAVAILABLE';
    entry.reason = reason;
  }

  #resume(model: Model, interruption: string): void {
    const entry = this.#entryOf(model);
    if (entry?.state !== 'UNAVAILABLE' || entry.reason !== interruption) return;
    entry.state = 'READY';
    entry.reason = '';
  }

  /** Undefined once another one has taken the model's place. */
  #entryOf(model: Model): ModelEntry | undefined {
    const entry = this.#repository.find(this.config.name, this.config.version);
    return entry?.model === model ? entry : undefined;
  }

  #add(instance: ClosableInstance): void {
    instance.caller = this.#caller;
    instance.onClosed = () => this.#lost(instance);
    this.#instances.add(instance);
  }
}
