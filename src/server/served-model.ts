// A model as the engine loads it, with those of its instances that live: threads end and are started again while the
// model stays. It is ready while at least one instance lives. Instances are there while it is loaded only.

import type { ModelInstance } from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import type { LoadableModel } from '../core/model-control.js';
import type { ModelEntry } from '../core/model-entry.js';
import type { ModelCaller } from '../model/model-calls.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';

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

/** Where the instances of a model come from, for every load anew. */
export interface InstanceSource {
  /** Sets the model up and starts its instances; `override`: for another configuration than it was bound with. */
  open(override: CompleteModelConfig | undefined): Promise<OpenedInstances>;
  /** Called when no instance will take a batch any more, though they live, and when one does again. */
  onStalled(isStalled: boolean): void;
}

/** For how long requests wait for the first of their instances to be there again, in milliseconds. */
const RESTART_GRACE = 1000;

/** What the models of a server share. */
export interface ServedSurroundings {
  /** Makes the calls of other models that callables ask for. */
  readonly caller: ModelCaller;
  /** The models whose instances may live. */
  readonly living: Set<ServedModel>;
  /** The server ends: what clients wanted loaded is not loaded any more. */
  isEnding: boolean;
}

export class ServedModel implements LoadableModel {
  readonly config: CompleteModelConfig;
  /** The same, where it is not what the model was bound with. */
  readonly #override: CompleteModelConfig | undefined;
  readonly #source: InstanceSource;
  readonly #surroundings: ServedSurroundings;
  readonly #instances = new Set<ClosableInstance>();
  #opened: OpenedInstances | undefined;
  /** What its instances work for; a model that was replaced still answers what it had. */
  #entry: ModelEntry | undefined;
  #isStalled = false;
  /** Runs while no instance is left. */
  #grace: NodeJS.Timeout | undefined;

  constructor(
    bound: CompleteModelConfig,
    source: InstanceSource,
    surroundings: ServedSurroundings,
    override?: CompleteModelConfig,
  ) {
    this.config = override ?? bound;
    this.#override = override;
    this.#source = source;
    this.#surroundings = surroundings;
  }

  with(config: CompleteModelConfig): ServedModel {
    return new ServedModel(this.config, this.#source, this.#surroundings, config);
  }

  async open(): Promise<readonly ModelInstance[]> {
    if (this.#surroundings.isEnding) throw new TritonError('UNAVAILABLE', 'Server exiting');
    this.#surroundings.living.add(this);
    const opened = await this.#source.open(this.#override);
    this.#opened = opened;
    opened.onRestart = (instance) => this.#attach(instance);
    for (const instance of opened.instances) this.#add(instance);
    return [...this.#instances];
  }

  serve(): readonly ModelInstance[] {
    return [...this.#instances];
  }

  servedBy(entry: ModelEntry): void {
    this.#entry = entry;
    entry.model.onStalled = (isStalled) => this.#stalled(entry, isStalled);
    // Those that a server before this one had may have ended with nothing.
    if (this.#instances.size === 0) this.#noneLeft(entry);
  }

  async close(): Promise<void> {
    this.closeInstances();
    const opened = this.#opened;
    this.#opened = undefined;
    await opened?.close();
    this.#surroundings.living.delete(this);
  }

  closeInstances(): void {
    const entry = this.#entry;
    this.#entry = undefined;
    // What becomes of batches that took too long is nobody's concern any more.
    if (entry !== undefined) {
      entry.model.onStalled = () => undefined;
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
    const entry = this.#entry;
    if (entry === undefined) return;
    clearTimeout(this.#grace);
    // A model that was replaced, or is being unloaded, answers its queued requests first.
    entry.model.addInstance(instance);
    entry.model.statistics.instanceRestarts++;
    entry.resumed('ended');
  }

  /** An instance has ended. */
  #lost(instance: ClosableInstance): void {
    if (!this.#instances.delete(instance)) return;
    const entry = this.#entry;
    if (entry !== undefined && entry.model.removeInstance(instance) === 0) this.#noneLeft(entry);
  }

  #noneLeft(entry: ModelEntry): void {
    entry.interrupted('ended');
    // Whoever waits for a thread that does not start again would wait for ever.
    // Accepted, and counted as failed: in other words than those that are refused meanwhile.
    const message = `model '${this.config.name}' is not ready: all instances ended while the request waited`;
    const failure = new TritonError('UNAVAILABLE', message);
    this.#grace = setTimeout(() => entry.model.failQueued(failure), RESTART_GRACE);
  }

  /** Its instances live, but none of them will take a batch; or one does again. What waited has been refused. */
  #stalled(entry: ModelEntry, isStalled: boolean): void {
    if (isStalled) entry.interrupted('stalled');
    else entry.resumed('stalled');
    this.#tellStalled(isStalled);
  }

  #tellStalled(isStalled: boolean): void {
    if (isStalled === this.#isStalled) return;
    this.#isStalled = isStalled;
    this.#source.onStalled(isStalled);
  }

  #add(instance: ClosableInstance): void {
    instance.caller = this.#surroundings.caller;
    instance.onClosed = () => this.#lost(instance);
    this.#instances.add(instance);
  }
}
