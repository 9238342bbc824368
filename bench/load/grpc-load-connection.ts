// One HTTP/2 connection that keeps a fixed number of unary gRPC calls in flight: each answer is followed by the next
// call, and what one read completes goes out in one write. Frames are prebuilt and only their stream ids filled in.
// Response headers are not decoded: a call counts as answered when its stream carried one message of the expected length
// and then ended with a header block; a failed gRPC call ends without a message, and so is seen.

import { connect } from 'node:net';
import type { Socket } from 'node:net';

import { FRAME_HEADER_LENGTH, Http2FrameReader } from './http2-frame-reader.js';
import type { Frame } from './http2-frame-reader.js';
import { isSampled, turnsOf } from './exchange-turns.js';
import { DEFAULT_WINDOW, FLAG, FRAME, LARGEST_WINDOW, SETTING } from './http2-frames.js';
import { frame, opening, requestTemplate, windowUpdate } from './http2-frames.js';
import type { RequestTemplate } from './http2-frames.js';
import type { LoadConnection, LoadWindow } from './load-window.js';

export interface GrpcTarget {
  readonly protocol: 'grpc';
  readonly port: number;
  readonly connections: number;
  /** Calls in flight on each connection; with `arrivalsPerSecond` at most so many. */
  readonly streams: number;
  /**
   * Of each connection: calls begin at random moments (a Poisson process), whether or not others were answered, and
   * their latency counts from that moment. Absent: each answer is followed by the next call.
   */
  readonly arrivalsPerSecond?: number;
  readonly path: string;
  /** What each connection sends in turns; all messages are equally long. */
  readonly exchanges: readonly GrpcLoadExchange[];
  /** Each connection has so many of the exchanges for itself, in order. Absent: all have all of them. */
  readonly ownExchanges?: number;
}

export interface GrpcLoadExchange {
  readonly message: Uint8Array;
  /** The answer: every answer must have its length, and some its bytes (see `isSampled`). */
  readonly expected: Uint8Array;
}

const MESSAGE_PREFIX = 5;
const HPACK_TABLE_NEEDED = 512;

export class GrpcLoadConnection implements LoadConnection {
  readonly #target: GrpcTarget;
  readonly #window: LoadWindow;
  readonly #socket: Socket;
  readonly #whenOpen: (error?: Error) => void;
  readonly #reader = new Http2FrameReader(this);
  readonly #first: RequestTemplate;
  readonly #later: readonly RequestTemplate[];
  /** Bytes of the longest request, and of its message alone. */
  readonly #longest: number;
  readonly #dataLength: number;
  // Streams in flight, in a ring addressed by stream id; an id whose place is still taken is skipped.
  readonly #mask: number;
  readonly #ids: Int32Array;
  readonly #sentAt: Float64Array;
  readonly #received: Int32Array;
  /** What this connection sends in turns. */
  readonly #own: readonly GrpcLoadExchange[];
  /** Which exchange each stream has. */
  readonly #exchanges: Int32Array;
  #out: Buffer;
  #nextId = 1;
  /** Moment of the next arrival; NaN when calls follow answers. */
  #arrival = NaN;
  #inFlight = 0;
  #owed = 0;
  #sendWindow = DEFAULT_WINDOW;
  #unacknowledged = 0;
  #endsWithContinuation = false;
  #turn: number;
  #sent = 0;
  /** The stream whose answer is compared byte by byte; 0 for none. */
  #sampled = 0;
  #pieces: Buffer[] = [];
  #open = true;

  private constructor(target: GrpcTarget, window: LoadWindow, whenOpen: (error?: Error) => void) {
    this.#target = target;
    this.#window = window;
    this.#whenOpen = whenOpen;
    const { path } = target;
    const { exchanges, first } = turnsOf(target.exchanges, target.ownExchanges);
    this.#own = exchanges;
    const templateOf = ({ message }: GrpcLoadExchange, first: boolean): RequestTemplate =>
      requestTemplate({ path, authority: `127.0.0.1:${target.port}`, message }, first);
    this.#turn = first;
    this.#first = templateOf(exchanges[this.#turn]!, true);
    this.#later = exchanges.map((exchange) => templateOf(exchange, false));
    this.#longest = Math.max(...this.#later.map(({ bytes }) => bytes.length));
    this.#dataLength = MESSAGE_PREFIX + Math.max(...exchanges.map(({ message }) => message.length));
    const places = 2 ** Math.ceil(Math.log2(target.streams * 4));
    this.#mask = places - 1;
    this.#ids = new Int32Array(places);
    this.#sentAt = new Float64Array(places);
    this.#received = new Int32Array(places);
    this.#exchanges = new Int32Array(places);
    this.#out = this.#newOutput();
    const buffer = Buffer.allocUnsafeSlow(1 << 16);
    const callback = (length: number): boolean => {
      this.#read(buffer, length);
      return true;
    };
    this.#socket = connect({ host: '127.0.0.1', port: target.port, noDelay: true, onread: { buffer, callback } });
    this.#socket.once('connect', () => this.#socket.write(opening()));
    this.#socket.on('error', (error) => this.#fail(error.message));
    this.#socket.on('close', () => this.#fail('the server closed the connection'));
  }

