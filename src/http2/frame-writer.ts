// Writes frames into a connection's output, as large as the peer takes them. The caller has looked at windows.

import { FLAG, FRAME, FRAME_HEAD_BYTES, writeFrameHead, writeUint32 } from './frame.js';
import { HpackEncoder } from './hpack/hpack-encoder.js';
import type { OutgoingHeaders } from './outgoing-headers.js';
import { largeMemory } from '../sockets/large-memory.js';
import { BLOCK_BYTES, Output, type BlockPool } from '../sockets/output.js';
import { INITIAL_SETTINGS, type Settings } from './settings.js';

/** Chunks up to this are copied: a reference costs as much as copying so many bytes. */
const LARGEST_COPIED = 4096;

/** Of DATA that is not the end of its chunk: a peer whose window lets less go at a time makes work (CVE-2019-9511). */
const LEAST_WORTHWHILE = 256;

/** Of header blocks that are known: templates whose fields are indexed take a byte a field. */
const LONGEST_KNOWN = 256;

/** Which bytes of a chunk, and whether they are the last of their stream. */
export interface DataRange {
  readonly start: number;
  readonly end: number;
  readonly endsStream: boolean;
}

/** A message that is sent as one. */
export interface WholeMessage {
  readonly head: OutgoingHeaders;
  readonly data: readonly Uint8Array[];
  /** Of the data. */
  readonly bytes: number;
  readonly trailers: OutgoingHeaders;
}

export class FrameWriter {
  readonly output: Output;
  /** HEADERS and DATA frames so far. */
  messageFrames = 0;
  /**
   * The number of these frames that carry more than a crumb. Chunks that share a frame count each, because peers may
   * acknowledge each.
   */
  worthwhileFrames = 0;
  readonly #encoder = new HpackEncoder();
  #maxFrameSize = INITIAL_SETTINGS.maxFrameSize;
  // The DATA frame that was written last and may still be made longer, by where its head is in the block; 0: there is none.
  #openStreamId = 0;
  #openAt = 0;
  #openLength = 0;

  constructor(pool: BlockPool) {
    this.output = new Output(pool);
  }

  applySettings({ maxFrameSize, headerTableSize, leastHeaderTableSize }: Settings): void {
    this.#maxFrameSize = maxFrameSize;
    this.#encoder.setPeerTableSize(leastHeaderTableSize);
    this.#encoder.setPeerTableSize(headerTableSize);
  }

