// The sending half of a connection: frames into its output, as flow control (RFC 9113, section 5.2) and the socket allow.
// What cannot go at once waits at its stream, and streams take turns. Windows hold back data alone; a congested socket holds
// back everything but what the protocol itself answers.

import { DEFAULT_WINDOW, FLAG, FRAME, FRAME_HEAD_BYTES, MAX_WINDOW, writeFrameHead, writeUint32 } from './frame.js';
import { HpackEncoder } from './hpack/hpack-encoder.js';
import type { OutgoingHeaders } from './outgoing-headers.js';
import { BLOCK_BYTES, Output, type BlockPool } from './output.js';
import { PartQueue, type Part } from './part-queue.js';
import { INITIAL_SETTINGS, type Settings } from './settings.js';
import { StreamLine } from './stream-line.js';
import type { MessageRest, StreamState } from './stream-state.js';

/** Bytes that are handed to the socket at once; what is beyond waits at the streams. */
const MOST_OUTPUT = 1 << 20;
/** Bytes that a stream may send when it is its turn and others wait. */
const TURN = 1 << 17;
/** Chunks up to this are copied: a reference costs as much as copying so many bytes. */
const LARGEST_COPIED = 4096;

const NO_BYTES = new Uint8Array(0);

/** Hears of streams whose bytes leave the queue. */
export interface SenderOwner {
  /** The end of what this side sends is in the output. */
  endSent(stream: StreamState): void;
  /** Nothing waits any more, as was promised to tell. */
  drained(stream: StreamState): void;
}

export class Sender {
  readonly output: Output;
  /** Data that waits, of all streams. */
  queuedBytes = 0;
  /** Of frames that the protocol asked for since the socket became congested: a peer that does not read causes them. */
  unreadControlBytes = 0;
  /** HEADERS and DATA frames that were sent. */
  messageFrames = 0;
  #isCongested = false;
  #window = DEFAULT_WINDOW;
  #peer = INITIAL_SETTINGS;
  readonly #encoder = new HpackEncoder();
  readonly #owner: SenderOwner;
  /** Streams that can send as soon as the socket can. */
  readonly #ready = new StreamLine<StreamState>();
  /** Streams that wait for the connection's window. Those that wait for their own stand in no line. */
  readonly #blocked = new StreamLine<StreamState>();

  constructor(owner: SenderOwner, pool: BlockPool) {
    this.#owner = owner;
    this.output = new Output(pool);
  }

  /** Of new streams. */
  get initialWindow(): number {
    return this.#peer.initialWindowSize;
  }

  /** The socket has more than it takes at the moment. */
  get isCongested(): boolean {
    return this.#isCongested;
  }

  set isCongested(isCongested: boolean) {
    this.#isCongested = isCongested;
    if (!isCongested) this.unreadControlBytes = 0;
  }

  sendHeaders(stream: StreamState, headers: OutgoingHeaders, endsStream: boolean): void {
    if (stream.queue !== undefined || !this.#isFree()) {
      this.#enqueue(stream, { headers, chunk: NO_BYTES, endsStream });
      return;
    }
    this.#writeHeaders(stream, headers, endsStream);
    if (endsStream) this.#owner.endSent(stream);
  }

