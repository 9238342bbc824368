// What a connection knows of one stream: a record that the connection's parts share (data-receiver.ts, sender.ts) and at the same
// time what the stream's user holds. The contract with the user is in http2-stream.ts.

import type { ByteShare, HeldRequest } from '../sockets/byte-budget.js';
import { LEAST_PROGRESS, Standstill } from '../sockets/standstill.js';
import type { CompleteConnectionOptions, Role } from './connection-options.js';
import type { WholeMessage } from './frame-writer.js';
import type { ErrorCodeName, Http2Error } from './http2-error.js';
import type { Http2Stream, StreamListener } from './http2-stream.js';
import type { OutgoingHeaders } from './outgoing-headers.js';
import type { PartQueue } from './part-queue.js';
import type { ReceiveWindow } from './receive-window.js';
import type { StreamLine, Waiting } from './stream-line.js';

/** What a stream needs of its connection. */
export interface StreamConnection {
  readonly role: Role;
  readonly options: CompleteConnectionOptions;
  readonly sender: StreamSender;
  readonly data: ReceivedData;
  readonly lifecycle: { reset(stream: StreamState, code: ErrorCodeName): void };
  readonly isFinished: boolean;
  /** What the connection may hold in memory. Undefined: anything. */
  readonly share: ByteShare | undefined;
  /** All sent bytes that the peer has not taken yet. */
  readonly unreadBytes: number;
  fail(error: Http2Error): void;
  /** There may be output. */
  readonly changed: () => void;
  /** The same after data was sent, of which too much may wait. */
  sent(): void;
}

/** Sends the parts of a stream, or keeps them until they may go. */
export interface StreamSender {
  sendHeaders(stream: StreamState, headers: OutgoingHeaders, endsStream: boolean): void;
  sendData(stream: StreamState, chunk: Uint8Array, endsStream: boolean): void;
  sendMessage(stream: StreamState, message: WholeMessage): void;
  writeReset(streamId: number, code: number): void;
  /** Drops the unsent parts of a stream that is over. */
  forget(stream: StreamState): void;
  /** Bytes that a new stream may send. */
  readonly initialWindow: number;
}

/** Data that streams have received, as far as their users have not consumed it. */
export interface ReceivedData {
  consume(stream: StreamState, bytes: number): void;
  forget(stream: StreamState): void;
}

/** Smaller messages are not worth asking whether there is room for them. */
const SMALLEST_ASKED = 65_536;

/** `onDrain` is promised when more than this is queued. */
const MUCH_QUEUED = 65_536;

export class StreamState implements Http2Stream, HeldRequest, Waiting<StreamState> {
  readonly id: number;
  listener: StreamListener | undefined = undefined;
  isClosed = false;

  // Sending.
  /** May be negative (RFC 9113, section 6.9.2). */
  sendWindow: number;
  /** The user has sent the end; with {@link endIsSent} it is in the connection's output. */
  endIsQueued = false;
  endIsSent = false;
  headersAreSent = false;
  /** Undefined when nothing waits. */
  queue: PartQueue | undefined = undefined;
  drainIsPromised = false;
  line: StreamLine<StreamState> | undefined = undefined;
  ahead: StreamState | undefined = undefined;
  behind: StreamState | undefined = undefined;

  // Receiving.
  readonly receiveWindow: ReceiveWindow;
  endIsReceived = false;
  /** The message's head has come: what follows are trailers. */
  headIsReceived = false;
  consumesAtOnce = true;
  /** Delivered, but not consumed yet. */
  unconsumed = 0;
  /** Bytes that are missing of content-length; undefined without one. */
  missingBytes: number | undefined = undefined;
  target: Uint8Array | undefined = undefined;
  /** How much of `target` is there. */
  filled = 0;
  // Bytes that are counted for the stream, kept by the budget.
  heldBytes = 0;
  wholeBytes = 0;
  isLarge = false;
  /** The part of these bytes that its head takes. */
  headBytes = 0;
  #upload: Standstill | undefined = undefined;
  /** Milliseconds for which hardly any bytes of its message have come. */
  stillFor = 0;

  readonly #connection: StreamConnection;

  constructor(
    id: number,
    connection: StreamConnection,
    windows: { readonly send: number; readonly receive: ReceiveWindow },
  ) {
    this.id = id;
    this.#connection = connection;
    this.sendWindow = windows.send;
    this.receiveWindow = windows.receive;
  }

  get queuedBytes(): number {
    return this.queue?.bytes ?? 0;
  }

  sendHeaders(headers: OutgoingHeaders, endsStream = false): void {
    const connection = this.#connection;
    if (this.isClosed || this.endIsQueued || connection.isFinished) return;
    this.endIsQueued = endsStream;
    connection.sender.sendHeaders(this, headers, endsStream);
    connection.changed();
  }

  sendData(chunk: Uint8Array, endsStream = false): boolean {
    const connection = this.#connection;
    if (this.isClosed || this.endIsQueued || connection.isFinished) return true;
    this.endIsQueued = endsStream;
    connection.sender.sendData(this, chunk, endsStream);
    connection.sent();
    if (this.queuedBytes <= MUCH_QUEUED) return true;
    this.drainIsPromised = true;
    return false;
  }

  sendMessage(head: OutgoingHeaders, data: readonly Uint8Array[], trailers: OutgoingHeaders): boolean {
    const connection = this.#connection;
    if (this.isClosed || this.endIsQueued || connection.isFinished) return true;
    let bytes = 0;
    for (let i = 0; i < data.length; i++) bytes += data[i]!.length;
    // With its answer here, what the request holds is of no use any more.
    if (this.heldBytes > 0) connection.share?.hold(this, 0);
    if (bytes >= SMALLEST_ASKED && !this.#admits(bytes)) return false;
    this.endIsQueued = true;
    connection.sender.sendMessage(this, { head, data, bytes, trailers });
    connection.sent();
    return true;
  }

  /** Whether there is room for an answer that the peer may not read for long. */
  #admits(bytes: number): boolean {
    const { share, unreadBytes } = this.#connection;
    if (share === undefined) return true;
    share.unread(unreadBytes);
    return share.admits(bytes);
  }

  hold(bytes: number, whole = bytes): boolean {
    if (this.isClosed) return false;
    const { share } = this.#connection;
    if (share === undefined) return true;
    const here = this.headBytes + (this.target === undefined ? 0 : this.filled);
    return share.hold(this, here + bytes, this.headBytes + Math.max(whole, bytes));
  }

  /** Its client has sent a part of a message, or nothing but its head. */
  get isComing(): boolean {
    return this.wholeBytes > this.heldBytes;
  }

  /** Nothing is done for it: it waits for its client, or for an event. */
  get rests(): boolean {
    return this.heldBytes === this.headBytes || this.isComing;
  }

  /** To be called now and then: looks whether its message still comes. */
  lookForProgress(now: number): void {
    this.#upload ??= new Standstill(LEAST_PROGRESS);
    this.stillFor = this.#upload.look(now, this.isComing && this.heldBytes > 0, this.heldBytes);
  }

  reset(code: ErrorCodeName): void {
    if (!this.isClosed) this.#connection.lifecycle.reset(this, code);
  }

  consume(bytes: number): void {
    const connection = this.#connection;
    if (this.isClosed || connection.isFinished) return;
    connection.data.consume(this, bytes);
    connection.changed();
  }

  receiveInto(target: Uint8Array): void {
    this.target = target.length === 0 ? undefined : target;
    this.filled = 0;
  }
}
