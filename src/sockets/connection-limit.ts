// How many connections there may be, of several ports together. When there are as many, a new one takes the place of one that
// is idle: of those that never asked anything first. Where none is idle, some more are taken for those who ask how the server is.

import { readFileSync } from 'node:fs';

/** A connection, for the limit. */
export interface LimitedConnection {
  /** Milliseconds for which nothing has been under way on it, as far as its last tick told. */
  readonly idleFor: number;
  /** Whether it has been of use. */
  readonly hasServed: boolean;
  /** Ends it now. */
  closeIdle(): void;
}

/** Who has just connected is about to ask, and who has asked is about to ask again. */
const LEAST_SILENT_MILLISECONDS = 1000;
const LEAST_IDLE_MILLISECONDS = 5000;
/** After looking for idle ones in vain nobody looks for so long. */
const PAUSE_MILLISECONDS = 100;
/** For those who ask how the server is. */
const SPARE = 16;

/** `whole`: for anything; `spare`: for asking how the server is. */
export type Admission = 'whole' | 'spare' | 'refused';

export class ConnectionLimit {
  readonly #most: number;
  readonly #connections = new Set<LimitedConnection>();
  /** Those that were idle when they were looked for last, the next to go at the end. */
  #idle: LimitedConnection[] = [];
  #looksAgainAt = -Infinity;

  constructor(most: number) {
    this.#most = most;
  }

  get size(): number {
    return this.#connections.size;
  }

  /** What a new connection may be used for. It may cost an idle one its place. */
  admit(): Admission {
    if (this.size < this.#most || this.#closeIdle()) return 'whole';
    return this.size < this.#most + SPARE ? 'spare' : 'refused';
  }

  add(connection: LimitedConnection): void {
    this.#connections.add(connection);
  }

  remove(connection: LimitedConnection): void {
    this.#connections.delete(connection);
  }

  #closeIdle(): boolean {
    const connection = this.#nextIdle();
    if (connection === undefined) return false;
    this.#connections.delete(connection);
    connection.closeIdle();
    return true;
  }

  #nextIdle(): LimitedConnection | undefined {
    for (;;) {
      const next = this.#idle.pop();
      // It may have become busy since, or be gone.
      if (next !== undefined && isIdle(next) && this.#connections.has(next)) return next;
      if (this.#idle.length === 0 && !this.#look()) return undefined;
    }
  }

  #look(): boolean {
    const now = performance.now();
    if (now < this.#looksAgainAt) return false;
    this.#looksAgainAt = now + PAUSE_MILLISECONDS;
    this.#idle = [...this.#connections]
      .filter(isIdle)
      .sort((a, b) => Number(b.hasServed) - Number(a.hasServed) || a.idleFor - b.idleFor);
    return this.#idle.length > 0;
  }
}

function isIdle({ idleFor, hasServed }: LimitedConnection): boolean {
  return idleFor >= (hasServed ? LEAST_IDLE_MILLISECONDS : LEAST_SILENT_MILLISECONDS);
}

/** Of the process: what it has beside connections, and callables have. */
const MOST_OTHER_FILES = 128;

/** As many as wanted, as far as the system lets the process have them open; unlimited where it does not tell. */
export function possibleConnections(wanted: number, files: number = openFilesLimit()): number {
  return Math.max(1, Math.min(wanted, files - Math.min(MOST_OTHER_FILES, Math.ceil(files / 2))));
}

function openFilesLimit(): number {
  try {
    const [, soft] = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8')) ?? [];
    return soft === undefined ? Number.MAX_SAFE_INTEGER : Number(soft);
  } catch {
    // not Linux
    return Number.MAX_SAFE_INTEGER;
  }
}
