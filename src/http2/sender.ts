// The sending half of a connection: frames into its output, as flow control (RFC 9113, section 5.2) and the socket allow.
// What cannot go at once waits at its stream, and streams take turns. Windows hold back data alone; a congested socket holds
// back everything but what the protocol itself answers.

import { DEFAULT_WINDOW, FRAME, FRAME_HEAD_BYTES, MAX_WINDOW } from './frame.js';
import { FrameWriter, type DataRange, type WholeMessage } from './frame-writer.js';
import type { OutgoingHeaders } from './outgoing-headers.js';
import type { BlockPool, Output } from '../sockets/output.js';
import { PartQueue, type Part } from './part-queue.js';
import { INITIAL_SETTINGS, type Settings } from './settings.js';
import { StreamLine } from './stream-line.js';
import type { StreamSender, StreamState } from './stream-state.js';

/** Bytes that are handed to the socket at once. Further bytes wait at the streams. */
const MOST_OUTPUT = 1 << 20;
/** Bytes that a stream may send when it is its turn and others wait. */
const TURN = 1 << 17;

const NO_BYTES = new Uint8Array(0);

/** Hears of streams whose bytes leave the queue. */
export interface SenderOwner {
  /** The end of what this side sends is in the output. */
  endSent(stream: StreamState): void;
  /** Nothing waits any more, as was promised to tell. */
  drained(stream: StreamState): void;
  /** The memory of data that waits was given away. */
  dataLost(stream: StreamState): void;
}

export class Sender implements StreamSender {
  /** Data that waits, of all streams. */
  queuedBytes = 0;
  /** Data that has gone into the output. */
  sentBytes = 0;
  /** Of frames that the protocol asked for since the socket became congested: a peer that does not read causes them. */
  unreadControlBytes = 0;
  /** The socket has more than it takes at the moment. */
  isCongested = false;
  #window = DEFAULT_WINDOW;
  /** Of new streams. */
  initialWindow = INITIAL_SETTINGS.initialWindowSize;
  readonly output: Output;
  readonly #writer: FrameWriter;
  readonly #owner: SenderOwner;
  /** Streams that can send as soon as the socket can. */
  readonly #ready = new StreamLine<StreamState>();
  /** Streams that wait for the connection's window. A stream that waits for its own window is in no line. */
  readonly #blocked = new StreamLine<StreamState>();

  constructor(owner: SenderOwner, pool: BlockPool) {
    this.#owner = owner;
    this.#writer = new FrameWriter(pool);
    this.output = this.#writer.output;
  }

  /** HEADERS and DATA frames that were sent. */
  get messageFrames(): number {
    return this.#writer.messageFrames;
  }

  /** The number of these frames that carry more than a crumb. */
  get worthwhileFrames(): number {
    return this.#writer.worthwhileFrames;
  }

  sendHeaders(stream: StreamState, headers: OutgoingHeaders, endsStream: boolean): void {
    if (stream.queue !== undefined || !this.#isFree()) {
      this.#enqueue(stream, { headers, chunk: NO_BYTES, bytes: 0, endsStream });
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
    const rest = sent === 0 ? chunk : chunk.subarray(sent);
    this.#enqueue(stream, { headers: undefined, chunk: rest, bytes: length - sent, endsStream });
  }

  /** The data as one frame when it fits and can go now. */
  sendMessage(stream: StreamState, message: WholeMessage): void {
    const { head, data, bytes, trailers } = message;
    const isAllowed = bytes <= this.#window && bytes <= stream.sendWindow;
    const canGoNow = stream.queue === undefined && isAllowed && this.#isFree();
    if (canGoNow && this.#writer.message(stream.id, message)) {
      stream.headersAreSent = true;
      this.#take(stream, bytes);
      this.#owner.endSent(stream);
      return;
    }
    this.sendHeaders(stream, head, false);
    for (let i = 0; i < data.length; i++) this.sendData(stream, data[i]!, false);
    this.sendHeaders(stream, trailers, true);
  }

  /** Drops the queue of a stream that is over. */
  forget(stream: StreamState): void {
    stream.line?.leave(stream);
    this.queuedBytes -= stream.queuedBytes;
    stream.queue = undefined;
  }

  /** Moves queued data into the output, as much as may go now. */
  fill(): void {
    if (!this.isCongested) this.unreadControlBytes = 0;
    while (!this.isCongested) {
      // Streams that waited for the window come before others.
      const stream = (this.#window > 0 ? this.#blocked.first : undefined) ?? this.#ready.first;
      if (stream === undefined || this.output.bytes >= MOST_OUTPUT) return;
      stream.line!.leave(stream);
      this.#serve(stream, stream.queue!);
    }
  }

  /** The peer's settings. False when a window becomes larger than any may be (section 6.9.2). */
  applySettings(settings: Settings, streams: readonly StreamState[]): boolean {
    const change = settings.initialWindowSize - this.initialWindow;
    this.initialWindow = settings.initialWindowSize;
    this.#writer.applySettings(settings);
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
  writePreface(bytes: Uint8Array): void {
    this.#writer.raw(bytes);
  }

  writeWindowUpdate(streamId: number, increment: number): void {
    this.#writer.number(FRAME.WINDOW_UPDATE, streamId, increment);
    this.#countControl(4);
  }

  writeReset(streamId: number, code: number): void {
    this.#writer.number(FRAME.RST_STREAM, streamId, code);
    this.#countControl(4);
  }

  /** A frame about the connection: SETTINGS, PING, GOAWAY. */
  writeControl(type: number, flags: number, payload: Uint8Array): void {
    this.#writer.control(type, flags, payload);
    this.#countControl(payload.length);
  }

  #countControl(bytes: number): void {
    if (this.isCongested) this.unreadControlBytes += FRAME_HEAD_BYTES + bytes;
  }

  /** Nobody waits, and the socket takes more. */
  #isFree(): boolean {
    return (
      !this.isCongested &&
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
    this.queuedBytes += part.bytes;
    if (stream.queue === undefined) {
      stream.queue = new PartQueue();
      this.#ready.join(stream);
    }
    stream.queue.push(part);
  }

  /** One turn of a stream that has left its line. */
  #serve(stream: StreamState, queue: PartQueue): void {
    const hasOthers = this.#ready.first !== undefined || this.#blocked.first !== undefined;
    let most = hasOthers ? TURN : MOST_OUTPUT;
    for (let part = queue.first; part !== undefined; part = queue.first) {
      const { headers, chunk, endsStream } = part;
      if (chunk.length !== part.bytes) {
        this.#owner.dataLost(stream);
        return;
      }
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

  /** Sends `chunk[start…end)`, which the windows allow; the end is the stream's when it is the chunk's and `endsStream`. */
  #writeData(stream: StreamState, chunk: Uint8Array, { start, end, endsStream }: DataRange): void {
    this.#take(stream, end - start);
    this.#writer.data(stream.id, chunk, { start, end, endsStream: endsStream && end === chunk.length });
  }

  #writeHeaders(stream: StreamState, headers: OutgoingHeaders, endsStream: boolean): void {
    stream.headersAreSent = true;
    this.#writer.headers(stream.id, headers, endsStream);
  }

  /** From the windows. */
  #take(stream: StreamState, bytes: number): void {
    this.#window -= bytes;
    this.sentBytes += bytes;
    stream.sendWindow -= bytes;
  }
}
