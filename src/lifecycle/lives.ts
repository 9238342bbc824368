// One table holds the lives of entries, openings and instances: their states, and the next state for each event. Every
// change of such a state goes through a `Life`, so that only changes of the table can happen.
// docs/internals/architecture.md says who causes each event and who waits for it.

import { assert } from '../errors.js';

/** The next state, by state and event. An event that a state does not list cannot happen in it. */
export const LIVES = {
  /** One load of a version in the repository (`core/model-entry.ts`). */
  entry: {
    loading: { opened: 'ready', failed: 'failed', closed: 'unloaded' },
    ready: { interrupted: 'interrupted', retired: 'unloading' },
    interrupted: { interrupted: 'interrupted', resumed: 'ready', retired: 'unloading' },
    // Instances may still end and restart while the last requests are under way.
    unloading: { interrupted: 'unloading', resumed: 'unloading', closed: 'unloaded' },
    unloaded: {},
    failed: {},
  },
  /**
   * The callables and threads of one load: in the user's thread (`server/model-opening.ts`), and seen by the server
   * (`server/served-opening.ts`).
   */
  opening: {
    opening: { opened: 'open', closing: 'closing' },
    open: { closing: 'closing' },
    // A start that is still under way ends in vain.
    closing: { opened: 'closing', closed: 'closed' },
    closed: { opened: 'closed' },
  },
  /** One instance with a thread of its own (`link/instance-supervisor.ts`). */
  instance: {
    starting: { ready: 'living', exited: 'stopped', stopping: 'stopping' },
    living: { ended: 'ending', exited: 'resting', stopping: 'stopping' },
    // The supervisor ends the thread for a batch that takes too long; native code first ends its computation.
    ending: { exited: 'resting', stopping: 'stopping' },
    resting: { due: 'restarting', stopping: 'stopped' },
    restarting: { ready: 'living', exited: 'resting', stopping: 'stopping' },
    stopping: { ready: 'stopping', exited: 'stopped' },
    stopped: { stopping: 'stopped' },
  },
} as const;

type Lives = typeof LIVES;
type Table = Readonly<Record<string, Readonly<Record<string, string>>>>;
export type LifeKind = keyof Lives;
export type LifeState<K extends LifeKind> = keyof Lives[K] & string;
export type LifeEvent<K extends LifeKind> = {
  [S in keyof Lives[K]]: keyof Lives[K][S];
}[keyof Lives[K]] &
  string;

/** The state of one entry, opening or instance. */
export class Life<K extends LifeKind> {
  readonly #kind: K;
  #state: LifeState<K>;

  constructor(kind: K, first: LifeState<K>) {
    this.#kind = kind;
    this.#state = first;
  }

  get state(): LifeState<K> {
    return this.#state;
  }

  /** Throws INTERNAL for an event that cannot happen in this state. */
  on(event: LifeEvent<K>): void {
    const table: Table = LIVES[this.#kind];
    const next = table[this.#state]?.[event];
    assert(next !== undefined, `${this.#kind} that is ${this.#state} cannot be ${event}`);
    this.#state = next as string as LifeState<K>;
  }
}
