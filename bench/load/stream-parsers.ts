// The two forms of a stream of responses, cut into its messages: a gRPC stream on one HTTP/2 connection, and server-sent
// events in a chunked HTTP answer.

import { Http2FrameReader } from './http2-frame-reader.js';
import type { Frame } from './http2-frame-reader.js';
import { FLAG, FRAME, frame } from './http2-frames.js';

export interface StreamEvents {
  /** The server can be asked. */
  ready(): void;
  write(bytes: Buffer): void;
  /** `message` is valid only during the call. */
  message(message: Buffer): void;
  ended(): void;
}

export interface StreamParser {
  read(bytes: Buffer, length: number): void;
}

const PREFIX = 5;

export class GrpcStreamParser implements StreamParser {
  readonly #events: StreamEvents;
  readonly #reader = new Http2FrameReader(this);
  readonly #message = Buffer.alloc(4096);
  #received = 0;

  constructor(events: StreamEvents) {
    this.#events = events;
  }

  read(bytes: Buffer, length: number): void {
    this.#reader.read(bytes, 0, length);
  }

  frame(head: Frame, bytes: Buffer, { start, end }: { readonly start: number; readonly end: number }): void {
    switch (head.type) {
      case FRAME.DATA:
        if ((head.flags & FLAG.PADDED) !== 0) throw new Error('a padded DATA frame, which this client does not read');
        this.#data(bytes, start, end);
        break;
      case FRAME.HEADERS:
        if ((head.flags & FLAG.END_STREAM) !== 0) this.#events.ended();
        break;
      case FRAME.SETTINGS:
        if ((head.flags & FLAG.ACK) !== 0) break;
        this.#events.write(frame(FRAME.SETTINGS, FLAG.ACK, 0, new Uint8Array(0)));
        this.#events.ready();
        break;
      case FRAME.PING:
        if ((head.flags & FLAG.ACK) === 0) {
          this.#events.write(frame(FRAME.PING, FLAG.ACK, 0, Buffer.from(bytes.subarray(start, end))));
        }
        break;
      case FRAME.RST_STREAM:
        throw new Error(`the stream was reset with code ${bytes.readUInt32BE(start)}`);
      case FRAME.GOAWAY:
        throw new Error(`the server said GOAWAY with code ${bytes.readUInt32BE(start + 4)}`);
      default: // the window is as large as can be
        break;
    }
  }

  #data(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end;) {
      const wanted = this.#received < PREFIX ? PREFIX : PREFIX + this.#message.readUInt32BE(1);
      if (wanted > this.#message.length) throw new Error(`a message of ${wanted} bytes, too large for this client`);
      const taken = Math.min(wanted - this.#received, end - at);
      bytes.copy(this.#message, this.#received, at, at + taken);
      this.#received += taken;
      at += taken;
      if (this.#received < PREFIX || this.#received < PREFIX + this.#message.readUInt32BE(1)) continue;
      this.#events.message(this.#message.subarray(PREFIX, this.#received));
      this.#received = 0;
    }
  }
}

const LF = 10;
const CR = 13;

/** Reads an answer `Transfer-Encoding: chunked`; each event is one line and an empty one. */
export class SseParser implements StreamParser {
  readonly #events: StreamEvents;
  readonly #event = Buffer.alloc(4096);
  #received = 0;
  #line = '';
  #state: 'head' | 'size' | 'data' | 'afterData' | 'trailer' = 'head';
  #left = 0;

  constructor(events: StreamEvents) {
    this.#events = events;
  }

  read(bytes: Buffer, length: number): void {
    for (let at = 0; at < length;) {
      if (this.#state === 'data') {
        const end = Math.min(length, at + this.#left);
        this.#left -= end - at;
        this.#text(bytes, at, end);
        at = end;
        if (this.#left === 0) this.#state = 'afterData';
        continue;
      }
      const byte = bytes[at++]!;
      if (byte === LF) this.#endLine();
      else if (byte !== CR) this.#line += String.fromCharCode(byte);
    }
  }

  #endLine(): void {
    const line = this.#line;
    this.#line = '';
    switch (this.#state) {
      case 'head':
        if (line.startsWith('HTTP/') && !line.includes(' 200 ')) throw new Error(`the server answered ${line}`);
        if (line === '') this.#state = 'size';
        break;
      case 'size':
        this.#left = Number.parseInt(line, 16);
        if (Number.isNaN(this.#left)) throw new Error(`expected the size of a chunk, got '${line}'`);
        this.#state = this.#left === 0 ? 'trailer' : 'data';
        break;
      case 'trailer':
        if (line === '') this.#events.ended();
        break;
      default:
        this.#state = 'size';
    }
  }

  #text(bytes: Buffer, start: number, end: number): void {
    for (let at = start; at < end; at++) {
      const byte = bytes[at]!;
      this.#event[this.#received++] = byte;
      if (byte !== LF || this.#received < 2 || this.#event[this.#received - 2] !== LF) continue;
      this.#events.message(this.#event.subarray(0, this.#received - 2));
      this.#received = 0;
    }
  }
}
