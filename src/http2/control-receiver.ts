// Receives frames that carry nothing of a message: PRIORITY, RST_STREAM, SETTINGS, PING, GOAWAY and WINDOW_UPDATE (RFC 9113,
// sections 6.3 to 6.9). It checks that each makes sense, and charges its cost.

import type { ConnectionListener } from './connection-listener.js';
import type { DataReceiver } from './data-receiver.js';
import { FLAG, FRAME, readUint31, readUint32, type FrameHead } from './frame.js';
import type { Goodbye } from './goodbye.js';
import type { Handshake } from './handshake.js';
import type { HeaderReceiver } from './header-receiver.js';
import { Http2Error, nameOfErrorCode, type ErrorCodeName } from './http2-error.js';
import type { PingBook } from './ping-book.js';
import type { ReceivingConnection } from './receiving-connection.js';

/**
 * The number of WINDOW_UPDATEs that each worthwhile frame may cause. One for its stream and one for the connection make two.
 * gRPC's own library sends more: for a message's prefix, for the message, and when its user wants the next one.
 */
const UPDATES_PER_FRAME = 8;
/** So many streams make one more of what a change of their windows costs. */
const STREAMS_PER_CREDIT = 64;

/** What these frames need of their connection. */
export interface ControlledConnection extends ReceivingConnection {
  readonly listener: ConnectionListener;
  readonly data: DataReceiver;
  readonly receivedMessageFrames: number;
  /** So many streams may be open at a time, at a client. */
  readonly mostStreams: number;
  readonly canOpenStream: boolean;
  /** Ends the connection when that was agreed on and no stream is open. */
  finishWhenEmpty(): void;
}

/** The parts of a connection that they are about. */
export interface ControlledParts {
  readonly headers: HeaderReceiver;
  readonly handshake: Handshake;
  readonly pings: PingBook;
  readonly goodbye: Goodbye;
}

export class ControlReceiver {
  readonly #connection: ControlledConnection;
  readonly #parts: ControlledParts;
  #windowUpdates = 0;
  /** HEADERS and DATA frames both ways when the last ping came. */
  #framesAtPing = 0;

  constructor(connection: ControlledConnection, parts: ControlledParts) {
    this.#connection = connection;
    this.#parts = parts;
  }

  /** A frame has come whole. */
  payload(
    { type, flags, streamId }: FrameHead,
    bytes: Buffer,
    range: { readonly start: number; readonly end: number },
  ): void {
    const { start, end } = range;
    switch (type) {
      case FRAME.PRIORITY:
        this.#priority(streamId, readUint31(bytes, start));
        break;
      case FRAME.RST_STREAM:
        this.#reset(streamId, nameOfErrorCode(readUint32(bytes, start)));
        break;
      case FRAME.SETTINGS:
        this.#settings(flags, bytes, range);
        break;
      case FRAME.PING:
        this.#ping(flags, bytes.subarray(start, end));
        break;
      case FRAME.GOAWAY:
        this.#goaway(bytes.subarray(start, end));
        break;
      default:
        this.#windowUpdate(streamId, readUint31(bytes, start));
    }
  }

  /** Priorities have no meaning any more (section 5.3.2). */
  #priority(streamId: number, dependency: number): void {
    if (!this.#connection.charge(1, 'PRIORITY') || dependency !== streamId) return;
    this.#connection.lifecycle.failStream(streamId, 'PROTOCOL_ERROR', 'PRIORITY that makes a stream depend on itself');
  }

