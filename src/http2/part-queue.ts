// The queue of one stream: headers and chunks in order, of which the first may be sent in part.

import type { OutgoingHeaders } from './outgoing-headers.js';

export interface Part {
  /** Or else the chunk. */
  readonly headers: OutgoingHeaders | undefined;
  readonly chunk: Uint8Array;
  /** The chunk's length: it has another one when its memory is given away meanwhile. */
  readonly bytes: number;
  readonly endsStream: boolean;
}

/** Parts that were sent are cut off when there are so many: taking each from the front of an array costs more. */
const MOST_SENT = 64;

export class PartQueue {
  /** Bytes of the chunks that are not sent. */
  bytes = 0;
  /** How many bytes of the first part's chunk are sent. */
  offset = 0;
  #parts: Part[] = [];
  #sent = 0;

  get first(): Part | undefined {
    return this.#parts[this.#sent];
  }

  push(part: Part): void {
    this.#parts.push(part);
    this.bytes += part.bytes;
  }

  /** Bytes of the first part's chunk were sent. */
  advance(bytes: number): void {
    this.offset += bytes;
    this.bytes -= bytes;
  }

  /** The first part is sent. */
  shift(): void {
    this.offset = 0;
    this.#sent++;
    if (this.#sent < MOST_SENT) return;
    this.#parts = this.#parts.slice(this.#sent);
    this.#sent = 0;
  }
}
