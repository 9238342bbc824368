// The body of the request that is coming, collected into one buffer for the request's handler. Received bytes belong to
// the socket, so a small body is copied. A large body of known length is read straight into memory of its own. Chunks are kept
// as pieces and joined in the end, with pauses when there are many.

import { assemble } from '../pacing/paced-bytes.js';
import { startPaced } from '../pacing/paced-workers.js';
import { largeMemory } from '../sockets/large-memory.js';
import { ChunkReader } from './chunk-reader.js';
import type { Exchange } from './exchange.js';
import { bodyTooLarge, MOST_TINY_PIECES, NO_ROOM, noMemory, TOO_MANY_CHUNKS, type Fault } from './fault.js';
import type { BodyPlan } from './http-exchange.js';

/** A direct read into the body's memory must save copying at least this many bytes. */
const SMALLEST_DIRECT_READ = 32_768;
/**
 * A body's memory is at most this many times its received bytes. The system gives pages as they are written, but V8 collects
 * its heap more often the more memory was taken, and a mere claim must not cause that. Until the whole length is believed there is
 * memory for that much of it only: what has come then is copied at once.
 */
const BELIEVED_TIMES = 512;
/** So much is believed of any length. */
const LEAST_MEMORY = 65_536;
/** Beyond {@link MOST_TINY_PIECES}, pieces of a chunked body must be larger than this on average. */
const TINY = 1024;

/** Typed arrays of all kinds may begin at multiples of this. */
const ALIGNED_BYTES = 8;

export class BodyReceiver {
  /** The request whose body is coming. */
  exchange: Exchange | undefined;
  fault: Fault | undefined;
  readonly #chunks = new ChunkReader();
  #isChunked = false;
  /** The length of the body, where that is known. */
  length = 0;
  /** How much of the body is still to come; for a chunked body, the negative size so far. */
  left = 0;
  #memory: Buffer | undefined;
  #direct: Buffer | undefined;
  #pieces: Buffer[] = [];
  /** Memory of a body that nobody waits for, which the socket may still read into. */
  #abandoned: Buffer | undefined;

