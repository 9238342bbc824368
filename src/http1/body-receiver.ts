// The body of the request that is coming, handed to its reader. Received bytes belong to the socket: what the reader gets is a copy,
// or, where the body is large, lies where it was read to.

import { ChunkReader } from './chunk-reader.js';
import type { Exchange } from './exchange.js';
import type { Fault } from './fault.js';

/** Reading straight into the reader's memory saves copying so much at least. */
const SMALLEST_DIRECT_READ = 32_768;

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

  begin(exchange: Exchange): void {
    const { bodyLength } = exchange;
    this.exchange = exchange;
    this.#isChunked = bodyLength === undefined;
    if (bodyLength === undefined) this.#chunks.reset();
    this.length = this.left = bodyLength ?? 0;
  }

  /** Nothing more of the body is of interest. */
  stop(): void {
    this.exchange = undefined;
    this.#memory = undefined;
    this.#direct = undefined;
  }

  /** Reads on; returns where it has come to. Then the body may be whole, and {@link exchange} is undefined, or {@link fault} is set. */
  receive(bytes: Buffer, start: number, end: number): number {
    return this.#isChunked ? this.#receiveChunks(bytes, start, end) : this.#receiveMeasured(bytes, start, end);
  }

  /** Where the connection's next bytes are best read to, when many of the body are still to come. They are received as any others. */
  directTarget(): Buffer | undefined {
    this.#direct = undefined;
    if (this.#memory === undefined || this.left < SMALLEST_DIRECT_READ) return undefined;
    if (this.exchange?.reader === undefined) return undefined;
    this.#direct = this.#memory.subarray(this.length - this.left);
    return this.#direct;
  }

  #receiveMeasured(bytes: Buffer, start: number, end: number): number {
    const exchange = this.exchange!;
    const { reader } = exchange;
    const taken = Math.min(end - start, this.left);
    const isFirst = this.left === this.length;
    if (isFirst && taken < this.length) this.#memory = reader?.memory?.(this.length);
    if (exchange.reader === undefined) this.#memory = undefined;
    else if (this.#memory === undefined) reader!.data(copyOf(bytes, start, start + taken));
    else if (bytes !== this.#direct) bytes.copy(this.#memory, this.length - this.left, start, start + taken);
    this.left -= taken;
    if (this.left === 0) this.#end(exchange);
    return start + taken;
  }

  #receiveChunks(bytes: Buffer, start: number, end: number): number {
    const exchange = this.exchange!;
    const chunks = this.#chunks;
    const at = chunks.read(bytes, start, end);
    this.left -= chunks.dataEnd - chunks.dataStart;
    if (chunks.dataEnd > chunks.dataStart) {
      exchange.reader?.data(copyOf(bytes, chunks.dataStart, chunks.dataEnd));
    }
    if (chunks.fault !== undefined) this.fault = chunks.fault;
    else if (chunks.isAtEnd) this.#end(exchange);
    return at;
  }

  #end(exchange: Exchange): void {
    const { reader } = exchange;
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
