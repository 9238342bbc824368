// The lives of what serves a model, as one table: the states of each, and what each event makes of them. Every change of such a
// state goes through a `Life`, so that what the table does not have cannot happen. docs/internals/architecture.md says who
// brings about each event and who waits for it.

import { assert } from '../errors.js';

/** By state, what each event makes of it. An event that is missing in a state cannot come in it. */
export const LIVES = {
  /** One load of a version in the repository (`core/model-entry.ts`). */
  entry: {
    loading: { opened: 'ready', failed: 'failed' },
    ready: { interrupted: 'interrupted', retired: 'unloading' },
    interrupted: { interrupted: 'interrupted', resumed: 'ready', retired: 'unloading' },
    // Its instances come and go while its last requests are under way.
    unloading: { interrupted: 'unloading', resumed: 'unloading', closed: 'unloaded' },
    unloaded: {},
    failed: {},
  },
  /** What one load runs on: in the user's thread (`server/model-opening.ts`), and as the server sees it (`server/served-opening.ts`). */
  opening: {
    opening: { opened: 'open', closing: 'closing' },
    open: { closing: 'closing' },
    // A start that is not over yet ends in vain.
    closing: { opened: 'closing', closed: 'closed' },
    closed: { opened: 'closed' },
  },
  /** One instance with a thread of its own (`link/instance-supervisor.ts`). */
  instance: {
    starting: { ready: 'living', exited: 'stopped', stopping: 'stopping' },
    living: { ended: 'ending', exited: 'resting', stopping: 'stopping' },
    // It is ended for a batch that takes too long; native code ends when its computation does.
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

/** The state of one of them. */
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

  /** Throws INTERNAL for what cannot happen in this state. */
  on(event: LifeEvent<K>): void {
    const table: Table = LIVES[this.#kind];
    const next = table[this.#state]?.[event];
    assert(next !== undefined, `${this.#kind} that is ${this.#state} cannot be ${event}`);
    this.#state = next as string as LifeState<K>;
  }
}
