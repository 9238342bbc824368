// Opens and closes the streams of a connection, and tells their users the events. A listener that throws ends its stream and
// nothing else.

import type { ConnectionListener } from './connection-listener.js';
import type { FloodGuard } from './flood-guard.js';
import type { Goodbye } from './goodbye.js';
import type { Handshake } from './handshake.js';
import type { HeaderList } from './header-list.js';
import { ERROR_CODE, Http2Error, type ErrorCodeName } from './http2-error.js';
import { HeaderTemplate } from './outgoing-headers.js';
import { ReceiveWindow } from './receive-window.js';
import type { SenderOwner } from './sender.js';
import { StreamState, type StreamConnection } from './stream-state.js';
import type { StreamTable } from './stream-table.js';

/** Smaller lists of fields are not counted: the stream itself costs as much. */
const SMALLEST_COUNTED_HEAD = 1024;
/** Streams of a connection beyond so many are counted. */
const FREE_STREAMS = 64;
/** What a stream takes that does nothing, and its call. */
const STREAM_BYTES = 2048;
const FIELDS_TOO_LARGE = new HeaderTemplate([':status', '431']);

/** What the lives of streams need of their connection. */
export interface StreamsConnection extends StreamConnection {
  readonly listener: ConnectionListener;
  readonly streams: StreamTable;
  readonly handshake: Pick<Handshake, 'receiveWindow'>;
  readonly goodbye: Pick<Goodbye, 'lastStreamId'>;
  readonly guard: FloodGuard;
  /** A server: its client is to hear of the end with its next stream. */
  readonly isLeaving: boolean;
  leave(): void;
  /** The peer made work for nothing. False when the connection has failed over it. */
  charge(cost: number, what: string): boolean;
  streamClosed(): void;
}

export class StreamLifecycle implements SenderOwner {
  readonly #connection: StreamsConnection;

  constructor(connection: StreamsConnection) {
    this.#connection = connection;
  }

  // What the peer does.

  /** It opens a stream, at a server. */
  accept(streamId: number, headers: HeaderList, endsStream: boolean): void {
    const connection = this.#connection;
    const { streams, options } = connection;
    // It crossed our GOAWAY, which says that it is not served.
    if (streamId > connection.goodbye.lastStreamId) {
      streams.rememberReset(streamId);
      return;
    }
    if (streams.size >= options.maxConcurrentStreams) {
      if (connection.charge(1, 'streams beyond the limit')) this.#refuse(streamId, 'REFUSED_STREAM');
      return;
    }
    const stream = this.open(streamId);
    const isLongHead = headers.bytes >= SMALLEST_COUNTED_HEAD;
    if (isLongHead || streams.size > FREE_STREAMS) {
      stream.headBytes = Math.max(headers.bytes, STREAM_BYTES);
      // A stream with a long head may have to make room for others, one that waits for its client need not.
      if (!stream.hold(0, isLongHead ? Infinity : 0)) {
        if (connection.charge(1, 'streams that there is no room for')) stream.reset('REFUSED_STREAM');
        return;
      }
    }
    if (connection.isLeaving) connection.leave();
    stream.headIsReceived = true;
    stream.endIsReceived = endsStream;
    stream.missingBytes = headers.contentLength;
    if (headers.isCut) stream.sendHeaders(FIELDS_TOO_LARGE, true);
    else this.#tellBeginning(stream, headers, endsStream);
    if (endsStream && !stream.isClosed) this.tellEnd(stream);
  }

