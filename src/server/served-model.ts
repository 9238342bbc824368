// A model as the engine loads it. Its instances are in the user's thread or in threads of their own; each load has others.

import type { LoadableModel } from '../core/model-control.js';
import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { type OpenedInstances, ServedOpening, type ServedSurroundings } from './served-opening.js';

/** Where the instances of a model come from, for every load anew. */
export interface InstanceSource {
  /** Sets the model up and starts its instances; `override`: for another configuration than it was bound with. */
  open(override: CompleteModelConfig | undefined): Promise<OpenedInstances>;
  /** Called with whether the model is ready, when that is another answer than before. */
  onReady(isReady: boolean): void;
}

export class ServedModel implements LoadableModel {
  readonly config: CompleteModelConfig;
  readonly #source: InstanceSource;
  readonly #surroundings: ServedSurroundings;
  #isReady: boolean | undefined;

  constructor(config: CompleteModelConfig, source: InstanceSource, surroundings: ServedSurroundings) {
    this.config = config;
    this.#source = source;
    this.#surroundings = surroundings;
  }

  async open(config: CompleteModelConfig): Promise<ServedOpening> {
    this.#checkEnding();
    const opened = await this.#source.open(config === this.config ? undefined : config);
    try {
      this.#checkEnding();
    } catch (error) {
      await opened.close();
      throw error;
    }
    return new ServedOpening(opened, this.#surroundings);
  }

  /** Tells the user's thread whether it is ready. */
  tell(isReady: boolean): void {
    if (isReady === this.#isReady) return;
    this.#isReady = isReady;
    this.#source.onReady(isReady);
  }

  #checkEnding(): void {
    if (this.#surroundings.isEnding) throw new TritonError('UNAVAILABLE', 'Server exiting');
  }
}
