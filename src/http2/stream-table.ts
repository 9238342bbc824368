// The streams of a connection by id. The table also remembers closed streams (RFC 9113, section 5.1). Frames for a stream that
// we reset may still be on their way, and are allowed. Frames for other ended streams are errors.

import type { Role } from './connection-options.js';
import { MAX_STREAM_ID } from './frame.js';
import type { StreamState } from './stream-state.js';

/** As many resets of ours can be on their way to the peer at once; of more, late frames count as the peer's error. */
const MOST_RESETS = 4096;
const RECENT = 64;

export class StreamTable {
  readonly #streams = new Map<number, StreamState>();
  /** The stream that was found last: frames of one stream often come one after the other. */
  #latest: StreamState | undefined;
  readonly #localParity: number;
  #nextLocalId: number;
  /** The highest that the peer has opened. */
  lastPeerId = 0;
  /** In the order in which they were reset. */
  readonly #resets = new Set<number>();
  /** Ids of streams that closed last, in a ring. */
  readonly #recent = new Int32Array(RECENT);
  #recentAt = 0;

  constructor(role: Role) {
    this.#nextLocalId = role === 'client' ? 1 : 2;
    this.#localParity = this.#nextLocalId & 1;
  }

  get size(): number {
    return this.#streams.size;
  }

  find(id: number): StreamState | undefined {
    if (this.#latest?.id === id) return this.#latest;
    const found = this.#streams.get(id);
    if (found !== undefined) this.#latest = found;
    return found;
  }

  /** A copy: streams may be closed while it is gone through. */
  all(): readonly StreamState[] {
    return [...this.#streams.values()];
  }

  add(stream: StreamState): void {
    this.#streams.set(stream.id, stream);
    this.#latest = stream;
  }

  remove(stream: StreamState, isResetByUs: boolean): void {
    this.#streams.delete(stream.id);
    if (this.#latest === stream) this.#latest = undefined;
    if (isResetByUs) this.rememberReset(stream.id);
    else this.#recent[this.#recentAt++ & (RECENT - 1)] = stream.id;
  }

  /** Also for streams that were refused and so never in the table. */
  rememberReset(id: number): void {
    this.#resets.add(id);
    if (this.#resets.size <= MOST_RESETS) return;
    for (const oldest of this.#resets) {
      this.#resets.delete(oldest);
      break;
    }
  }

  /** Of a stream that is not in the table. Frames for one that we reset are ignored: the peer may not know yet. */
  stateOf(id: number): 'idle' | 'reset' | 'closed' {
    if (this.#resets.has(id)) return 'reset';
    const isIdle = this.isLocal(id) ? id >= this.#nextLocalId : id > this.lastPeerId;
    return isIdle ? 'idle' : 'closed';
  }

  /** True for some of the streams that were open once; others may never have been, as their ids were left out. */
  hasClosedRecently(id: number): boolean {
    return this.#recent.includes(id);
  }

  /** Whether only this side may use the id (section 5.1.1). */
  isLocal(id: number): boolean {
    return (id & 1) === this.#localParity;
  }

  get hasLocalIds(): boolean {
    return this.#nextLocalId <= MAX_STREAM_ID;
  }

  /** For a new stream of this side, when there is one left. */
  takeLocalId(): number {
    const id = this.#nextLocalId;
    this.#nextLocalId += 2;
    return id;
  }
}