  /** It broke the protocol on a stream, which may be closed already. */
  failStream(streamId: number, code: ErrorCodeName, message: string): void {
    const { listener, streams, sender } = this.#connection;
    if (!this.#connection.charge(1, 'errors on streams')) return;
    const error = new Http2Error(code, message);
    listener.onStreamError?.(error, streamId);
    const stream = streams.find(streamId);
    if (stream === undefined) this.#refuse(streamId, code);
    else {
      sender.writeReset(streamId, ERROR_CODE[code]);
      this.close(stream, error, true);
    }
  }

  tellHeaders(stream: StreamState, headers: HeaderList): void {
    try {
      stream.listener?.onHeaders?.(headers);
    } catch (error) {
      this.#listenerFailed(stream, error);
    }
  }

  /** The chunk is valid only during the call. */
  tellData(stream: StreamState, chunk: Buffer): void {
    try {
      stream.listener?.onData(chunk);
    } catch (error) {
      this.#listenerFailed(stream, error);
    }
  }

  tellFilled(stream: StreamState): void {
    try {
      stream.listener?.onFilled?.();
    } catch (error) {
      this.#listenerFailed(stream, error);
    }
  }

  /** The server has no room for the stream's message. */
  tellNoRoom(stream: StreamState): void {
    stream.target = undefined;
    try {
      stream.listener?.onNoRoom?.();
    } catch (error) {
      this.#listenerFailed(stream, error);
    }
    if (!stream.isClosed) this.#connection.share?.hold(stream, 0);
  }

  /** The message is complete, as `stream.endIsReceived` says. */
  tellEnd(stream: StreamState): void {
    try {
      stream.listener?.onEnd();
    } catch (error) {
      this.#listenerFailed(stream, error);
    }
    if (stream.isClosed) return;
    if (stream.endIsSent) this.close(stream, undefined);
    else if (this.#connection.role === 'client') {
      // The server answered without the rest of the request, and may never read it.
      this.#connection.sender.writeReset(stream.id, ERROR_CODE.CANCEL);
      this.close(stream, undefined, true);
    }
  }

  // What the sender does.

  endSent(stream: StreamState): void {
    stream.endIsSent = true;
    if (stream.endIsReceived) this.close(stream, undefined);
    else if (this.#connection.role === 'server') {
      // The answer does without the rest of the request (RFC 9113, section 8.1).
      this.#connection.sender.writeReset(stream.id, ERROR_CODE.NO_ERROR);
      this.close(stream, undefined, true);
    }
  }

  drained(stream: StreamState): void {
    try {
      stream.listener?.onDrain?.();
    } catch (error) {
      this.#listenerFailed(stream, error);
    }
  }

  dataLost(stream: StreamState): void {
    this.#connection.sender.writeReset(stream.id, ERROR_CODE.INTERNAL_ERROR);
    const message = 'the memory of what was to be sent was given away before it was sent';
    this.close(stream, new Http2Error('INTERNAL_ERROR', message), true);
  }

  // What others decide.

  /** Ends streams whose peer does nothing for so long. */
  giveUpUploads(milliseconds: number): void {
    const { streams, sender } = this.#connection;
    for (const stream of streams.all()) {
      if (stream.stillFor <= milliseconds) continue;
      sender.writeReset(stream.id, ERROR_CODE.ENHANCE_YOUR_CALM);
      this.close(stream, new Http2Error('ENHANCE_YOUR_CALM', 'the message has not come any further for long'), true);
    }
    this.#connection.changed();
  }

  /** Its largest message that has not come whole. */
  largestUpload(isLarge: boolean): StreamState | undefined {
    let largest: StreamState | undefined;
    for (const stream of this.#connection.streams.all()) {
      const isUpload = stream.isComing && stream.isLarge === isLarge && stream.heldBytes > 0;
      if (isUpload && stream.heldBytes > (largest?.heldBytes ?? 0)) largest = stream;
    }
    return largest;
  }

  reset(stream: StreamState, code: ErrorCodeName): void {
    const { role, sender, isFinished } = this.#connection;
    stream.listener = undefined;
    if (isFinished) return;
    // What the peer has not heard of needs no reset.
    if (role === 'server' || stream.headersAreSent) sender.writeReset(stream.id, ERROR_CODE[code]);
    this.close(stream, undefined, true);
    this.#connection.changed();
  }

  // Their beginning and their end.

  open(id: number): StreamState {
    const connection = this.#connection;
    const receive = new ReceiveWindow(connection.handshake.receiveWindow);
    const stream = new StreamState(id, connection, { send: connection.sender.initialWindow, receive });
    connection.streams.add(stream);
    return stream;
  }

  /** Without an error: in order, or by its own user. */
  close(stream: StreamState, error: Http2Error | undefined, isResetByUs = false): void {
    if (stream.isClosed) return;
    const connection = this.#connection;
    const { listener } = stream;
    if (stream.heldBytes > 0) connection.share?.hold(stream, 0);
    stream.isClosed = true;
    stream.listener = undefined;
    stream.target = undefined;
    connection.streams.remove(stream, isResetByUs);
    if (stream.queue !== undefined) connection.sender.forget(stream);
    if (stream.unconsumed > 0 && !connection.isFinished) connection.data.forget(stream);
    if (error === undefined && !isResetByUs) connection.guard.earn(1);
    try {
      listener?.onClose?.(error);
    } catch (failure) {
      connection.listener.onListenerError?.(failure, stream.id);
    }
    connection.streamClosed();
  }

  #tellBeginning(stream: StreamState, headers: HeaderList, endsStream: boolean): void {
    try {
      const listener = this.#connection.listener.onStream?.(stream, headers, endsStream);
      if (!stream.isClosed) stream.listener = listener;
    } catch (error) {
      this.#listenerFailed(stream, error);
    }
  }

  /** A stream that is not there. */
  #refuse(streamId: number, code: ErrorCodeName): void {
    this.#connection.sender.writeReset(streamId, ERROR_CODE[code]);
    this.#connection.streams.rememberReset(streamId);
  }

  #listenerFailed(stream: StreamState, error: unknown): void {
    this.#connection.listener.onListenerError?.(error, stream.id);
    stream.reset('INTERNAL_ERROR');
  }
}