  sendData(stream: StreamState, chunk: Uint8Array, endsStream: boolean): void {
    const { length } = chunk;
    if (length === 0 && !endsStream) return;
    let sent = 0;
    if (stream.queue === undefined && this.#isFree()) {
      const bytes = Math.min(length, this.#allowance(stream), MOST_OUTPUT);
      if (bytes > 0 || length === 0) {
        this.#writeData(stream, chunk, { start: 0, end: bytes, endsStream });
        sent = bytes;
      }
      if (sent === length) {
        if (endsStream) this.#owner.endSent(stream);
        return;
      }
    }
    this.#enqueue(stream, { headers: undefined, chunk: sent === 0 ? chunk : chunk.subarray(sent), endsStream });
  }

  /** The data as one frame when it fits and can go now. */
  sendMessage(stream: StreamState, head: OutgoingHeaders, { data, trailers }: MessageRest): void {
    this.sendHeaders(stream, head, false);
    let bytes = 0;
    for (let i = 0; i < data.length; i++) bytes += data[i]!.length;
    const canGoNow = stream.queue === undefined && this.#isFree() && bytes <= this.#allowance(stream);
    if (canGoNow && bytes > 0 && bytes <= this.#peer.maxFrameSize) {
      this.#writeDataHead(stream, bytes, 0);
      for (let i = 0; i < data.length; i++) this.#writePayload(data[i]!);
    } else {
      for (let i = 0; i < data.length; i++) this.sendData(stream, data[i]!, false);
    }
    this.sendHeaders(stream, trailers, true);
  }

  /** Drops what waits at a stream that is over. */
  forget(stream: StreamState): void {
    stream.line?.leave(stream);
    this.queuedBytes -= stream.queuedBytes;
    stream.queue = undefined;
  }

  /** Moves what waits into the output, as much as may go now. */
  fill(): void {
    while (!this.#isCongested && this.output.bytes < MOST_OUTPUT) {
      // Who waited for the window comes before those that never had to.
      const stream = (this.#window > 0 ? this.#blocked.first : undefined) ?? this.#ready.first;
      if (stream === undefined) return;
      stream.line!.leave(stream);
      this.#serve(stream, stream.queue!);
    }
  }

  /** The peer's settings. False when a window becomes larger than any may be (section 6.9.2). */
  applySettings(settings: Settings, streams: readonly StreamState[]): boolean {
    const change = settings.initialWindowSize - this.#peer.initialWindowSize;
    this.#peer = settings;
    this.#encoder.setPeerTableSize(settings.headerTableSize);
    return change === 0 || streams.every((stream) => this.enlargeWindow(stream, change));
  }

  /** False when the stream's window becomes larger than any may be (section 6.9.1). */
  enlargeWindow(stream: StreamState, bytes: number): boolean {
    stream.sendWindow += bytes;
    if (stream.queue !== undefined && stream.line === undefined && stream.sendWindow > 0) this.#ready.join(stream);
    return stream.sendWindow <= MAX_WINDOW;
  }

  /** The same for the connection's window. */
  enlargeConnectionWindow(bytes: number): boolean {
    this.#window += bytes;
    return this.#window <= MAX_WINDOW;
  }

  /** The preface of a client, before any frame. */
  writeRaw(bytes: Uint8Array): void {
    const { output } = this;
    output.reserve(bytes.length);
    output.block.set(bytes, output.end);
    output.end += bytes.length;
  }

  writeWindowUpdate(streamId: number, increment: number): void {
    this.#writeNumber(FRAME.WINDOW_UPDATE, streamId, increment);
  }

  writeReset(streamId: number, code: number): void {
    this.#writeNumber(FRAME.RST_STREAM, streamId, code);
  }

  /** A frame about the connection: SETTINGS, PING, GOAWAY. */
  writeControl(type: number, flags: number, payload: Uint8Array): void {
    const { length } = payload;
    const { output } = this;
    output.reserve(FRAME_HEAD_BYTES + length);
    const at = writeFrameHead(output.block, output.end, { length, type, flags, streamId: 0 });
    output.block.set(payload, at);
    output.end = at + length;
    if (this.#isCongested) this.unreadControlBytes += FRAME_HEAD_BYTES + length;
  }

  #writeNumber(type: number, streamId: number, value: number): void {
    const { output } = this;
    output.reserve(FRAME_HEAD_BYTES + 4);
    const at = writeFrameHead(output.block, output.end, { length: 4, type, flags: 0, streamId });
    output.end = writeUint32(output.block, at, value);
    if (this.#isCongested) this.unreadControlBytes += FRAME_HEAD_BYTES + 4;
  }

  /** Nobody waits, and the socket takes more. */
  #isFree(): boolean {
    return (
      !this.#isCongested &&
      this.#ready.first === undefined &&
      this.#blocked.first === undefined &&
      this.output.bytes < MOST_OUTPUT
    );
  }

  /** How much data the windows allow; none when that is negative. */
  #allowance(stream: StreamState): number {
    return Math.min(this.#window, stream.sendWindow);
  }

  #enqueue(stream: StreamState, part: Part): void {
    this.queuedBytes += part.chunk.length;
    if (stream.queue === undefined) {
      stream.queue = new PartQueue();
      this.#ready.join(stream);
    }
    stream.queue.push(part);
  }

  /** One turn of a stream that has left its line. */
  #serve(stream: StreamState, queue: PartQueue): void {
    let most = TURN;
    for (let part = queue.first; part !== undefined; part = queue.first) {
      const { headers, chunk, endsStream } = part;
      if (headers !== undefined) this.#writeHeaders(stream, headers, endsStream);
      else {
        const start = queue.offset;
        const bytes = Math.min(chunk.length - start, this.#allowance(stream), most);
        if (bytes > 0 || chunk.length === 0) {
          this.#writeData(stream, chunk, { start, end: start + bytes, endsStream });
          queue.advance(bytes);
          this.queuedBytes -= bytes;
          most -= bytes;
        }
        if (queue.offset < chunk.length) {
          this.#waitAgain(stream);
          return;
        }
      }
      queue.shift();
      if (endsStream) this.#owner.endSent(stream);
    }
    stream.queue = undefined;
    if (stream.drainIsPromised) {
      stream.drainIsPromised = false;
      this.#owner.drained(stream);
    }
  }

  #waitAgain(stream: StreamState): void {
    if (stream.sendWindow <= 0) return;
    if (this.#window > 0) this.#ready.join(stream);
    else this.#blocked.join(stream);
  }

  /** Sends `chunk[start…end)`, which the windows allow; its end is the stream's when it is the chunk's and `endsStream`. */
  #writeData(
    stream: StreamState,
    chunk: Uint8Array,
    { start, end, endsStream }: { readonly start: number; readonly end: number; readonly endsStream: boolean },
  ): void {
    const { maxFrameSize } = this.#peer;
    let at = start;
    do {
      const next = Math.min(end, at + maxFrameSize);
      const flags = endsStream && next === chunk.length ? FLAG.END_STREAM : 0;
      this.#writeDataHead(stream, next - at, flags);
      this.#writePayload(at === 0 && next === chunk.length ? chunk : chunk.subarray(at, next));
      at = next;
    } while (at < end);
  }

