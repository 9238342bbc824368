// The body of the request that is coming, handed to its reader. Received bytes belong to the socket: what the reader gets is a copy,
// or, where the body is large, lies where it was read to.

import { largeMemory } from '../sockets/large-memory.js';
import { ChunkReader } from './chunk-reader.js';
import type { Exchange } from './exchange.js';
import { NO_ROOM, type Fault } from './fault.js';
import type { BodyReader } from './http-exchange.js';

/** Reading straight into the reader's memory saves copying so much at least. */
const SMALLEST_DIRECT_READ = 32_768;
/**
 * Memory for a body is taken for so many times what has come of it. The system gives pages as they are written, but V8 collects its
 * heap the more often, the more memory was taken: nobody may have it do so for a claim.
 */
const BELIEVED_TIMES = 512;
const LEAST_MEMORY = 65_536;

export class BodyReceiver {
  /** Whose body is coming. */
  exchange: Exchange | undefined;
  fault: Fault | undefined;
  readonly #chunks = new ChunkReader();
  #isChunked = false;
  /** Of the body, where that is known. */
  length = 0;
  /** What has not come of it; of a chunked body, less than nothing. */
  left = 0;
  #memory: Buffer | undefined;
  #direct: Buffer | undefined;
  /** Of a body that nobody waits for. */
  #abandoned: Buffer | undefined;

  begin(exchange: Exchange): void {
    const { bodyLength } = exchange;
    this.exchange = exchange;
    this.#isChunked = bodyLength === undefined;
    if (bodyLength === undefined) this.#chunks.reset();
    this.length = this.left = bodyLength ?? 0;
  }

  /** Nothing more of the body is of interest. The socket may still read into its memory, until {@link lost}. */
  stop(): void {
    this.exchange = undefined;
    this.#drop();
    this.#direct = undefined;
  }

  /** The socket reads no more: the memory of a body that has not come whole goes back at once, as the collector might take long. */
  lost(): void {
    this.stop();
    if (this.#abandoned !== undefined) largeMemory.abandon(this.#abandoned);
    this.#abandoned = undefined;
  }

  /** Reads on; returns where it has come to. Then the body may be whole, and {@link exchange} is undefined, or {@link fault} is set. */
  receive(bytes: Buffer, start: number, end: number): number {
    return this.#isChunked ? this.#receiveChunks(bytes, start, end) : this.#receiveMeasured(bytes, start, end);
  }

  /** Where the connection's next bytes are best read to, when many of the body are still to come. They are received as any others. */
  directTarget(): Buffer | undefined {
    this.#direct = undefined;
    const received = this.length - this.left;
    if (this.#memory === undefined || this.#memory.length - received < SMALLEST_DIRECT_READ) return undefined;
    if (this.exchange?.reader === undefined) return undefined;
    this.#direct = this.#memory.subarray(received);
    return this.#direct;
  }

  #receiveMeasured(bytes: Buffer, start: number, end: number): number {
    const exchange = this.exchange!;
    const { reader } = exchange;
    const taken = Math.min(end - start, this.left);
    const received = this.length - this.left;
    if (!this.#admits(exchange, taken)) return end;
    if (reader !== undefined && taken < this.length) this.#makeRoom(reader, received, received + taken);
    if (exchange.reader === undefined) this.#drop();
    else if (this.#memory === undefined) reader!.data(copyOf(bytes, start, start + taken));
    else if (bytes !== this.#direct) bytes.copy(this.#memory, received, start, start + taken);
    this.left -= taken;
    if (this.left === 0) this.#end(exchange);
    return start + taken;
  }

  #makeRoom(reader: BodyReader, received: number, needed: number): void {
    if (received > 0 && (this.#memory === undefined || needed <= this.#memory.length)) return;
    this.#memory = reader.memory?.(Math.min(this.length, Math.max(LEAST_MEMORY, BELIEVED_TIMES * needed)));
  }

  /** Its reader wants no more. */
  #drop(): void {
    this.#abandoned ??= this.#memory;
    this.#memory = undefined;
  }

  /** Counts what has come. What nobody reads is dropped, and costs nothing. */
  #admits(exchange: Exchange, bytes: number): boolean {
    if (exchange.reader === undefined || bytes === 0 || exchange.holdBody(bytes)) return true;
    this.fault = NO_ROOM;
    return false;
  }

  #receiveChunks(bytes: Buffer, start: number, end: number): number {
    const exchange = this.exchange!;
    const chunks = this.#chunks;
    const at = chunks.read(bytes, start, end);
    this.left -= chunks.dataEnd - chunks.dataStart;
    if (!this.#admits(exchange, chunks.dataEnd - chunks.dataStart)) return end;
    if (chunks.dataEnd > chunks.dataStart) {
      exchange.reader?.data(copyOf(bytes, chunks.dataStart, chunks.dataEnd));
    }
    if (chunks.fault !== undefined) this.fault = chunks.fault;
    else if (chunks.isAtEnd) this.#end(exchange);
    return at;
  }

  #end(exchange: Exchange): void {
    const { reader } = exchange;
    // It is the reader's.
    this.#memory = undefined;
    this.stop();
    exchange.reader = undefined;
    exchange.isReceived = true;
    if (!exchange.begun) reader?.end();
  }
}

function copyOf(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}
