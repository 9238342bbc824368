// The trace settings of the server and of its models: what a model does not set itself it has from the server, and
// what the server was not told has Triton's default. No trace file is ever written, so that every level but OFF is
// refused, in the words of a Triton that was started without one.

import { TritonError } from '../errors.js';
import type { TraceSettings, TraceUpdate } from '../model/trace-settings.js';

const DEFAULTS: TraceSettings = { level: ['OFF'], rate: 1000, count: -1, logFrequency: 0 };

const NOTHING_SET: Partial<TraceSettings> = {};

export class TraceSettingsStore {
  #global = NOTHING_SET;
  readonly #models = new Map<string, Partial<TraceSettings>>();

  /** The settings that count for a model; of the server when the name is ''. */
  get(model: string): TraceSettings {
    return { ...DEFAULTS, ...this.#global, ...(model === '' ? NOTHING_SET : this.#models.get(model)) };
  }

  /** Changes the settings of a model, or of the server when the name is ''. Throws INVALID_ARG and changes nothing then. */
  update(model: string, update: TraceUpdate): TraceSettings {
    if (update.level?.some((level) => level !== 'OFF') === true) {
      throw new TritonError('INVALID_ARG', 'Attempting to set invalid trace setting :trace file name is not given');
    }
    if (model === '') {
      this.#global = merge(this.#global, update);
    } else {
      const settings = merge(this.#models.get(model) ?? NOTHING_SET, update);
      if (Object.keys(settings).length === 0) this.#models.delete(model);
      else this.#models.set(model, settings);
    }
    return this.get(model);
  }

  /** The model is gone, and a later one of its name starts anew. */
  forget(model: string): void {
    this.#models.delete(model);
  }
}

function merge(settings: Partial<TraceSettings>, update: TraceUpdate): Partial<TraceSettings> {
  const merged = Object.entries({ ...settings, ...update }).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return Object.fromEntries(merged);
}
