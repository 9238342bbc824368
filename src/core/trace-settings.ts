// Keeps the trace settings of the server and of its models, and chooses requests by them. A model takes the settings that
// it lacks from the server. A setting that nobody changed on the server has its start value.
// Requests are counted per model that has settings of its own, and for all others together, as Triton does.

import { invalidArg } from '../errors.js';
import type { TraceSettings, TraceStart, TraceUpdate } from '../observability/traces.js';

const DEFAULTS: TraceSettings = { mode: 'triton', file: '', level: ['OFF'], rate: 1000, count: -1, logFrequency: 0 };

type OwnSettings = Partial<TraceSettings>;

export class TraceSettingsStore {
  readonly #start: TraceSettings;
  #own: OwnSettings = {};
  #server: Sampler;
  readonly #models = new Map<string, { own: OwnSettings; sampler: Sampler }>();

  /** `start`: what a server that traces begins with; without it nothing is ever traced. */
  constructor(start: TraceStart = DEFAULTS) {
    this.#start = start;
    this.#server = new Sampler(this.#start);
  }

  /** Whether a traced caller makes a request traced too. Trace files know no callers. */
  get isFollowing(): boolean {
    return this.#start.mode === 'opentelemetry';
  }

  /** The settings in force for a model, or for the server when the name is ''. The count in them is the remaining count. */
  get(model: string): TraceSettings {
    return this.#samplerOf(model).settings;
  }

  /**
   * By which settings the next request to a model is traced; undefined when it is not. `forced`: its caller traces it,
   * which neither rate nor count ends.
   */
  sample(model: string, forced: boolean): TraceSettings | undefined {
    return this.#samplerOf(model).next(forced);
  }

  /** Changes the settings of a model, or of the server when the name is ''. Throws INVALID_ARG and changes nothing then. */
  update(model: string, update: TraceUpdate): TraceSettings {
    this.#checkLevel(update);
    if (model === '') {
      this.#own = merge(this.#own, this.#server, update);
      this.#server = new Sampler({ ...this.#start, ...this.#own });
      for (const entry of this.#models.values()) {
        entry.own = merge(entry.own, entry.sampler, {});
        entry.sampler = this.#inheriting(entry.own);
      }
    } else {
      const before = this.#models.get(model);
      const own = merge(before?.own ?? {}, before?.sampler, update);
      if (Object.keys(own).length === 0) this.#models.delete(model);
      else this.#models.set(model, { own, sampler: this.#inheriting(own) });
    }
    return this.get(model);
  }

  #samplerOf(model: string): Sampler {
    return (this.#models.size > 0 ? this.#models.get(model)?.sampler : undefined) ?? this.#server;
  }

  #inheriting(own: OwnSettings): Sampler {
    return new Sampler({ ...this.#server.settings, ...own });
  }

  #checkLevel({ level }: TraceUpdate): void {
    const { mode, file } = this.#start;
    if (mode === 'triton') {
      if (file !== '' || level === undefined || level === null || level.every((name) => name === 'OFF')) return;
      throw invalidArg('Attempting to set invalid trace setting :trace file name is not given');
    }
    // Triton takes it, and makes a span with nothing in it.
    if (level?.includes('TENSORS') === true) {
      throw invalidArg(
        'Attempting to set invalid trace setting :mode opentelemetry has the levels OFF and TIMESTAMPS, got TENSORS',
      );
    }
  }
}

/** Chooses requests by one set of settings. */
class Sampler {
  readonly #settings: TraceSettings;
  readonly #off: boolean;
  #seen = 0;
  #left: number;

  constructor(settings: TraceSettings) {
    this.#settings = settings;
    this.#off = settings.level.includes('OFF');
    this.#left = settings.count;
  }

  get settings(): TraceSettings {
    return { ...this.#settings, count: this.#left };
  }

  next(forced: boolean): TraceSettings | undefined {
    if (this.#off) return undefined;
    this.#seen++;
    const { rate } = this.#settings;
    const chosen = rate > 0 && this.#left !== 0 && this.#seen % rate === 0;
    if (chosen && this.#left > 0) this.#left--;
    return chosen || forced ? this.#settings : undefined;
  }
}

/** Returns the own settings after an update. A count that was set before goes on from its present value. */
function merge(own: OwnSettings, sampler: Sampler | undefined, update: TraceUpdate): OwnSettings {
  const count = own.count === undefined || sampler === undefined ? {} : { count: sampler.settings.count };
  const merged = Object.entries({ ...own, ...count, ...update }).filter(
    ([, value]) => value !== null && value !== undefined,
  );
  return Object.fromEntries(merged);
}
