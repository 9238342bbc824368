// Large memory that is used again. Node frees what an ArrayBuffer held when it is collected, takes fresh pages for the next one, and
// collects the whole heap each time that some tens of megabytes were allocated: for a request of 16 MB that costs more than moving its
// bytes. So the memory of an answer that was sent goes to the next large request or answer, and back to the system when none comes.

import { MessageChannel, type MessagePort } from 'node:worker_threads';

/** Of less, an allocation costs less than to keep account of it. */
export const LEAST_LARGE_BYTES = 1 << 20;
/** Of spare memory; the rest is given back at once. */
const MOST_KEPT_BYTES = 64 << 20;
/** Spare memory that is this many times larger than a request would be wasted on it. */
const MOST_TIMES_LARGER = 1.25;
/** Spare memory that nobody wanted for so long, or for twice as long, is given back. */
const KEPT_MILLISECONDS = 1000;

interface Spare {
  readonly memory: ArrayBuffer;
  /** It lay here at the last look already. */
  isOld: boolean;
}

export class LargeMemory {
  /** Of memory that is being sent, how many bytes are still to be. */
  readonly #unsent = new WeakMap<ArrayBufferLike, number>();
  #spares: Spare[] = [];
  #keptBytes = 0;
  /**
   * Answers are made by callables of this thread, which may keep their requests: the memory of requests does not come back, and that of
   * answers goes to answers. The collector has the less to do then.
   */
  #makesAnswers = false;
  #timer: NodeJS.Timeout | undefined;
  #drain: MessagePort | undefined;

  /** Spare memory. */
  get keptBytes(): number {
    return this.#keptBytes;
  }

  /** Memory for a request, whose content is not set, perhaps a part of larger memory that nobody else has. Throws RangeError when there are none. */
  ofRequest(bytes: number): Buffer {
    return this.spareOfRequest(bytes) ?? Buffer.allocUnsafeSlow(bytes);
  }

  /** The same, where there is spare memory of about that size. */
  spareOfRequest(bytes: number): Buffer | undefined {
    return this.#makesAnswers ? undefined : this.#take(bytes);
  }

  /** The same for an answer that is made in this thread. */
  ofAnswer(bytes: number): Buffer {
    if (bytes >= LEAST_LARGE_BYTES) this.#makesAnswers = true;
    return this.#take(bytes) ?? Buffer.allocUnsafeSlow(bytes);
  }

  #take(bytes: number): Buffer | undefined {
    if (this.#spares.length === 0 || bytes < LEAST_LARGE_BYTES) return undefined;
    const most = bytes * MOST_TIMES_LARGER;
    // The last one is the likeliest to be in the processor's cache.
    const at = this.#spares.findLastIndex(({ memory }) => memory.byteLength >= bytes && memory.byteLength <= most);
    if (at < 0) return undefined;
    const [{ memory }] = this.#spares.splice(at, 1) as [Spare];
    this.#keptBytes -= memory.byteLength;
    // As a new object: who keeps an old one keeps its memory until the whole heap is collected.
    return Buffer.from(structuredClone(memory, { transfer: [memory] }), 0, bytes);
  }

  /** Those of the chunks that lie in this memory are about to be sent, each once: then nobody needs it any more. */
  lend(memory: ArrayBuffer, chunks: readonly Uint8Array[]): void {
    if (memory.byteLength < LEAST_LARGE_BYTES) return;
    let bytes = 0;
    for (const { buffer, byteLength } of chunks) if (buffer === memory) bytes += byteLength;
    if (bytes > 0) this.#unsent.set(memory, bytes);
  }

  /** Whether the chunk lies in memory that was lent. */
  isLent({ buffer }: Uint8Array): boolean {
    return buffer.byteLength >= LEAST_LARGE_BYTES && this.#unsent.has(buffer);
  }

  /** Bytes that were sent or copied: nobody reads them here again. */
  sent(chunk: Uint8Array): void {
    const { buffer } = chunk;
    const unsent = buffer.byteLength < LEAST_LARGE_BYTES ? undefined : this.#unsent.get(buffer);
    if (unsent === undefined) return;
    if (unsent > chunk.byteLength) {
      this.#unsent.set(buffer, unsent - chunk.byteLength);
      return;
    }
    this.#unsent.delete(buffer);
    this.#keep(buffer as ArrayBuffer);
  }

  sentAll(chunks: readonly Uint8Array[]): void {
    for (const chunk of chunks) this.sent(chunk);
  }

  /** Gives back memory of a request that nobody needs any more, the socket that it was read from included. */
  abandon({ buffer }: Uint8Array): void {
    if (buffer.byteLength >= LEAST_LARGE_BYTES) this.#free(buffer as ArrayBuffer);
  }

  #keep(memory: ArrayBuffer): void {
    if (this.#keptBytes + memory.byteLength > MOST_KEPT_BYTES) {
      this.#free(memory);
      return;
    }
    this.#spares.push({ memory, isOld: false });
    this.#keptBytes += memory.byteLength;
    this.#timer ??= setInterval(() => this.#freeOld(), KEPT_MILLISECONDS).unref();
  }

  #freeOld(): void {
    const old = this.#spares.filter(({ isOld }) => isOld);
    this.#spares = this.#spares.filter(({ isOld }) => !isOld);
    for (const spare of this.#spares) spare.isOld = true;
    for (const { memory } of old) {
      this.#keptBytes -= memory.byteLength;
      this.#free(memory);
    }
    if (this.#spares.length > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  /** At once: memory that is transferred to a port without another end is gone. The collector would come when it likes. */
  #free(memory: ArrayBuffer): void {
    if (this.#drain === undefined) {
      const { port1, port2 } = new MessageChannel();
      port2.close();
      port1.unref();
      this.#drain = port1;
    }
    this.#drain.postMessage(undefined, [memory]);
  }
}

/** That of this thread. */
export const largeMemory = new LargeMemory();
