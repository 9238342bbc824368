// Makes a model that the engine can load. Its instances are in the user's thread or in threads of their own, and each
// load has new ones.

import type { LoadableModel } from '../core/model-loads.js';
import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { type OpenedInstances, ServedOpening, type ServedSurroundings } from './served-opening.js';

/** The source of a model's instances, for every load anew. */
export interface InstanceSource {
  /** Sets the model up and starts its instances, until the signal. `override` replaces the bound configuration. */
  open(override: CompleteModelConfig | undefined, signal: AbortSignal): Promise<OpenedInstances>;
  /** Called when the model's readiness changes. */
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

  async open(config: CompleteModelConfig, signal: AbortSignal): Promise<ServedOpening> {
    this.#checkEnding();
    const opened = await this.#source.open(config === this.config ? undefined : config, signal);
    try {
      this.#checkEnding();
    } catch (error) {
      await opened.close();
      throw error;
    }
    return new ServedOpening(opened, this.#surroundings);
  }

  /** Tells the user's thread whether the model is ready. */
  tell(isReady: boolean): void {
    if (isReady === this.#isReady) return;
    this.#isReady = isReady;
    this.#source.onReady(isReady);
  }

  #checkEnding(): void {
    if (this.#surroundings.isEnding) throw new TritonError('UNAVAILABLE', 'Server exiting');
  }
}
