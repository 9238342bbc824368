// What one load of a version runs on: its instances, from the start of the load to its end. The entry that serves with it owns
// it, and closes it once, after its last request.

import type { ModelInstance } from './instance/model-instance.js';

/** Who works with the instances of an opening. */
export interface InstanceListener {
  /** One was started again. */
  readonly started: (instance: ModelInstance) => void;
  /** One has come beside the others. */
  readonly added: (instance: ModelInstance) => void;
  /** One has ended, or takes no more batches. */
  readonly ended: (instance: ModelInstance) => void;
  /** The thread that one runs in is blocked, or is not any more. */
  readonly blocked: (instance: ModelInstance, isBlocked: boolean) => void;
}

export interface Opening {
  /** The instances that live now. */
  readonly instances: readonly ModelInstance[];
  /** Tells of instances that come and go from now on, until it is closed. */
  watch?(listener: InstanceListener): void;
  /** Ends the instances, and everything that they needed. */
  close?(): void | Promise<void>;
}