  /** At least one frame, so that an empty one can end a stream. */
  data(streamId: number, chunk: Uint8Array, { start, end, endsStream }: DataRange): void {
    if (this.#extend(streamId, chunk, { start, end, endsStream })) return;
    let at = start;
    do {
      const next = Math.min(end, at + this.#maxFrameSize);
      const isLast = next === end && endsStream;
      this.#dataHead(streamId, next - at, isLast ? FLAG.END_STREAM : 0);
      if (next === chunk.length || next - at >= LEAST_WORTHWHILE) this.worthwhileFrames++;
      this.#payload(at === 0 && next === chunk.length ? chunk : chunk.subarray(at, next));
      at = next;
    } while (at < end);
  }

  /** With all its data in one frame; false when the peer takes none so large. */
  message(streamId: number, { head, data, bytes, trailers }: WholeMessage): boolean {
    if (bytes > this.#maxFrameSize) return false;
    this.headers(streamId, head, false);
    if (bytes > 0) {
      this.#dataHead(streamId, bytes, 0);
      this.worthwhileFrames++;
      for (let i = 0; i < data.length; i++) this.#payload(data[i]!);
    }
    this.headers(streamId, trailers, true);
    return true;
  }

  headers(streamId: number, headers: OutgoingHeaders, endsStream: boolean): void {
    const { output } = this;
    this.#openStreamId = 0;
    this.messageFrames++;
    this.worthwhileFrames++;
    const flags = endsStream ? FLAG.END_HEADERS | FLAG.END_STREAM : FLAG.END_HEADERS;
    const known = this.#encoder.known(headers);
    if (known !== undefined && known.length <= LONGEST_KNOWN) {
      const { length } = known;
      output.reserve(FRAME_HEAD_BYTES + length);
      const { block } = output;
      const at = writeFrameHead(block, output.end, { length, type: FRAME.HEADERS, flags, streamId });
      for (let i = 0; i < length; i++) block[at + i] = known[i]!;
      output.end = at + length;
      return;
    }
    const longest = this.#encoder.longest(headers);
    if (longest > Math.min(this.#maxFrameSize, BLOCK_BYTES - FRAME_HEAD_BYTES)) {
      const block = Buffer.allocUnsafe(longest);
      this.#longBlock(streamId, block.subarray(0, this.#encoder.encode(headers, block, 0)), endsStream);
      return;
    }
    output.reserve(FRAME_HEAD_BYTES + longest);
    const start = output.end + FRAME_HEAD_BYTES;
    const end = this.#encoder.encode(headers, output.block, start);
    writeFrameHead(output.block, output.end, { length: end - start, type: FRAME.HEADERS, flags, streamId });
    output.end = end;
  }

  /** A frame whose payload is one number: RST_STREAM, WINDOW_UPDATE. */
  number(type: number, streamId: number, value: number): void {
    const { output } = this;
    this.#openStreamId = 0;
    output.reserve(FRAME_HEAD_BYTES + 4);
    const at = writeFrameHead(output.block, output.end, { length: 4, type, flags: 0, streamId });
    output.end = writeUint32(output.block, at, value);
  }

  /** A frame about the connection: SETTINGS, PING, GOAWAY. */
  control(type: number, flags: number, payload: Uint8Array): void {
    const { output } = this;
    const { length } = payload;
    this.#openStreamId = 0;
    output.reserve(FRAME_HEAD_BYTES + length);
    const at = writeFrameHead(output.block, output.end, { length, type, flags, streamId: 0 });
    output.block.set(payload, at);
    output.end = at + length;
  }

  /** The preface of a client, before any frame. */
  raw(bytes: Uint8Array): void {
    const { output } = this;
    output.reserve(bytes.length);
    output.block.set(bytes, output.end);
    output.end += bytes.length;
  }

  /**
   * Adds a small chunk to the frame before it, when that frame is of the same stream and still in the block. Many small
   * messages of a turn then take few frames.
   */
  #extend(streamId: number, chunk: Uint8Array, { start, end, endsStream }: DataRange): boolean {
    if (streamId !== this.#openStreamId || start !== 0 || end !== chunk.length || end > LARGEST_COPIED) return false;
    const { output } = this;
    const length = this.#openLength + end;
    if (length > this.#maxFrameSize || !output.holds(this.#openAt, end)) return false;
    const flags = endsStream ? FLAG.END_STREAM : 0;
    writeFrameHead(output.block, this.#openAt, { length, type: FRAME.DATA, flags, streamId });
    output.block.set(chunk, output.end);
    output.end += end;
    largeMemory.sent(chunk);
    this.#openLength = length;
    this.worthwhileFrames++;
    if (endsStream) this.#openStreamId = 0;
    return true;
  }

  #dataHead(streamId: number, length: number, flags: number): void {
    const { output } = this;
    this.messageFrames++;
    // Room for a small payload too, so that it lies behind its head.
    output.reserve(FRAME_HEAD_BYTES + Math.min(length, LARGEST_COPIED));
    this.#openStreamId = flags === 0 ? streamId : 0;
    this.#openAt = output.end;
    this.#openLength = length;
    output.end = writeFrameHead(output.block, output.end, { length, type: FRAME.DATA, flags, streamId });
  }

  #payload(chunk: Uint8Array): void {
    const { output } = this;
    if (chunk.length > LARGEST_COPIED) {
      this.#openStreamId = 0;
      output.refer(chunk);
      return;
    }
    output.reserve(chunk.length);
    output.block.set(chunk, output.end);
    output.end += chunk.length;
    largeMemory.sent(chunk);
  }

  /** As HEADERS and as many CONTINUATION as it takes, with nothing in between (RFC 9113, section 6.10). */
  #longBlock(streamId: number, block: Buffer, endsStream: boolean): void {
    const { output } = this;
    for (let at = 0; at < block.length; at += this.#maxFrameSize) {
      const fragment = block.subarray(at, at + this.#maxFrameSize);
      const isFirst = at === 0;
      const isLast = at + fragment.length === block.length;
      const flags = (isLast ? FLAG.END_HEADERS : 0) | (isFirst && endsStream ? FLAG.END_STREAM : 0);
      const type = isFirst ? FRAME.HEADERS : FRAME.CONTINUATION;
      output.reserve(FRAME_HEAD_BYTES);
      output.end = writeFrameHead(output.block, output.end, { length: fragment.length, type, flags, streamId });
      output.refer(fragment);
    }
  }
}