  #writeDataHead(stream: StreamState, length: number, flags: number): void {
    const { output } = this;
    this.#window -= length;
    stream.sendWindow -= length;
    this.messageFrames++;
    // Room for small payloads too, so that they lie behind their head.
    output.reserve(FRAME_HEAD_BYTES + Math.min(length, LARGEST_COPIED));
    output.end = writeFrameHead(output.block, output.end, { length, type: FRAME.DATA, flags, streamId: stream.id });
  }

  #writePayload(chunk: Uint8Array): void {
    const { output } = this;
    if (chunk.length > LARGEST_COPIED) {
      output.refer(chunk);
      return;
    }
    output.reserve(chunk.length);
    output.block.set(chunk, output.end);
    output.end += chunk.length;
  }

  #writeHeaders(stream: StreamState, headers: OutgoingHeaders, endsStream: boolean): void {
    const { output } = this;
    const longest = this.#encoder.longest(headers);
    stream.headersAreSent = true;
    this.messageFrames++;
    if (longest > Math.min(this.#peer.maxFrameSize, BLOCK_BYTES - FRAME_HEAD_BYTES)) {
      const block = Buffer.allocUnsafe(longest);
      this.#writeLongBlock(stream, block.subarray(0, this.#encoder.encode(headers, block, 0)), endsStream);
      return;
    }
    output.reserve(FRAME_HEAD_BYTES + longest);
    const start = output.end + FRAME_HEAD_BYTES;
    const end = this.#encoder.encode(headers, output.block, start);
    const flags = endsStream ? FLAG.END_HEADERS | FLAG.END_STREAM : FLAG.END_HEADERS;
    writeFrameHead(output.block, output.end, { length: end - start, type: FRAME.HEADERS, flags, streamId: stream.id });
    output.end = end;
  }

  /** As HEADERS and as many CONTINUATION as it takes, with nothing in between (section 6.10). */
  #writeLongBlock(stream: StreamState, block: Buffer, endsStream: boolean): void {
    const { output } = this;
    const { maxFrameSize } = this.#peer;
    for (let at = 0; at < block.length; at += maxFrameSize) {
      const fragment = block.subarray(at, at + maxFrameSize);
      const type = at === 0 ? FRAME.HEADERS : FRAME.CONTINUATION;
      const isLast = at + fragment.length === block.length;
      const flags = (isLast ? FLAG.END_HEADERS : 0) | (at === 0 && endsStream ? FLAG.END_STREAM : 0);
      output.reserve(FRAME_HEAD_BYTES);
      const head = { length: fragment.length, type, flags, streamId: stream.id };
      output.end = writeFrameHead(output.block, output.end, head);
      output.refer(fragment);
    }
  }
}
