// The streams of a connection from their beginning to their end: who opens, answers and resets them, and what their users are
// told. A listener that throws ends its stream and nothing else.

import type { ByteShare } from '../sockets/byte-budget.js';
import type { CompleteConnectionOptions } from './connection-options.js';
import type { ConnectionListener } from './connection-listener.js';
import type { HeaderList } from './header-list.js';
import { ERROR_CODE, Http2Error, type ErrorCodeName } from './http2-error.js';
import { HeaderTemplate, type OutgoingHeaders } from './outgoing-headers.js';
import { ReceiveWindow } from './receive-window.js';
import type { Sender, SenderOwner } from './sender.js';
import { StreamState, type MessageRest, type StreamOwner } from './stream-state.js';
import type { Role, StreamTable } from './stream-table.js';

/** Smaller lists of fields are not counted: the stream itself costs as much. */
const SMALLEST_COUNTED_HEAD = 1024;
const FIELDS_TOO_LARGE = new HeaderTemplate([':status', '431']);

/** Data that streams have received, as far as their users have not consumed it. */
export interface ReceivedData {
  consume(stream: StreamState, bytes: number): void;
  forget(stream: StreamState): void;
}

/** What the streams need of their connection. */
export interface ExchangeConnection {
  readonly role: Role;
  readonly options: CompleteConnectionOptions;
  readonly listener: ConnectionListener;
  readonly streams: StreamTable;
  readonly sender: Sender;
  readonly data: ReceivedData;
  readonly isFinished: boolean;
  /** What the connection may hold in memory. Undefined: anything. */
  readonly share: ByteShare | undefined;
  /** All that the peer has not taken yet of what was sent. */
  readonly unreadBytes: number;
  /** The receive window of new streams. */
  readonly receiveWindow: number;
  /** The peer's streams after this one are not served. */
  readonly lastServedId: number;
  fail(error: Http2Error): void;
  /** The peer made work for nothing. False when the connection has failed over it. */
  charge(cost: number, what: string): boolean;
  /** A stream was worth its while. */
  earn(): void;
  streamClosed(): void;
  /** The peer has opened a stream. */
  streamAccepted(): void;
  /** There may be output. */
  changed(): void;
}

export class Exchanges implements StreamOwner, SenderOwner {
  readonly #connection: ExchangeConnection;

  constructor(connection: ExchangeConnection) {
    this.#connection = connection;
  }

  // What the peer does.

  /** It opens a stream, at a server. */
  accept(streamId: number, headers: HeaderList, endsStream: boolean): void {
    const { streams, options, lastServedId } = this.#connection;
    // It crossed our GOAWAY, which says that it is not served.
    if (streamId > lastServedId) {
      streams.rememberReset(streamId);
      return;
    }
    if (streams.size >= options.maxConcurrentStreams) {
      if (this.#connection.charge(1, 'streams beyond the limit')) this.#refuse(streamId, 'REFUSED_STREAM');
      return;
    }
    const stream = this.open(streamId);
    if (!this.#holdHead(stream, headers)) {
      if (this.#connection.charge(1, 'streams that there is no room for')) stream.reset('REFUSED_STREAM');
      return;
    }
    this.#connection.streamAccepted();
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

  /** There is no room for what comes on the stream. */
  tellNoRoom(stream: StreamState): void {
    stream.target = undefined;
    try {
      stream.listener?.onNoRoom?.();
    } catch (error) {
      this.#listenerFailed(stream, error);
    }
    if (!stream.isClosed) this.hold(stream, 0);
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

  // What the streams' users do.

  sendHeaders(stream: StreamState, headers: OutgoingHeaders, endsStream: boolean): void {
    if (this.#connection.isFinished) return;
    this.#connection.sender.sendHeaders(stream, headers, endsStream);
    this.#connection.changed();
  }

  sendData(stream: StreamState, chunk: Uint8Array, endsStream: boolean): void {
    if (this.#connection.isFinished) return;
    this.#connection.sender.sendData(stream, chunk, endsStream);
    this.#sent();
  }

  sendMessage(stream: StreamState, head: OutgoingHeaders, rest: MessageRest): void {
    if (this.#connection.isFinished) return;
    this.#connection.sender.sendMessage(stream, head, rest);
    this.#sent();
  }

  consume(stream: StreamState, bytes: number): void {
    if (this.#connection.isFinished) return;
    this.#connection.data.consume(stream, bytes);
    this.#connection.changed();
  }

  hold(stream: StreamState, bytes: number, whole?: number): boolean {
    return this.#connection.share?.hold(stream, bytes, whole) ?? true;
  }

  admitsAnswer(bytes: number): boolean {
    const { share, unreadBytes } = this.#connection;
    if (share === undefined) return true;
    share.unread(unreadBytes);
    return share.admits(bytes);
  }

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
    const { streams, sender, receiveWindow } = this.#connection;
    const windows = { send: sender.initialWindow, receive: new ReceiveWindow(receiveWindow) };
    const stream = new StreamState(id, this, windows);
    streams.add(stream);
    return stream;
  }

  /** Without an error: in order, or by its own user. */
  close(stream: StreamState, error: Http2Error | undefined, isResetByUs = false): void {
    if (stream.isClosed) return;
    const connection = this.#connection;
    const { listener } = stream;
    this.hold(stream, 0);
    stream.isClosed = true;
    stream.listener = undefined;
    connection.streams.remove(stream, isResetByUs);
    connection.sender.forget(stream);
    if (!connection.isFinished) connection.data.forget(stream);
    if (error === undefined && !isResetByUs) connection.earn();
    try {
      listener?.onClose?.(error);
    } catch (failure) {
      connection.listener.onListenerError?.(failure, stream.id);
    }
    connection.streamClosed();
  }

  #holdHead(stream: StreamState, headers: HeaderList): boolean {
    if (headers.bytes < SMALLEST_COUNTED_HEAD) return true;
    stream.headBytes = headers.bytes;
    return stream.hold(0, Infinity);
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

  #sent(): void {
    const { sender, options } = this.#connection;
    if (sender.queuedBytes > options.maxQueuedBytes) {
      const message = `more than ${options.maxQueuedBytes} bytes wait for the peer to take them`;
      this.#connection.fail(new Http2Error('ENHANCE_YOUR_CALM', message));
    }
    this.#connection.changed();
  }
}
