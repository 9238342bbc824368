// A client's side of HTTP/2 made of bytes, to send what no well-behaved client sends. Headers of answers are not decoded:
// whoever wants those takes a real client.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

export const FRAME = {
  DATA: 0,
  HEADERS: 1,
  PRIORITY: 2,
  RST_STREAM: 3,
  SETTINGS: 4,
  PUSH_PROMISE: 5,
  PING: 6,
  GOAWAY: 7,
  WINDOW_UPDATE: 8,
  CONTINUATION: 9,
} as const;

export const FLAG = { ACK: 1, END_STREAM: 1, END_HEADERS: 4, PADDED: 8, PRIORITY: 32 } as const;

export interface RawFrame {
  readonly type: number;
  readonly flags?: number;
  readonly stream?: number;
  readonly payload?: Buffer;
  /** Another length than the payload has. */
  readonly length?: number;
}

export const PREFACE = Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n');

export function encodeFrame({ type, flags = 0, stream = 0, payload = Buffer.alloc(0), length }: RawFrame): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(length ?? payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** A header block of plain literals. */
export function encodeHeaders(headers: readonly (readonly [string, string])[]): Buffer {
  const text = (value: string) => {
    const bytes = Buffer.from(value);
    const { length } = bytes;
    if (length < 127) return Buffer.concat([Buffer.from([length]), bytes]);
    const rest: number[] = [];
    let left = length - 127;
    for (; left >= 128; left = Math.floor(left / 128)) rest.push((left % 128) | 128);
    return Buffer.concat([Buffer.from([127, ...rest, left]), bytes]);
  };
  return Buffer.concat(headers.flatMap(([name, value]) => [Buffer.from([0]), text(name), text(value)]));
}

export function setting(id: number, value: number): Buffer {
  const bytes = Buffer.alloc(6);
  bytes.writeUInt16BE(id);
  bytes.writeUInt32BE(value, 2);
  return bytes;
}

export function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

export class RawHttp2 implements Disposable {
  readonly frames: Required<Omit<RawFrame, 'length'>>[] = [];
  readonly #socket: Socket;
  #rest = Buffer.alloc(0);
  #closed = false;
  #onChange: (() => void)[] = [];

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.setNoDelay(true);
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => this.#read(chunk));
    socket.on('close', () => {
      this.#closed = true;
      this.#notify();
    });
  }

  /** Connects, and exchanges settings unless told otherwise. */
  static async open(port: number, greeting: Buffer = Buffer.concat([PREFACE, encodeFrame({ type: FRAME.SETTINGS })])) {
    const socket = connect(port, '127.0.0.1');
    const client = new RawHttp2(socket);
    await once(socket, 'connect');
    client.sendBytes(greeting);
    return client;
  }

  send(...frames: readonly RawFrame[]): void {
    this.sendBytes(Buffer.concat(frames.map((frame) => encodeFrame(frame))));
  }

  sendBytes(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  /** The first frame that fits, once it has come; undefined when the connection ended before. */
  async frame(fits: (frame: Required<Omit<RawFrame, 'length'>>) => boolean) {
    for (;;) {
      const found = this.frames.find((frame) => fits(frame));
      if (found !== undefined || this.#closed) return found;
      await new Promise<void>((resolve) => this.#onChange.push(resolve));
    }
  }

  /** Resolves when this is so, or when the connection has ended. */
  async until(isSo: () => boolean): Promise<void> {
    while (!isSo() && !this.#closed) await new Promise<void>((resolve) => this.#onChange.push(resolve));
  }

  /** How many frames of a type have come. */
  countOf(type: number): number {
    return this.frames.filter((frame) => frame.type === type).length;
  }

  /** Resolves when the server has closed the connection. */
  async closed(): Promise<void> {
    while (!this.#closed) await new Promise<void>((resolve) => this.#onChange.push(resolve));
  }

  get isClosed(): boolean {
    return this.#closed;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }

  #read(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    while (this.#rest.length >= 9) {
      const end = 9 + this.#rest.readUIntBE(0, 3);
      if (this.#rest.length < end) break;
      this.frames.push({
        type: this.#rest[3]!,
        flags: this.#rest[4]!,
        stream: this.#rest.readUInt32BE(5) & 0x7fffffff,
        payload: this.#rest.subarray(9, end),
      });
      this.#rest = this.#rest.subarray(end);
    }
    this.#notify();
  }

  #notify(): void {
    for (const notify of this.#onChange.splice(0)) notify();
  }
}
