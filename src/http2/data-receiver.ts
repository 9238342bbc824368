// Receives DATA (RFC 9113, sections 5.2, 6.1 and 6.9). It hands pieces of payloads to their streams, and gives windows back
// when data is consumed. Nothing is kept here: who wants a message whole says where it is to lie.

import { DEFAULT_WINDOW, FLAG, FRAME, type FrameHead } from './frame.js';
import type { FrameReader } from './frame-reader.js';
import { Http2Error } from './http2-error.js';
import { ReceiveWindow } from './receive-window.js';
import type { ReceivingConnection } from './receiving-connection.js';
import type { StreamState } from './stream-state.js';

/** Not even half as much as the head of its frame. */
const TINY = 4;
/**
 * The number of frames that are judged together. Frames that end their stream do not count. When they carry less on average
 * than the smallest useful message, and few are answered, each costs a part of an empty frame.
 */
const LOOKED_AT = 4096;
const SMALLEST_AVERAGE = 10;
const COST_OF_SMALL = LOOKED_AT / 4;
const MANY_ANSWERS = LOOKED_AT / 4;
/** Reading straight into a target saves copying so much at least. */
const SMALLEST_DIRECT_READ = 32_768;

export class DataReceiver {
  readonly #connection: ReceivingConnection;
  readonly #reader: FrameReader;
  readonly #window: ReceiveWindow;
  // Of the frame under way; undefined when its payload is dropped.
  #stream: StreamState | undefined;
  #endsStream = false;
  /** Bytes at the payload's end that are no data; undefined until the byte that says so has come. */
  #padding: number | undefined = 0;
  /** Frames that did not end their stream, and their bytes, since they were looked at. */
  #frames = 0;
  #frameBytes = 0;
  /** Frames of answers, before. */
  #answers = 0;

  constructor(connection: ReceivingConnection, reader: FrameReader, windowSize: number) {
    this.#connection = connection;
    this.#reader = reader;
    // It begins so large, and cannot be made smaller (RFC 9113, section 6.9.2).
    this.#window = new ReceiveWindow(Math.max(windowSize, DEFAULT_WINDOW));
  }

