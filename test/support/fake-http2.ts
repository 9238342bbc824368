// HTTP/2 without a socket, a frame or a byte of it: what frontends are given in tests of what they do with streams.

import type { ConnectionControl, ConnectionListener } from '../../src/http2/connection-listener.js';
import { HeaderList } from '../../src/http2/header-list.js';
import { Http2Error, type ErrorCodeName } from '../../src/http2/http2-error.js';
import type { Http2Port, Http2PortOptions, OpenHttp2Port } from '../../src/http2/http2-port.js';
import type { Http2Stream, StreamListener } from '../../src/http2/http2-stream.js';
import type { OutgoingHeaders } from '../../src/http2/outgoing-headers.js';

/** Fields as a record; of several with one name the last. */
export type Fields = Readonly<Record<string, string>>;

/** A stream that remembers what was sent on it. */
export class FakeStream implements Http2Stream {
  readonly id = 1;
  isClosed = false;
  /** As the test sets it. */
  queuedBytes = 0;
  consumesAtOnce = true;
  /** What was sent: heads and trailers as records, data in pieces. */
  readonly heads: Fields[] = [];
  readonly data: Buffer[] = [];
  hasEnded = false;
  resetCode: ErrorCodeName | undefined;
  /** Given back to the client's window. */
  consumed = 0;
  /** What {@link sendData} answers. */
  readerReady = true;
  listener: StreamListener | undefined;
  #unconsumed = 0;
  #target: Uint8Array | undefined;
  #filled = 0;

  sendHeaders({ template, extra = [] }: OutgoingHeaders, endsStream = false): void {
    if (this.isClosed || this.hasEnded) return;
    const fields = [...template.fields, ...extra];
    this.heads.push(Object.fromEntries(fields.flatMap((name, i) => (i % 2 === 0 ? [[name, fields[i + 1]!]] : []))));
    this.hasEnded = endsStream;
  }

  sendData(chunk: Uint8Array, endsStream = false): boolean {
    if (this.isClosed || this.hasEnded) return true;
    this.data.push(Buffer.from(chunk));
    this.hasEnded = endsStream;
    return this.readerReady;
  }

  sendMessage(head: OutgoingHeaders, data: readonly Uint8Array[], trailers: OutgoingHeaders): boolean {
    this.sendHeaders(head);
    for (const chunk of data) this.sendData(chunk);
    this.sendHeaders(trailers, true);
    return true;
  }

  reset(code: ErrorCodeName): void {
    if (this.isClosed) return;
    this.resetCode = code;
    this.isClosed = true;
    this.listener = undefined;
  }

  hold(): boolean {
    return true;
  }

  consume(bytes: number): void {
    const consumed = Math.min(bytes, this.#unconsumed);
    this.#unconsumed -= consumed;
    this.consumed += consumed;
  }

  receiveInto(target: Uint8Array): void {
    this.#target = target;
    this.#filled = 0;
  }

  /** The client sends so much data, in memory that is overwritten after each piece. */
  receive(bytes: Uint8Array, pieceBytes = bytes.length): void {
    const memory = Buffer.alloc(pieceBytes);
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      const piece = bytes.subarray(at, at + pieceBytes);
      memory.set(piece);
      this.#deliver(memory.subarray(0, piece.length));
      memory.fill(0xdd);
    }
  }

  /** The client sends no more. */
  halfClose(): void {
    this.listener?.onEnd();
  }

  /** The client resets the stream, or its connection is lost. */
  cancel(): void {
    const { listener } = this;
    this.isClosed = true;
    this.listener = undefined;
    listener?.onClose?.(new Http2Error('CANCEL', 'the peer reset the stream: CANCEL'));
  }

  #deliver(piece: Buffer): void {
    let at = 0;
    while (at < piece.length) {
      const target = this.#target;
      if (target === undefined) {
        this.#unconsumed += piece.length - at;
        this.listener?.onData(piece.subarray(at));
        if (this.consumesAtOnce) this.consume(Infinity);
        return;
      }
      const filled = Math.min(target.length - this.#filled, piece.length - at);
      target.set(piece.subarray(at, at + filled), this.#filled);
      this.#filled += filled;
      this.consumed += filled;
      at += filled;
      if (this.#filled < target.length) return;
      this.#target = undefined;
      this.listener?.onFilled?.();
    }
  }
}

/** A connection that carries what the test says. */
export class FakeConnection implements ConnectionControl {
  openStreams = 0;
  receivedBytes = 0;
  receivedMessageFrames = 0;
  sentMessageFrames = 0;
  isCongested = false;
  readsLate = false;
  pings = 0;
  closedWith: readonly [code: ErrorCodeName, message: string] | undefined;
  /** The client answers the last ping. */
  answer: () => void = () => undefined;

  ping(onAnswer: () => void): void {
    this.pings++;
    this.answer = () => {
      this.receivedBytes += 17;
      onAnswer();
    };
  }

  close(code: ErrorCodeName, message: string): void {
    this.closedWith = [code, message];
  }
}

/** A port at which the test connects. */
export class FakePort implements Http2Port {
  readonly options: Http2PortOptions;
  readonly #connections: FakeConnection[] = [];
  #listeners: ConnectionListener[] = [];

  constructor(options: Http2PortOptions) {
    this.options = options;
  }

  async listenToo(): Promise<void> {}

  renewTls(): void {}

  listen(_address: string, port: number): Promise<number> {
    return Promise.resolve(port);
  }

  get connections(): number {
    return this.#connections.length;
  }

  retire(): void {}

  drain(): void {}

  get underWay(): number {
    return this.#connections.filter(({ openStreams }) => openStreams > 0).length;
  }

  get awaited(): number {
    return 0;
  }

  settled(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    for (const listener of this.#listeners.splice(0)) listener.onClose?.(undefined);
    return Promise.resolve();
  }

  /** A client connects; the function that comes back opens a stream. */
  connect(): (headers: Fields) => FakeStream {
    const connection = new FakeConnection();
    const listener = this.options.listen(connection);
    this.#connections.push(connection);
    this.#listeners.push(listener);
    return (headers) => {
      connection.openStreams++;
      const stream = new FakeStream();
      stream.listener = listener.onStream?.(stream, new HeaderList(Object.entries(headers).flat()), false);
      return stream;
    };
  }
}

/** Gives a frontend its port, and the test the same one. */
export function fakePorts(): { readonly open: OpenHttp2Port; readonly port: FakePort } {
  let port: FakePort | undefined;
  return {
    open: (options) => (port = new FakePort(options)),
    get port() {
      if (port === undefined) throw new Error('no port was opened');
      return port;
    },
  };
}
