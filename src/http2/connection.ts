// One HTTP/2 connection without its socket (RFC 9113), for either role: takes the bytes that were received and has bytes to
// send. Nothing here waits, and time is an argument of `tick`. Headers, data and control frames are the receivers' and the sender's; here is
// which frame goes where, and how streams and the connection begin and end.

import { findFrameProblem, nameOfFrame } from './check-frame.js';
import type { ConnectionControl, ConnectionListener } from './connection-listener.js';
import { completeOptions, type CompleteConnectionOptions, type ConnectionOptions } from './connection-options.js';
import { type ControlledConnection, ControlReceiver } from './control-receiver.js';
import { DataReceiver } from './data-receiver.js';
import { FloodGuard } from './flood-guard.js';
import { FLAG, FRAME, type FrameHead } from './frame.js';
import { FrameReader, PAYLOAD, type FrameSink, type Payload } from './frame-reader.js';
import { Goodbye } from './goodbye.js';
import { Handshake } from './handshake.js';
import { HeaderReceiver } from './header-receiver.js';
import { Http2Error, type ErrorCodeName } from './http2-error.js';
import type { Http2Stream, StreamListener } from './http2-stream.js';
import type { OutgoingHeaders } from './outgoing-headers.js';
import type { ByteShare } from '../sockets/byte-budget.js';
import type { BlockPool, Output } from '../sockets/output.js';
import { PingBook } from './ping-book.js';
import { Sender } from './sender.js';
import { Stopwatch } from '../sockets/stopwatch.js';
import { StreamLifecycle, type StreamsConnection } from './stream-lifecycle.js';
import { StreamTable } from './stream-table.js';
import type { Role } from './connection-options.js';

/** Frames that are wanted whole, header blocks apart, are small or a nuisance. */
const LONGEST_CONTROL_FRAME = 16_384;
/** Limit on answers of the protocol itself that the peer does not read. */
const MOST_UNREAD_CONTROL_BYTES = 65_536;
/** A client may open so many streams before it knows how many it may. */
const STREAMS_BEFORE_SETTINGS = 100;
/** A message of which hardly anything has come for so long is given up. */
const STILL_MESSAGE_MILLISECONDS = 60_000;
/** A client that has just connected to a server that leaves may take so long to open its first stream. */
const UNUSED_MILLISECONDS = 1000;

const NO_BACKLOG = { writableLength: 0 };

export interface ConnectionEnvironment {
  readonly role: Role;
  /** Makes the listener for the connection's events. */
  readonly listen: (connection: Http2Connection) => ConnectionListener;
  readonly options?: ConnectionOptions | undefined;
  /** Shared by the connections of a thread. */
  readonly pool: BlockPool;
  /** What the connection may hold in memory. Default: anything. */
  readonly share?: ByteShare | undefined;
  /** The socket: it tells how much was written that it has not passed on. Default: nothing. */
  readonly backlog?: { readonly writableLength: number };
  /** There is output, or the connection is finished. Called any number of times, also during `receive`. */
  readonly onOutput: () => void;
}

export class Http2Connection implements ConnectionControl, FrameSink, ControlledConnection, StreamsConnection {
  readonly role: Role;
  readonly streams: StreamTable;
  readonly sender: Sender;
  readonly data: DataReceiver;
  readonly lifecycle: StreamLifecycle;
  /** All that is to be written. */
  readonly output: Output;
  readonly options: CompleteConnectionOptions;
  readonly listener: ConnectionListener;
  /** Nothing is received any more, and nothing is added to the output. */
  isFinished = false;
  /** Once it is finished: nobody did anything wrong. */
  isInOrder = false;
  readsLate = false;
  receivedBytes = 0;
  receivedMessageFrames = 0;
  /** Milliseconds for which there has been nothing to do, as far as ticks tell: no stream, or streams that wait for the peer. */
  idleFor = 0;
  readonly share: ByteShare | undefined;
  readonly changed: () => void;
  readonly guard: FloodGuard;
  readonly handshake: Handshake;
  readonly goodbye: Goodbye;
  readonly framePiece: FrameSink['framePiece'];
  readonly #backlog: { readonly writableLength: number };
  readonly #reader: FrameReader;
  readonly #headers: HeaderReceiver;
  readonly #pings: PingBook;
  readonly #control: ControlReceiver;
  readonly #idleTime = new Stopwatch();
  readonly #restTime = new Stopwatch();
  #answeredFrames = 0;
  /** A server: the end is to be announced. */
  isLeaving = false;
  /** And the connection is to end then. */
  #isDraining = false;

