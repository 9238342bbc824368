// Gives a served model one instance, and ends and restarts instances as their threads do.
import type { InstanceSource, OpenedInstances } from '../../src/server/served-model.js';
import type { ManualInstance } from './scheduler-harness.js';

export class ManualSource implements InstanceSource {
  readonly #opened: OpenedInstances;

  constructor(instance: ManualInstance) {
    this.#opened = { instances: [instance], onRestart: () => undefined, close: async () => undefined };
  }

  async open(): Promise<OpenedInstances> {
    return this.#opened;
  }

  onStalled(): void {}

  /** The instance has ended. */
  lose(instance: ManualInstance): void {
    instance.onClosed?.();
  }

  /** This instance is there in place of one that has ended. */
  restart(instance: ManualInstance): void {
    this.#opened.onRestart(instance);
  }
}
