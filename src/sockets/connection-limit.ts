// Limits the connections of several ports together. When the limit is reached, a new connection takes the place of an idle one,
// first of one that never asked anything. Where none is idle, some more are accepted for health checks. These take no place of
// others, and the oldest of them gives way to a new one. One address leaves a fifth of all places to others, so that its endless streams cannot shut everybody out.

import { readFileSync } from 'node:fs';

import { addressGroup } from './address-group.js';

/** A connection, for the limit. */
export interface LimitedConnection {
  /** Milliseconds for which nothing has been under way on it, as far as its last tick told. */
  readonly idleFor: number;
  /** Whether it has been of use. */
  readonly hasServed: boolean;
  /** Ends it now. */
  closeIdle(): void;
}

/** A client that has just connected is about to ask, and one that has asked is about to ask again. */
const LEAST_SILENT_MILLISECONDS = 1000;
const LEAST_IDLE_MILLISECONDS = 5000;
/** Pause between two searches for idle connections, after one that found none. */
const PAUSE_MILLISECONDS = 100;
/** Places for health checks beyond the limit. */
const SPARE = 16;
/** An address may have this many times the places that are free, as with the dynamic thresholds of switches. */
const TIMES_FREE = 4;
/** An address with fewer connections is not refused for its share. */
const LEAST_SHARE = 16;

/** `whole`: for anything; `spare`: for health checks. */
export type Admission = 'whole' | 'spare' | 'refused';

export class ConnectionLimit {
  readonly #most: number;
  /** With the group of its address. */
  readonly #connections = new Map<LimitedConnection, string>();
  readonly #countOf = new Map<string, number>();
  /** For health checks, the oldest first. */
  readonly #spares = new Set<LimitedConnection>();
  /** Connections that the last search found idle, the next to close at the end. */
  #idle: LimitedConnection[] = [];
  #looksAgainAt = -Infinity;

  constructor(most: number) {
    this.#most = most;
  }

  /** What a new connection from `address` may be used for. It may cost another one its place. */
  admit(address: string, takesSpare = true): Admission {
    const own = this.#countOf.get(addressGroup(address)) ?? 0;
    if (this.#hasPlace(own) || this.#closeIdle(own)) return 'whole';
    if (!takesSpare) return 'refused';
    if (this.#spares.size >= SPARE) this.#closeOldestSpare();
    return 'spare';
  }

  add(connection: LimitedConnection, address: string, admission: Admission): void {
    if (admission === 'spare') {
      this.#spares.add(connection);
      return;
    }
    const group = addressGroup(address);
    this.#connections.set(connection, group);
    this.#countOf.set(group, (this.#countOf.get(group) ?? 0) + 1);
  }

  remove(connection: LimitedConnection): void {
    this.#spares.delete(connection);
    const group = this.#connections.get(connection);
    if (group === undefined) return;
    this.#connections.delete(connection);
    const left = this.#countOf.get(group)! - 1;
    if (left > 0) this.#countOf.set(group, left);
    else this.#countOf.delete(group);
  }

  #hasPlace(own: number): boolean {
    const free = this.#most - this.#connections.size;
    if (free <= 0) return false;
    return own < LEAST_SHARE || own < TIMES_FREE * free;
  }

  /** A client that asks how the server is does so at once, and its connection ends with the answer. */
  #closeOldestSpare(): void {
    const [oldest] = this.#spares;
    this.remove(oldest!);
    oldest!.closeIdle();
  }

  #closeIdle(own: number): boolean {
    const connection = this.#takeIdle(own) ?? (this.#look() ? this.#takeIdle(own) : undefined);
    if (connection === undefined) return false;
    this.remove(connection);
    connection.closeIdle();
    return true;
  }

  /** Nobody takes places of an address that has fewer, beyond the share of every address. */
  #takeIdle(own: number): LimitedConnection | undefined {
    // They may have become busy since, or be gone.
    for (let last = this.#idle.at(-1); last !== undefined; last = this.#idle.at(-1)) {
      if (isIdle(last) && this.#connections.has(last)) break;
      this.#idle.pop();
    }
    const at = this.#idle.findLastIndex((one) => {
      const group = this.#connections.get(one);
      return group !== undefined && isIdle(one) && (own < LEAST_SHARE || this.#countOf.get(group)! >= own);
    });
    return at < 0 ? undefined : this.#idle.splice(at, 1)[0];
  }

  #look(): boolean {
    const now = performance.now();
    if (now < this.#looksAgainAt) return false;
    this.#looksAgainAt = now + PAUSE_MILLISECONDS;
    this.#idle = [...this.#connections.keys()]
      .filter(isIdle)
      .sort((a, b) => Number(b.hasServed) - Number(a.hasServed) || a.idleFor - b.idleFor);
    return this.#idle.length > 0;
  }
}

function isIdle({ idleFor, hasServed }: LimitedConnection): boolean {
  return idleFor >= (hasServed ? LEAST_IDLE_MILLISECONDS : LEAST_SILENT_MILLISECONDS);
}

/** Files of the process that are not connections, also of callables. */
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