  begin(exchange: Exchange): void {
    const { bodyLength } = exchange.request;
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

  /** The socket reads no more: the memory of an unfinished body goes back at once, because the collector might take long. */
  lost(): void {
    this.stop();
    if (this.#abandoned !== undefined) largeMemory.abandon(this.#abandoned);
    this.#abandoned = undefined;
  }

  /** Reads on; returns the offset it has come to. Then {@link exchange} may be undefined: the body is whole. Or {@link fault} is set. */
  receive(bytes: Buffer, start: number, end: number): number {
    return this.#isChunked ? this.#receiveChunks(bytes, start, end) : this.#receiveMeasured(bytes, start, end);
  }

  /** Where the connection's next bytes are best read to, when much of the body is still to come. They are received as any others. */
  directTarget(): Buffer | undefined {
    this.#direct = undefined;
    const received = this.length - this.left;
    if (this.#memory === undefined || this.#memory.length - received < SMALLEST_DIRECT_READ) return undefined;
    if (this.exchange?.plan === undefined) return undefined;
    this.#direct = this.#memory.subarray(received);
    return this.#direct;
  }

  #receiveMeasured(bytes: Buffer, start: number, end: number): number {
    const exchange = this.exchange!;
    const taken = Math.min(end - start, this.left);
    const isWhole = taken === this.length;
    if (exchange.plan !== undefined && taken > 0 && !exchange.holdBody(taken)) {
      this.fault = NO_ROOM;
      return end;
    }
    // Making room for the body may have ended this request.
    const { plan } = exchange;
    if (plan === undefined) {
      this.#drop();
    } else if (!isWhole) {
      if (!this.#makeRoom(plan, taken)) return end;
      if (bytes !== this.#direct) bytes.copy(this.#memory!, this.length - this.left, start, start + taken);
    }
    this.left -= taken;
    if (this.left > 0) return start + taken;
    const body = isWhole && plan !== undefined ? copyOf(bytes, start, start + taken) : this.#memory;
    this.#finish(exchange);
    if (plan !== undefined && !exchange.begun) plan.onBody(body!);
    return start + taken;
  }

  /** Has memory for what has come and for as much more as is believed. */
  #makeRoom(plan: BodyPlan, taken: number): boolean {
    const before = this.#memory;
    const received = this.length - this.left;
    const needed = received + taken;
    if (before !== undefined && needed <= before.length) return true;
    const bytes = memoryFor(this.length, needed);
    try {
      this.#memory = allocate(bytes, plan.alignedAt);
    } catch {
      this.fault = noMemory(bytes);
      return false;
    }
    if (before === undefined) return true;
    before.copy(this.#memory, 0, 0, received);
    largeMemory.abandon(before);
    return true;
  }

  #drop(): void {
    this.#abandoned ??= this.#memory;
    this.#memory = undefined;
    if (this.#pieces.length > 0) this.#pieces = [];
  }

  #receiveChunks(bytes: Buffer, start: number, end: number): number {
    const exchange = this.exchange!;
    const chunks = this.#chunks;
    const at = chunks.read(bytes, start, end);
    const size = chunks.dataEnd - chunks.dataStart;
    this.left -= size;
    if (exchange.plan !== undefined && size > 0 && !exchange.holdBody(size)) {
      this.fault = NO_ROOM;
      return end;
    }
    const { plan } = exchange;
    if (plan !== undefined && size > 0) {
      this.#pieces.push(copyOf(bytes, chunks.dataStart, chunks.dataEnd));
      this.#checkPieces(exchange, plan);
    }
    if (chunks.fault !== undefined) this.fault = chunks.fault;
    else if (chunks.isAtEnd && this.fault === undefined) this.#endChunks(exchange);
    return at;
  }

  #checkPieces(exchange: Exchange, plan: BodyPlan): void {
    const size = -this.left;
    const limit = Math.min(plan.limit, exchange.largestBody);
    const before = this.#pieces.length - 1;
    // Chunks may come in several pieces, but only tiny chunks make many tiny pieces.
    if (size > limit) this.fault = bodyTooLarge(`more than ${limit}`, limit, plan);
    else if (before >= MOST_TINY_PIECES && size < before * TINY) this.fault = TOO_MANY_CHUNKS;
  }

  #endChunks(exchange: Exchange): void {
    const { plan } = exchange;
    const pieces = this.#pieces;
    const size = -this.left;
    this.#pieces = [];
    this.#finish(exchange);
    if (plan === undefined || exchange.begun) return;
    const run = startPaced(assemble(pieces, size), {
      done: (body) => plan.onBody(body),
      failed: () => exchange.refuse(noMemory(size)),
    });
    if (run !== undefined) exchange.onAbort(() => run.cancel());
  }

  #finish(exchange: Exchange): void {
    this.exchange = undefined;
    // The memory belongs to the body from now on.
    this.#memory = this.#direct = undefined;
    exchange.plan = undefined;
    exchange.isReceived = true;
  }
}

function memoryFor(length: number, needed: number): number {
  const believed = Math.max(LEAST_MEMORY, BELIEVED_TIMES * needed);
  return length <= believed ? length : Math.max(LEAST_MEMORY, Math.min(believed, Math.ceil(length / BELIEVED_TIMES)));
}

/** Throws RangeError when memory is missing. */
function allocate(bytes: number, alignedAt: number): Buffer {
  const padding = (ALIGNED_BYTES - (alignedAt % ALIGNED_BYTES)) % ALIGNED_BYTES;
  return largeMemory.ofRequest(padding + bytes).subarray(padding);
}

function copyOf(bytes: Buffer, start: number, end: number): Buffer {
  const copy = Buffer.allocUnsafe(end - start);
  bytes.copy(copy, 0, start, end);
  return copy;
}