  /** A frame's head has come. False when its payload is of no interest; the connection may have failed. */
  begins({ length, flags, streamId }: FrameHead): boolean {
    const connection = this.#connection;
    this.#stream = undefined;
    this.#endsStream = (flags & FLAG.END_STREAM) !== 0;
    this.#padding = (flags & FLAG.PADDED) === 0 ? 0 : undefined;
    if (!this.#window.take(length)) {
      connection.fail(new Http2Error('FLOW_CONTROL_ERROR', "DATA beyond the connection's window"));
      return false;
    }
    if (this.#padding === undefined && length === 0) {
      connection.fail(new Http2Error('FRAME_SIZE_ERROR', 'padded DATA without a payload'));
      return false;
    }
    if (!this.#endsStream && !this.#isWorthwhile(length)) return false;
    const stream = connection.streams.find(streamId);
    if (stream !== undefined && this.#isWanted(stream, length)) {
      this.#stream = stream;
      return true;
    }
    if (stream === undefined) this.#ofNoStream(streamId);
    this.#giveBack(length);
    return false;
  }

  /** The next piece of the payload. */
  piece(bytes: Buffer, from: number, to: number): void {
    const { left } = this.#reader;
    const stream = this.#stream!;
    if (stream.isClosed) {
      this.#giveBack(to - from);
      return;
    }
    let start = from;
    if (this.#padding === undefined && from < to) {
      this.#padding = bytes[start++]!;
      const length = this.#reader.length - 1 - this.#padding;
      if (length <= TINY && !this.#connection.charge(1, 'DATA with hardly any data')) return;
      if (this.#padding > left + to - start) {
        this.#connection.fail(new Http2Error('PROTOCOL_ERROR', 'DATA with more padding than payload'));
        return;
      }
    }
    const end = to - Math.min(to - start, Math.max(0, (this.#padding ?? 0) - left));
    const isLast = left === 0 && this.#endsStream;
    if (end - start < to - from) this.#consumed(stream, to - from - (end - start));
    if (stream.missingBytes !== undefined && hasWrongLength(stream, end - start, isLast)) {
      this.#giveBack(end - start);
      this.#connection.lifecycle.failStream(
        stream.id,
        'PROTOCOL_ERROR',
        'a message of another length than its content-length',
      );
      return;
    }
    // Who answers at the last piece need not tell the client to stop: it has sent everything.
    if (isLast) stream.endIsReceived = true;
    if (end > start) this.#deliver(stream, bytes, { start, end });
    if (isLast && !stream.isClosed) this.#connection.lifecycle.tellEnd(stream);
  }

  /** The user has consumed data that was delivered before. */
  consume(stream: StreamState, bytes: number): void {
    const consumed = Math.min(bytes, stream.unconsumed);
    stream.unconsumed -= consumed;
    this.#consumed(stream, consumed);
  }

  /** The peer knows of another window than it had when the stream began. */
  resizeWindow(stream: StreamState, size: number): void {
    stream.receiveWindow.resize(size);
    // Bytes that were too few to be given back may be many now.
    this.#consumed(stream, 0);
  }

  /** The stream is over: nobody will consume the rest. */
  forget(stream: StreamState): void {
    this.#giveBack(stream.unconsumed);
    stream.unconsumed = 0;
  }

  /**
   * Where the connection's next bytes are best read to: a place in a target, when they are payload for it and many. They then
   * have to be received like any other bytes, and are not copied.
   */
  directTarget(): Buffer | undefined {
    const { left, type } = this.#reader;
    if (left < SMALLEST_DIRECT_READ || type !== FRAME.DATA || this.#padding !== 0) return undefined;
    const target = this.#stream?.target;
    if (target === undefined) return undefined;
    const { filled } = this.#stream!;
    const room = Math.min(left, target.length - filled);
    return room < SMALLEST_DIRECT_READ ? undefined : Buffer.from(target.buffer, target.byteOffset + filled, room);
  }

  /** False when the connection has failed over frames that are too small. */
  #isWorthwhile(length: number): boolean {
    const connection = this.#connection;
    if (length <= TINY) return connection.charge(1, 'DATA with hardly any data');
    this.#frames++;
    this.#frameBytes += length;
    if (this.#frames < LOOKED_AT) return true;
    const { messageFrames } = connection.sender;
    const isAnswered = messageFrames - this.#answers >= MANY_ANSWERS;
    const isSmall = this.#frameBytes < LOOKED_AT * SMALLEST_AVERAGE && !isAnswered;
    this.#answers = messageFrames;
    this.#frames = this.#frameBytes = 0;
    return !isSmall || connection.charge(COST_OF_SMALL, 'small DATA frames');
  }

  #isWanted(stream: StreamState, length: number): boolean {
    const connection = this.#connection;
    if (stream.endIsReceived)
      connection.lifecycle.failStream(stream.id, 'STREAM_CLOSED', 'DATA after the end of the message');
    else if (!stream.headIsReceived)
      connection.lifecycle.failStream(stream.id, 'PROTOCOL_ERROR', 'DATA before the head of the message');
    else if (stream.receiveWindow.take(length)) return true;
    else connection.lifecycle.failStream(stream.id, 'FLOW_CONTROL_ERROR', "DATA beyond the stream's window");
    return false;
  }

  #ofNoStream(streamId: number): void {
    const connection = this.#connection;
    const state = connection.streams.stateOf(streamId);
    if (state === 'idle')
      connection.fail(new Http2Error('PROTOCOL_ERROR', `DATA on stream ${streamId}, which nobody opened`));
    else if (state === 'closed') {
      connection.lifecycle.failStream(streamId, 'STREAM_CLOSED', 'DATA after the end of the stream');
    }
  }

  #deliver(stream: StreamState, bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }): void {
    let at = start;
    while (at < end && stream.target !== undefined)
      at = this.#fill(stream, stream.target, bytes.subarray(at, end)) + at;
    const length = end - at;
    if (length === 0) return;
    if (stream.isClosed) {
      this.#giveBack(length);
      return;
    }
    stream.unconsumed += length;
    this.#connection.lifecycle.tellData(stream, bytes.subarray(at, end));
    if (stream.consumesAtOnce) this.consume(stream, length);
  }

  /** Puts as much as fits into the target; returns how much that is. */
  #fill(stream: StreamState, target: Uint8Array, bytes: Buffer): number {
    const length = Math.min(bytes.length, target.length - stream.filled);
    const isThere = bytes.buffer === target.buffer && bytes.byteOffset === target.byteOffset + stream.filled;
    if (!isThere) bytes.copy(target, stream.filled, 0, length);
    stream.filled += length;
    this.#consumed(stream, length);
    const { lifecycle, share } = this.#connection;
    if (share?.hold(stream, stream.heldBytes + length, stream.wholeBytes) === false) {
      lifecycle.tellNoRoom(stream);
      return length;
    }
    if (stream.filled === target.length) {
      stream.target = undefined;
      lifecycle.tellFilled(stream);
    }
    return length;
  }

  #consumed(stream: StreamState, bytes: number): void {
    this.#giveBack(bytes);
    if (stream.endIsReceived || stream.isClosed) return;
    const increment = stream.receiveWindow.consume(bytes);
    if (increment > 0) this.#connection.sender.writeWindowUpdate(stream.id, increment);
  }

  /** To the connection's window. */
  #giveBack(bytes: number): void {
    const increment = this.#window.consume(bytes);
    if (increment > 0) this.#connection.sender.writeWindowUpdate(0, increment);
  }
}

/** With {@link StreamState.missingBytes}. */
function hasWrongLength(stream: StreamState, bytes: number, isLast: boolean): boolean {
  if (stream.missingBytes === undefined) return false;
  stream.missingBytes -= bytes;
  return stream.missingBytes < 0 || (isLast && stream.missingBytes > 0);
}