  constructor({ role, listen, options, pool, share, backlog = NO_BACKLOG, onOutput }: ConnectionEnvironment) {
    this.role = role;
    this.share = share;
    this.#backlog = backlog;
    this.options = completeOptions(options);
    this.changed = onOutput;
    const { headerTableSize, maxHeaderListSize, connectionWindow } = this.options;
    this.streams = new StreamTable(role);
    this.lifecycle = new StreamLifecycle(this);
    this.sender = new Sender(this.lifecycle, pool);
    this.output = this.sender.output;
    this.#reader = new FrameReader(this);
    this.#headers = new HeaderReceiver(this, { tableSize: headerTableSize, maxListSize: maxHeaderListSize });
    this.data = new DataReceiver(this, this.#reader, connectionWindow);
    this.framePiece = this.data.piece.bind(this.data);
    this.guard = new FloodGuard(this.options);
    this.handshake = new Handshake(role, this.sender, this.options);
    this.#pings = new PingBook(this.sender);
    this.goodbye = new Goodbye(this.sender);
    this.#control = new ControlReceiver(this, {
      headers: this.#headers,
      handshake: this.handshake,
      pings: this.#pings,
      goodbye: this.goodbye,
    });
    if (role === 'client') this.handshake.introduce();
    this.listener = listen(this);
  }

  // For the socket.

  /** `bytes[start…end)` were received. Listeners may read them only during the call. */
  receive(bytes: Buffer, start: number, end: number): void {
    this.receivedBytes += end - start;
    let at = start;
    if (this.handshake.needsPreface && !this.isFinished) {
      at = this.handshake.readPreface(bytes, start, end);
      if (at < 0) {
        this.handshake.introduce();
        this.fail(new Http2Error('PROTOCOL_ERROR', 'the connection does not begin with the preface of HTTP/2'));
        return;
      }
    }
    try {
      if (at < end) this.#reader.read(bytes, at, end);
    } catch (error) {
      // Streams have caught what their listeners throw; this is the connection's, or our own fault.
      this.listener.onListenerError?.(error, 0);
      this.fail(new Http2Error('INTERNAL_ERROR', 'internal error'));
    }
    if (this.sender.unreadControlBytes > MOST_UNREAD_CONTROL_BYTES) {
      this.fail(new Http2Error('ENHANCE_YOUR_CALM', 'the peer does not read the answers to its frames'));
    }
  }

  /** The socket is closed, or the peer's side of it. */
  lost(cause?: Error): void {
    if (this.isFinished) return;
    const isExpected = cause === undefined && this.streams.size === 0;
    const message = cause === undefined ? 'the peer closed the connection' : `the connection is lost: ${cause.message}`;
    this.#finish(new Http2Error('CONNECTION_LOST', message, { cause }), isExpected);
  }

  /** To be called now and then, with milliseconds of any clock. */
  tick(now: number): void {
    if (this.isFinished) return;
    this.guard.refill(now);
    const idle = this.#idleTime.look(now, this.streams.size === 0);
    this.idleFor = this.#restTime.look(now, this.#rests());
    if (this.isLeaving && idle > UNUSED_MILLISECONDS) this.#endUnused();
    const delay = this.handshake.findDelay(now);
    if (delay !== undefined) {
      this.fail(delay);
      return;
    }
    if (this.share !== undefined && this.share.bytes > 0) this.#lookForUploads(now);
    const { idleTimeout, drainTimeout } = this.options;
    if (this.goodbye.isOverdue(now, drainTimeout)) this.#decideLastStream();
    else if (idleTimeout > 0 && idle >= idleTimeout) this.drain();
  }

  #rests(): boolean {
    const { messageFrames } = this.sender;
    const hasAnswered = messageFrames !== this.#answeredFrames;
    this.#answeredFrames = messageFrames;
    if (this.streams.size === 0) return true;
    return this.share !== undefined && !hasAnswered && this.streams.all().every(({ rests }) => rests);
  }

  #lookForUploads(now: number): void {
    let isStill = false;
    for (const stream of this.streams.all()) {
      stream.lookForProgress(now);
      isStill ||= stream.stillFor > STILL_MESSAGE_MILLISECONDS;
    }
    if (isStill) this.lifecycle.giveUpUploads(STILL_MESSAGE_MILLISECONDS);
  }

  // For the user.

  /** Of all streams: data that neither the peer nor the socket has taken yet. */
  get queuedBytes(): number {
    return this.sender.queuedBytes;
  }

  /** The same with what the socket has and has not passed on. */
  get unreadBytes(): number {
    return this.sender.queuedBytes + this.output.bytes + this.#backlog.writableLength;
  }

  get openStreams(): number {
    return this.streams.size;
  }

  get sentMessageFrames(): number {
    return this.sender.messageFrames;
  }

  get isCongested(): boolean {
    return this.sender.isCongested;
  }

  /** A server that drains: streams may still come from a client that has not heard of it, or has just connected. They are served. */
  get mayStillAsk(): boolean {
    if (this.isFinished) return false;
    return this.goodbye.isBegun ? this.goodbye.isUndecided : this.#isDraining;
  }

  /** A client: whether {@link openStream} may be called. */
  get canOpenStream(): boolean {
    return this.takesStreams && this.streams.size < this.mostStreams;
  }

  /** A client: whether streams can be opened, if not now then when others have ended. */
  get takesStreams(): boolean {
    const isEnding = this.isFinished || this.goodbye.isBegun || this.goodbye.isSaidByPeer;
    return this.role === 'client' && !isEnding && this.streams.hasLocalIds;
  }

  /** A client sends a request's head, and with `endsStream` all of it. */
  openStream(headers: OutgoingHeaders, listener: StreamListener, endsStream = false): Http2Stream {
    if (!this.canOpenStream) throw new Http2Error('REFUSED_STREAM', 'the connection takes no more streams');
    const stream = this.lifecycle.open(this.streams.takeLocalId());
    stream.listener = listener;
    stream.sendHeaders(headers, endsStream);
    return stream;
  }

  ping(onAnswer: () => void): void {
    if (this.isFinished) return;
    this.handshake.introduce();
    this.#pings.send(onAnswer);
    this.changed();
  }

  /**
   * A server: tells the client to open its next streams elsewhere. Streams that it opens here are served until {@link drain}. A
   * client that has just connected hears of it with its first stream: before, it would only connect again.
   */
  announceEnd(): void {
    this.isLeaving = true;
    this.leave();
  }

  /**
   * Ends the connection when its streams have ended. A client opens no more of them. A server serves all streams that its
   * client opens before it must have heard of the end. A client that has just connected hears of it with its first stream.
   */
  drain(): void {
    if (this.isFinished || this.goodbye.isBegun) return;
    if (this.role === 'client') {
      this.#decideLastStream();
      return;
    }
    const isNew = !this.handshake.isReady || (this.isLeaving && !this.goodbye.isAnnounced);
    this.isLeaving = this.#isDraining = true;
    if (!isNew) this.leave();
  }

  leave(): void {
    if (this.isFinished || !this.handshake.isReady) return;
    if (this.#isDraining) this.goodbye.begin(this.#pings, () => this.#decideLastStream());
    else this.goodbye.announce();
    this.changed();
  }

  /** The client has connected and opens no stream. */
  #endUnused(): void {
    if (this.handshake.isReady) this.leave();
    else if (this.#isDraining) this.#decideLastStream();
  }

  close(code: ErrorCodeName, message: string): void {
    this.fail(new Http2Error(code, message));
    this.changed();
  }

  // For the parts of the connection: frames.

  frameBegins(head: FrameHead): Payload {
    // Nearly all are DATA or HEADERS where they may come.
    const isUsual =
      head.type <= FRAME.HEADERS &&
      head.streamId !== 0 &&
      head.length <= this.options.maxFrameSize &&
      this.#headers.block.streamId === 0 &&
      this.handshake.isReady;
    const problem = isUsual
      ? undefined
      : (findFrameProblem(head, this.options.maxFrameSize) ?? this.#findMisplacement(head));
    if (problem !== undefined) {
      this.fail(problem);
      return PAYLOAD.SKIPPED;
    }
    switch (head.type) {
      case FRAME.DATA:
        this.receivedMessageFrames++;
        return this.data.begins(head) ? PAYLOAD.PIECES : PAYLOAD.SKIPPED;
      case FRAME.HEADERS:
      case FRAME.CONTINUATION:
        return this.#headers.begins(head) ? PAYLOAD.WHOLE : PAYLOAD.SKIPPED;
      case FRAME.PRIORITY:
      case FRAME.RST_STREAM:
      case FRAME.SETTINGS:
      case FRAME.PING:
      case FRAME.GOAWAY:
      case FRAME.WINDOW_UPDATE:
        if (head.length <= LONGEST_CONTROL_FRAME) return PAYLOAD.WHOLE;
        this.fail(new Http2Error('ENHANCE_YOUR_CALM', `${nameOfFrame(head.type)} of ${head.length} bytes`));
        return PAYLOAD.SKIPPED;
      default:
        // Of extensions that were not agreed on (section 5.5).
        this.charge(1, 'frames of unknown types');
        return PAYLOAD.SKIPPED;
    }
  }

  framePayload(bytes: Buffer, start: number, end: number): void {
    const head = this.#reader;
    switch (head.type) {
      case FRAME.HEADERS:
        this.receivedMessageFrames++;
        this.#headers.headers(head, bytes, { start, end });
        break;
      case FRAME.CONTINUATION:
        this.#headers.continuation(head, bytes, { start, end });
        break;
      default:
        this.#control.payload(head, bytes, { start, end });
    }
  }

  /** Frames that may not come now, or never. */
  #findMisplacement({ type, flags, streamId }: FrameHead): Http2Error | undefined {
    const openBlock = this.#headers.block.streamId;
    const isContinuation = type === FRAME.CONTINUATION;
    if (openBlock !== 0 ? !isContinuation || streamId !== openBlock : isContinuation) {
      const expected = openBlock === 0 ? '' : `, expected CONTINUATION on stream ${openBlock}`;
      return new Http2Error('PROTOCOL_ERROR', `${nameOfFrame(type)} on stream ${streamId}${expected}`);
    }
    if (!this.handshake.isReady && (type !== FRAME.SETTINGS || (flags & FLAG.ACK) !== 0)) {
      return new Http2Error('PROTOCOL_ERROR', `${nameOfFrame(type)} first, expected SETTINGS`);
    }
    // Servers never get one, and clients of ours have forbidden it.
    if (type === FRAME.PUSH_PROMISE) return new Http2Error('PROTOCOL_ERROR', 'PUSH_PROMISE');
    return undefined;
  }

  // For the parts of the connection.

  fail(error: Http2Error): void {
    if (this.isFinished) return;
    this.handshake.introduce();
    this.goodbye.write(this.streams.lastPeerId, error.code as ErrorCodeName, error.message);
    this.#finish(error, false);
  }

  charge(cost: number, what: string): boolean {
    if (this.guard.spend(cost)) return true;
    this.fail(new Http2Error('ENHANCE_YOUR_CALM', `too many ${what}`));
    return false;
  }

  streamClosed(): void {
    if (this.isFinished) return;
    if (this.goodbye.isBegun || this.goodbye.isSaidByPeer) this.finishWhenEmpty();
    if (this.role === 'server') return;
    if (this.streams.size === this.mostStreams - 1 && this.canOpenStream) this.listener.onStreamAvailable?.();
  }

  sent(): void {
    if (this.sender.queuedBytes > this.options.maxQueuedBytes) {
      const message = `more than ${this.options.maxQueuedBytes} bytes wait for the peer to take them`;
      this.fail(new Http2Error('ENHANCE_YOUR_CALM', message));
    }
    this.changed();
  }

  get mostStreams(): number {
    const { isReady, peer } = this.handshake;
    return isReady ? peer.maxConcurrentStreams : STREAMS_BEFORE_SETTINGS;
  }

  #decideLastStream(): void {
    if (this.isFinished) return;
    this.handshake.introduce();
    this.goodbye.decide(this.streams.lastPeerId);
    this.finishWhenEmpty();
    this.changed();
  }

  finishWhenEmpty(): void {
    if (this.streams.size > 0 || this.isFinished) return;
    const isDecided = this.goodbye.isBegun && !this.goodbye.isUndecided;
    if (isDecided || this.goodbye.isSaidByPeer) this.#finish(undefined, true);
  }

  #finish(error: Http2Error | undefined, isInOrder: boolean): void {
    this.isFinished = true;
    this.isInOrder = isInOrder;
    this.#reader.stop();
    const lost = error ?? new Http2Error('CONNECTION_LOST', 'the connection has ended');
    for (const stream of this.streams.all()) this.lifecycle.close(stream, lost);
    this.listener.onClose?.(isInOrder ? undefined : error);
    this.changed();
  }
}
