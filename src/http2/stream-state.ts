// What a connection knows of one stream: a record that the connection's parts share (receiver.ts, sender.ts) and at the same
// time what the stream's user holds. The contract with the user is in http2-stream.ts.

import type { HeldRequest } from '../sockets/byte-budget.js';
import { LEAST_PROGRESS, Standstill } from '../sockets/standstill.js';
import type { ErrorCodeName } from './http2-error.js';
import type { Http2Stream, StreamListener } from './http2-stream.js';
import type { OutgoingHeaders } from './outgoing-headers.js';
import type { PartQueue } from './part-queue.js';
import type { ReceiveWindow } from './receive-window.js';
import type { StreamLine, Waiting } from './stream-line.js';

/** What a connection does for the users of its streams. Streams of users that are closed already do not ask. */
export interface StreamOwner {
  sendHeaders(stream: StreamState, headers: OutgoingHeaders, endsStream: boolean): void;
  sendData(stream: StreamState, chunk: Uint8Array, endsStream: boolean): void;
  sendMessage(stream: StreamState, head: OutgoingHeaders, rest: MessageRest): void;
  reset(stream: StreamState, code: ErrorCodeName): void;
  consume(stream: StreamState, bytes: number): void;
  hold(stream: StreamState, bytes: number, whole?: number): boolean;
  admitsAnswer(bytes: number): boolean;
}

/** Smaller messages are not worth asking whether there is room for them. */
const SMALLEST_ASKED = 65_536;

/** What follows the head of a message. */
export interface MessageRest {
  readonly data: readonly Uint8Array[];
  readonly trailers: OutgoingHeaders;
}

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
  /** What is missing of content-length; undefined when it was not told. */
  missingBytes: number | undefined = undefined;
  target: Uint8Array | undefined = undefined;
  /** How much of `target` is there. */
  filled = 0;
  // Bytes that are counted for the stream, kept by the budget.
  heldBytes = 0;
  wholeBytes = 0;
  isLarge = false;
  /** Of these, its head's. */
  headBytes = 0;
  readonly upload = new Standstill(LEAST_PROGRESS);
  /** Hardly anything has come of its message for so many milliseconds. */
  stillFor = 0;

  readonly #owner: StreamOwner;

  constructor(id: number, owner: StreamOwner, windows: { readonly send: number; readonly receive: ReceiveWindow }) {
    this.id = id;
    this.#owner = owner;
    this.sendWindow = windows.send;
    this.receiveWindow = windows.receive;
  }

  get queuedBytes(): number {
    return this.queue?.bytes ?? 0;
  }

  sendHeaders(headers: OutgoingHeaders, endsStream = false): void {
    if (this.isClosed || this.endIsQueued) return;
    this.endIsQueued = endsStream;
    this.#owner.sendHeaders(this, headers, endsStream);
  }

  sendData(chunk: Uint8Array, endsStream = false): boolean {
    if (this.isClosed || this.endIsQueued) return true;
    this.endIsQueued = endsStream;
    this.#owner.sendData(this, chunk, endsStream);
    if (this.queuedBytes <= MUCH_QUEUED) return true;
    this.drainIsPromised = true;
    return false;
  }

  sendMessage(head: OutgoingHeaders, data: readonly Uint8Array[], trailers: OutgoingHeaders): void {
    if (this.isClosed || this.endIsQueued) return;
    this.endIsQueued = true;
    this.#owner.sendMessage(this, head, { data, trailers });
  }

  hasRoom(data: readonly Uint8Array[]): boolean {
    let bytes = 0;
    for (let i = 0; i < data.length; i++) bytes += data[i]!.length;
    // With its answer here, what the request holds is of no use any more.
    this.#owner.hold(this, 0);
    return bytes < SMALLEST_ASKED || this.#owner.admitsAnswer(bytes);
  }

  hold(bytes: number, whole = bytes): boolean {
    const here = this.headBytes + (this.target === undefined ? 0 : this.filled);
    return !this.isClosed && this.#owner.hold(this, here + bytes, this.headBytes + Math.max(whole, bytes));
  }

  /** Its client has sent a part of a message, or nothing but its head. */
  get isComing(): boolean {
    return this.wholeBytes > this.heldBytes;
  }

  /** Nothing is done for it: it waits for its client, or for an event. */
  get rests(): boolean {
    return this.heldBytes === this.headBytes || this.isComing;
  }

  reset(code: ErrorCodeName): void {
    if (!this.isClosed) this.#owner.reset(this, code);
  }

  consume(bytes: number): void {
    if (!this.isClosed) this.#owner.consume(this, bytes);
  }

  receiveInto(target: Uint8Array): void {
    this.target = target.length === 0 ? undefined : target;
    this.filled = 0;
  }
}
