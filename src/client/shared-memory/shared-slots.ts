// The shared memory of a client, in slots that its requests use one after the other. A request whose outcome is unknown
// gives none back: the server may still write its outputs there.

import { TritonError } from '../../errors.js';
import { within } from '../../lifecycle/within.js';
import type { Call } from '../call.js';
import type { SharedMemoryRegion } from '../server/server-data.js';
import { SharedSlot } from './shared-slot.js';
import { UNREGISTER_MS } from './unregistering.js';

/** The server's side. */
export interface Registrar {
  register(region: SharedMemoryRegion, call: Call): Promise<void>;
  /** Never rejects. */
  unregister(name: string): Promise<void>;
}

const LEAST_BYTES = 64 * 1024;
const PAGE_BYTES = 4096;

export class SharedSlots {
  readonly #registrar: Registrar;
  readonly #maxBytes: number;
  /** All that are registered, by use. */
  readonly #free = new Set<SharedSlot>();
  readonly #used = new Set<SharedSlot>();
  /** What all of them take, those too that the server has not let go yet. */
  #bytes = 0;
  /** What of it will soon be free. */
  #leavingBytes = 0;
  /** The requests that want a slot, in order. Only the first looks for one. */
  #line: Promise<unknown> = Promise.resolve();
  #onRoom = () => {};
  readonly #openings = new Set<Promise<unknown>>();
  readonly #ends = new Set<Promise<void>>();
  #closed = false;

  constructor(registrar: Registrar, maxBytes: number) {
    this.#registrar = registrar;
    this.#maxBytes = maxBytes;
  }

  /**
   * A slot of at least so many bytes, when it is the call's turn and there is room. Throws INVALID_ARG for more than there will ever
   * be, the call's error when it is aborted, and as {@link SharedSlot.open}.
   */
  take(byteSize: number, call: Call): Promise<SharedSlot> {
    if (byteSize > this.#maxBytes) {
      const message = `the tensors of a request take ${byteSize} bytes of shared memory, expected at most maxBytes, ${this.#maxBytes}`;
      return Promise.reject(new TritonError('INVALID_ARG', message));
    }
    const found = this.#line.then(() => this.#find(byteSize, call));
    this.#line = found.catch(() => {});
    return new Promise((resolve, reject) => {
      const forget = call.onAbort(reject);
      found.then((slot) => (call.error === undefined ? resolve(slot) : this.give(slot)), reject).finally(forget);
    });
  }

  /** Takes the slot back for other requests. The server must have done with it. */
  give(slot: SharedSlot): void {
    this.#used.delete(slot);
    if (this.#closed) return this.#end(slot.close());
    this.#free.add(slot);
    this.#onRoom();
  }

  /** Takes the slot out of use. */
  abandon(slot: SharedSlot): void {
    const isOurs = this.#used.delete(slot) || this.#free.delete(slot);
    if (!isOurs) return;
    this.#leavingBytes += slot.byteSize;
    const gone = (this.#closed ? slot.close() : this.#drop(slot)).finally(() => {
      this.#leavingBytes -= slot.byteSize;
      this.#bytes -= slot.byteSize;
      this.#onRoom();
    });
    this.#end(gone);
  }

  /** The server has lost the regions of before. */
  forget(): void {
    for (const slot of this.#free) this.abandon(slot);
  }

  /** Unregisters everything. Slots in use are closed when their requests end. */
  async close(): Promise<void> {
    if (!this.#closed) {
      this.#closed = true;
      for (const slot of this.#used) this.#end(this.#registrar.unregister(slot.name));
      for (const slot of this.#free) this.#end(this.#drop(slot));
      this.#free.clear();
      this.#onRoom();
    }
    // A region may be registered after this.
    await within(Promise.allSettled(this.#openings), UNREGISTER_MS / 1000);
    await Promise.all(this.#ends);
  }

  /** Throws UNAVAILABLE once it is closed. */
  expectOpen(): void {
    if (this.#closed) throw new TritonError('UNAVAILABLE', 'SharedMemory is closed');
  }

  async #find(byteSize: number, call: Call): Promise<SharedSlot> {
    for (;;) {
      call.throwIfAborted();
      this.expectOpen();
      const free = smallest(this.#free, byteSize);
      if (free !== undefined) {
        this.#free.delete(free);
        this.#used.add(free);
        return free;
      }
      const size = this.#makeRoom(byteSize);
      if (size !== undefined) return this.#open(size, call);
      const room = new Promise<void>((resolve) => (this.#onRoom = resolve));
      await call.race(room);
    }
  }

  /** The size of a slot that there is room for, if need be by giving up free ones. */
  #makeRoom(byteSize: number): number | undefined {
    // Sizes that come again in later requests.
    const rounded = Math.max(LEAST_BYTES, 2 ** Math.ceil(Math.log2(byteSize)));
    const size = rounded <= this.#maxBytes ? rounded : Math.ceil(byteSize / PAGE_BYTES) * PAGE_BYTES;
    for (const slot of this.#free) {
      if (this.#bytes - this.#leavingBytes + size <= this.#maxBytes) break;
      this.abandon(slot);
    }
    return this.#bytes + size <= this.#maxBytes || this.#bytes === 0 ? size : undefined;
  }

  async #open(size: number, call: Call): Promise<SharedSlot> {
    this.#bytes += size;
    const opening = SharedSlot.open(size, (region) => this.#register(region, call));
    this.#openings.add(opening);
    try {
      const slot = await opening;
      if (this.#closed) this.#end(this.#drop(slot));
      this.expectOpen();
      this.#used.add(slot);
      return slot;
    } catch (error) {
      this.#bytes -= size;
      throw error;
    } finally {
      this.#openings.delete(opening);
    }
  }

  async #register(region: SharedMemoryRegion, call: Call): Promise<void> {
    try {
      await this.#registrar.register(region, call);
    } catch (error) {
      // The server may have it though nobody waited for the answer.
      if (call.error !== undefined) this.#end(this.#registrar.unregister(region.name));
      throw error;
    }
  }

  async #drop(slot: SharedSlot): Promise<void> {
    await Promise.all([this.#registrar.unregister(slot.name), slot.close()]);
  }

  /** Notes an end that `close` waits for. */
  #end(end: Promise<void>): void {
    this.#ends.add(end);
    void end.finally(() => this.#ends.delete(end));
  }
}

function smallest(slots: Iterable<SharedSlot>, byteSize: number): SharedSlot | undefined {
  let found: SharedSlot | undefined;
  for (const slot of slots) {
    if (slot.byteSize >= byteSize && (found === undefined || slot.byteSize < found.byteSize)) found = slot;
  }
  return found;
}
