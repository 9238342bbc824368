// Gives a served model one instance, and ends and restarts instances as their threads do.
import type { InstanceSource } from '../../src/server/served-model.js';
import type { OpenedInstances } from '../../src/server/served-opening.js';
import type { ManualInstance } from './scheduler-harness.js';

export class ManualSource implements InstanceSource {
  readonly #opened: OpenedInstances;
  /** What the model was told to be, in order. */
  readonly readiness: boolean[] = [];
  /** How often what was opened was closed. */
  closes = 0;

  constructor(instance: ManualInstance) {
    this.#opened = { instances: [instance], onRestart: () => undefined, close: async () => void this.closes++ };
  }

  async open(): Promise<OpenedInstances> {
    return this.#opened;
  }

  onReady(isReady: boolean): void {
    this.readiness.push(isReady);
  }

  /** The instance has ended. */
  lose(instance: ManualInstance): void {
    instance.onClosed?.();
  }

  /** This instance is there in place of one that has ended. */
  restart(instance: ManualInstance): void {
    this.#opened.onRestart(instance);
  }
}