  /** Resolves when the server's SETTINGS have arrived. */
  static open(target: GrpcTarget, window: LoadWindow): Promise<GrpcLoadConnection> {
    return new Promise((resolve, reject) => {
      const connection = new GrpcLoadConnection(target, window, (error) => {
        if (error) reject(error);
        else resolve(connection);
      });
    });
  }

  get unanswered(): number {
    return this.#inFlight;
  }

  start(): void {
    if (this.#target.arrivalsPerSecond !== undefined) {
      this.#arrival = performance.now();
      this.#arrive();
      return;
    }
    this.#owed = this.#target.streams;
    this.#sendOwed(performance.now());
  }

  // A timer's grain of a millisecond is small beside the batches that these calls become.
  #arrive(): void {
    if (!this.#window.issuing || !this.#open) return;
    this.#sendArrived(performance.now());
    setTimeout(() => this.#arrive(), 1);
  }

  #sendArrived(now: number): void {
    if (this.#socket.writableLength > 0) this.#out = this.#newOutput();
    let length = 0;
    while (this.#arrival <= now && this.#inFlight < this.#target.streams && this.#sendWindow >= this.#dataLength) {
      length = this.#appendCall(length, this.#arrival);
      this.#arrival -= (Math.log(1 - Math.random()) * 1000) / this.#target.arrivalsPerSecond!;
    }
    if (length > 0) this.#socket.write(this.#out.subarray(0, length));
  }

  close(): void {
    this.#open = false;
    this.#socket.destroy();
  }

  // Called by the frame reader.
  frame(head: Frame, bytes: Buffer, range: { readonly start: number; readonly end: number }): void {
    const { start, end } = range;
    switch (head.type) {
      case FRAME.DATA:
        this.#data(head, bytes, start, end);
        break;
      case FRAME.HEADERS:
        if ((head.flags & FLAG.END_STREAM) === 0) break;
        if ((head.flags & FLAG.END_HEADERS) === 0) this.#endsWithContinuation = true;
        else this.#ended(head.streamId);
        break;
      case FRAME.CONTINUATION:
        if (!this.#endsWithContinuation || (head.flags & FLAG.END_HEADERS) === 0) break;
        this.#endsWithContinuation = false;
        this.#ended(head.streamId);
        break;
      case FRAME.SETTINGS:
        if ((head.flags & FLAG.ACK) === 0) this.#settings(bytes, start, end);
        break;
      case FRAME.PING:
        if ((head.flags & FLAG.ACK) === 0) {
          this.#socket.write(frame(FRAME.PING, FLAG.ACK, 0, Buffer.from(bytes.subarray(start, end))));
        }
        break;
      case FRAME.WINDOW_UPDATE:
        if (head.streamId === 0) this.#sendWindow += bytes.readUInt32BE(start) & LARGEST_WINDOW;
        break;
      case FRAME.RST_STREAM:
        throw new Error(`stream ${head.streamId} was reset with code ${bytes.readUInt32BE(start)}`);
      case FRAME.GOAWAY:
        throw new Error(`the server said GOAWAY with code ${bytes.readUInt32BE(start + 4)}`);
      default: // PRIORITY and unknown types are to be ignored
        break;
    }
  }

  #read(buffer: Buffer, length: number): void {
    if (!this.#open) return;
    try {
      this.#reader.read(buffer, 0, length);
    } catch (error) {
      this.#fail((error as Error).message);
      return;
    }
    if (this.#unacknowledged > LARGEST_WINDOW / 4) {
      this.#socket.write(windowUpdate(0, this.#unacknowledged));
      this.#unacknowledged = 0;
    }
    if (this.#owed > 0 && this.#window.issuing) this.#sendOwed(performance.now());
  }

  #settings(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at + 6 <= end; at += 6) {
      const id = bytes.readUInt16BE(at);
      const value = bytes.readUInt32BE(at + 2);
      const { streams } = this.#target;
      if (id === SETTING.HEADER_TABLE_SIZE && value < HPACK_TABLE_NEEDED) {
        throw new Error(`the server's header table is ${value} bytes, this generator needs ${HPACK_TABLE_NEEDED}`);
      }
      if (id === SETTING.MAX_CONCURRENT_STREAMS && value < streams) {
        throw new Error(`the server allows ${value} concurrent streams, ${streams} were asked for`);
      }
      if (id === SETTING.INITIAL_WINDOW_SIZE && value < this.#dataLength) {
        throw new Error(`the server's stream window is ${value} bytes, a request needs ${this.#dataLength}`);
      }
    }
    this.#socket.write(frame(FRAME.SETTINGS, FLAG.ACK, 0, new Uint8Array(0)));
    this.#whenOpen();
  }

  #data(head: Frame, bytes: Buffer, start: number, end: number): void {
    if ((head.flags & FLAG.PADDED) !== 0) throw new Error('a padded DATA frame, which this generator does not count');
    const place = this.#placeOf(head.streamId);
    this.#received[place]! += end - start;
    this.#unacknowledged += end - start;
    if (head.streamId === this.#sampled) this.#pieces.push(Buffer.from(bytes.subarray(start, end)));
    if ((head.flags & FLAG.END_STREAM) !== 0) throw new Error('a stream ended without trailers');
  }

  #placeOf(streamId: number): number {
    const place = (streamId >> 1) & this.#mask;
    if (this.#ids[place] !== streamId) throw new Error(`a frame on stream ${streamId}, which is not in flight`);
    return place;
  }

  #ended(streamId: number): void {
    const place = this.#placeOf(streamId);
    const received = this.#received[place]!;
    const { expected } = this.#own[this.#exchanges[place]!]!;
    const wanted = MESSAGE_PREFIX + expected.length;
    if (received !== wanted) throw new Error(`an answer of ${received} bytes, expected ${wanted}: did the call fail?`);
    if (streamId === this.#sampled) this.#checkSample(expected);
    this.#ids[place] = 0;
    this.#inFlight--;
    if (Number.isNaN(this.#arrival)) this.#owed++;
    this.#window.answered(this.#sentAt[place]!, performance.now());
  }

  #checkSample(expected: Uint8Array): void {
    const message = Buffer.concat(this.#pieces).subarray(MESSAGE_PREFIX);
    this.#sampled = 0;
    this.#pieces = [];
    if (!message.equals(expected)) throw new Error('a message other than the one expected');
  }

  #newOutput(): Buffer {
    return Buffer.allocUnsafeSlow(this.#first.bytes.length + this.#target.streams * this.#longest);
  }

  // Sends as many of the owed calls as the connection's window allows; WINDOW_UPDATE brings the rest.
  #sendOwed(now: number): void {
    // Bytes that the kernel has not taken yet still belong to the socket.
    if (this.#socket.writableLength > 0) this.#out = this.#newOutput();
    let length = 0;
    while (this.#owed > 0 && this.#sendWindow >= this.#dataLength) {
      length = this.#appendCall(length, now);
      this.#owed--;
    }
    if (length > 0) this.#socket.write(this.#out.subarray(0, length));
  }

  #appendCall(at: number, now: number): number {
    const template = this.#nextId === 1 ? this.#first : this.#later[this.#turn]!;
    let place = (this.#nextId >> 1) & this.#mask;
    while (this.#ids[place] !== 0) {
      this.#nextId += 2;
      place = (this.#nextId >> 1) & this.#mask;
    }
    const id = this.#nextId;
    this.#nextId += 2;
    this.#ids[place] = id;
    this.#sentAt[place] = now;
    this.#received[place] = 0;
    this.#exchanges[place] = this.#turn;
    this.#turn = (this.#turn + 1) % this.#later.length;
    if (isSampled(this.#sent++, this.#later) && this.#sampled === 0) this.#sampled = id;
    this.#inFlight++;
    this.#sendWindow -= template.bytes.length - template.dataAt - FRAME_HEADER_LENGTH;
    this.#out.set(template.bytes, at);
    this.#out.writeUInt32BE(id, at + 5);
    this.#out.writeUInt32BE(id, at + template.dataAt + 5);
    return at + template.bytes.length;
  }

  #fail(reason: string): void {
    if (!this.#open) return;
    this.#window.failed(reason);
    this.#inFlight = 0;
    this.close();
    this.#whenOpen(new Error(reason));
  }
}
