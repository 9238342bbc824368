// The openings that tritonserver has served: replaced or unloaded ones, until their last requests have ended.

import { type CompleteModelConfig, modelKey } from '../model/complete-model-config.js';
import type { InstanceListener } from '../tritonserver/instance-listener.js';
import type { ModelOpening } from './model-opening.js';

/** An opening, and the key that its instances say to the listener. */
export interface ListedOpening {
  readonly opening: ModelOpening;
  readonly key: string;
}

export class RetiringOpenings {
  readonly #listener: Pick<InstanceListener, 'left' | 'remove'>;
  /** By name and version. */
  readonly #ends = new Map<string, Set<Promise<void>>>();

  constructor(listener: Pick<InstanceListener, 'left' | 'remove'>) {
    this.#listener = listener;
  }

  /** Closes an opening once tritonserver has ended its instances, which it does after their last requests. */
  add(listed: ListedOpening): void {
    const key = modelKey(listed.opening.config);
    const ends = this.#ends.get(key) ?? new Set();
    this.#ends.set(key, ends);
    const end = this.#close(listed).finally(() => {
      ends.delete(end);
      if (ends.size === 0 && this.#ends.get(key) === ends) this.#ends.delete(key);
    });
    ends.add(end);
    // Callers of `ended` get the failure, and there need not be any.
    end.catch(() => undefined);
  }

  /** Resolves when the openings of a name and version that retire now are closed. Rejects when a close fails. */
  async ended(config: CompleteModelConfig): Promise<void> {
    await Promise.all(this.#ends.get(modelKey(config)) ?? new Set<Promise<void>>());
  }

  async #close({ opening, key }: ListedOpening): Promise<void> {
    await this.#listener.left(key);
    this.#listener.remove(key);
    await opening.close();
  }
}