  #reset(streamId: number, code: ErrorCodeName): void {
    const stream = this.#connection.streams.find(streamId);
    if (stream === undefined && this.#connection.streams.stateOf(streamId) === 'idle') {
      this.#connection.fail(new Http2Error('PROTOCOL_ERROR', `RST_STREAM on stream ${streamId}, which nobody opened`));
      return;
    }
    // Opening streams and resetting them makes a server work for nobody (CVE-2023-44487).
    if (this.#connection.role === 'server' && !this.#connection.charge(1, 'RST_STREAM')) return;
    if (stream === undefined) return;
    // A server has answered and does not want the rest of the request (section 8.1).
    const isInOrder = stream.endIsReceived && code === 'NO_ERROR';
    this.#connection.lifecycle.close(
      stream,
      isInOrder ? undefined : new Http2Error(code, `the peer reset the stream: ${code}`),
    );
  }

  #settings(flags: number, bytes: Buffer, range: { readonly start: number; readonly end: number }): void {
    if ((flags & FLAG.ACK) !== 0) {
      this.#settingsAcknowledged();
      return;
    }
    if (!this.#connection.charge(1 + this.#connection.streams.size / STREAMS_PER_CREDIT, 'SETTINGS')) return;
    const isFirst = !this.#parts.handshake.isReady;
    const mostBefore = this.#connection.mostStreams;
    try {
      const settings = this.#parts.handshake.receive(bytes, range);
      if (!this.#connection.sender.applySettings(settings, this.#connection.streams.all())) {
        throw new Http2Error('FLOW_CONTROL_ERROR', 'SETTINGS_INITIAL_WINDOW_SIZE makes a window too large');
      }
    } catch (error) {
      if (!(error instanceof Http2Error)) throw error;
      this.#connection.fail(error);
      return;
    }
    if (isFirst) this.#connection.listener.onReady?.();
    if (this.#connection.streams.size >= mostBefore && this.#connection.canOpenStream)
      this.#connection.listener.onStreamAvailable?.();
  }

  #settingsAcknowledged(): void {
    if (this.#parts.handshake.isAcknowledged) {
      this.#connection.charge(1, 'SETTINGS with ACK');
      return;
    }
    this.#parts.handshake.acknowledged();
    this.#parts.headers.settingsAcknowledged();
    for (const stream of this.#connection.streams.all())
      this.#connection.data.resizeWindow(stream, this.#parts.handshake.receiveWindow);
  }

  #ping(flags: number, payload: Buffer): void {
    if ((flags & FLAG.ACK) !== 0) {
      if (!this.#parts.pings.answered(payload)) this.#connection.charge(1, 'PING with ACK');
    } else if (this.#isPingCaused() || this.#connection.charge(1, 'PING')) {
      this.#parts.pings.answer(payload);
      this.#connection.listener.onPing?.();
    }
  }

  /** Peers measure by pings how fast data comes, one after the other: such a ping comes with messages. */
  #isPingCaused(): boolean {
    const messageFrames = this.#connection.receivedMessageFrames + this.#connection.sender.messageFrames;
    const isCaused = messageFrames !== this.#framesAtPing;
    this.#framesAtPing = messageFrames;
    return isCaused;
  }

  #goaway(payload: Buffer): void {
    if (!this.#connection.charge(1, 'GOAWAY')) return;
    const goaway = this.#parts.goodbye.receive(payload);
    this.#connection.listener.onGoaway?.(goaway);
    const error = new Http2Error(
      'REFUSED_STREAM',
      `the peer ends the connection (${goaway.code}) and did not process the stream`,
    );
    for (const stream of this.#connection.streams.all()) {
      if (this.#connection.streams.isLocal(stream.id) && stream.id > goaway.lastStreamId)
        this.#connection.lifecycle.close(stream, error);
    }
    this.#connection.finishWhenEmpty();
  }

  #windowUpdate(streamId: number, increment: number): void {
    const isCaused = ++this.#windowUpdates <= UPDATES_PER_FRAME * this.#connection.sender.worthwhileFrames;
    if (!isCaused && !this.#connection.charge(1, 'WINDOW_UPDATE')) return;
    const stream = streamId === 0 ? undefined : this.#connection.streams.find(streamId);
    if (stream === undefined) {
      if (streamId !== 0) this.#windowUpdateOfNoStream(streamId);
      else if (increment === 0) this.#connection.fail(new Http2Error('PROTOCOL_ERROR', 'WINDOW_UPDATE by 0'));
      else if (!this.#connection.sender.enlargeConnectionWindow(increment)) {
        this.#connection.fail(
          new Http2Error('FLOW_CONTROL_ERROR', "WINDOW_UPDATE makes the connection's window too large"),
        );
      }
      return;
    }
    if (increment === 0) this.#connection.lifecycle.failStream(streamId, 'PROTOCOL_ERROR', 'WINDOW_UPDATE by 0');
    else if (!this.#connection.sender.enlargeWindow(stream, increment)) {
      this.#connection.lifecycle.failStream(streamId, 'FLOW_CONTROL_ERROR', 'WINDOW_UPDATE makes the window too large');
    }
  }

  #windowUpdateOfNoStream(streamId: number): void {
    if (this.#connection.streams.stateOf(streamId) !== 'idle') return;
    this.#connection.fail(new Http2Error('PROTOCOL_ERROR', `WINDOW_UPDATE on stream ${streamId}, which nobody opened`));
  }
}
