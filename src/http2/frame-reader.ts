// Cuts received bytes into frames (RFC 9113, section 4.1). It passes the payload of DATA on in pieces, as they come, and any
// other payload whole. It copies only frames that a read cuts in two. Knows nothing of what frames mean.

import { FRAME_HEAD_BYTES, readUint31, type FrameHead } from './frame.js';

/** How the payload of a frame is wanted. */
export const PAYLOAD = { WHOLE: 0, PIECES: 1, SKIPPED: 2 } as const;
export type Payload = (typeof PAYLOAD)[keyof typeof PAYLOAD];

/** Gets frames; the bytes that it is shown are valid only during the call. */
export interface FrameSink {
  /** A frame's head has come; `reader` holds it until the frame's end. */
  frameBegins(head: FrameHead): Payload;
  /** The payload is `bytes[start…end)`. */
  framePayload(bytes: Buffer, start: number, end: number): void;
  /** The next piece of the payload is `bytes[start…end)`; it was the last one when nothing of it is {@link FrameReader.left}. */
  framePiece(bytes: Buffer, start: number, end: number): void;
}

const NO_BYTES = Buffer.alloc(0);

export class FrameReader implements FrameHead {
  length = 0;
  type = 0;
  flags = 0;
  streamId = 0;
  /** Bytes of the payload that have not come yet. */
  left = 0;
  readonly #sink: FrameSink;
  readonly #head = Buffer.alloc(FRAME_HEAD_BYTES);
  #headBytes = 0;
  /** Undefined between frames. */
  #payload: Payload | undefined;
  /** Of a frame that is wanted whole and comes in pieces. */
  #collected: Buffer = NO_BYTES;
  #isStopped = false;

  constructor(sink: FrameSink) {
    this.#sink = sink;
  }

  /** Nothing more is read, not even of the bytes at hand. */
  stop(): void {
    this.#isStopped = true;
  }

  read(bytes: Buffer, start: number, end: number): void {
    let at = start;
    while (at < end && !this.#isStopped) {
      if (this.#payload !== undefined) at = this.#readPayload(bytes, at, end);
      else if (this.#headBytes > 0 || end - at < FRAME_HEAD_BYTES) at = this.#collectHead(bytes, at, end);
      else {
        this.#begin(bytes, at);
        at += FRAME_HEAD_BYTES;
      }
    }
  }

  #collectHead(bytes: Buffer, at: number, end: number): number {
    const taken = Math.min(FRAME_HEAD_BYTES - this.#headBytes, end - at);
    bytes.copy(this.#head, this.#headBytes, at, at + taken);
    this.#headBytes += taken;
    if (this.#headBytes === FRAME_HEAD_BYTES) {
      this.#headBytes = 0;
      this.#begin(this.#head, 0);
    }
    return at + taken;
  }

  #begin(bytes: Buffer, at: number): void {
    this.length = (bytes[at]! << 16) | (bytes[at + 1]! << 8) | bytes[at + 2]!;
    this.type = bytes[at + 3]!;
    this.flags = bytes[at + 4]!;
    this.streamId = readUint31(bytes, at + 5);
    this.left = this.length;
    this.#payload = this.#sink.frameBegins(this);
    // Bytes may never come again: an empty payload is complete.
    if (this.left === 0) this.#readPayload(NO_BYTES, 0, 0);
  }

  #readPayload(bytes: Buffer, start: number, end: number): number {
    const next = Math.min(end, start + this.left);
    const isWholeHere = next - start === this.length;
    const payload = this.#payload;
    this.left -= next - start;
    if (this.left === 0) this.#payload = undefined;
    if (this.#isStopped) return end;
    if (payload === PAYLOAD.PIECES) this.#sink.framePiece(bytes, start, next);
    else if (payload === PAYLOAD.WHOLE) {
      if (isWholeHere) this.#sink.framePayload(bytes, start, next);
      else this.#collect(bytes, start, next);
    }
    return next;
  }

  #collect(bytes: Buffer, start: number, end: number): void {
    const after = this.length - this.left;
    if (after === end - start) this.#collected = Buffer.allocUnsafe(this.length);
    bytes.copy(this.#collected, after - (end - start), start, end);
    if (this.left > 0) return;
    const collected = this.#collected;
    this.#collected = NO_BYTES;
    this.#sink.framePayload(collected, 0, collected.length);
  }
}
