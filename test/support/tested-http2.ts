// A connection of src/http2 without a socket, and its peer made of frames: a test sends frames, and reads what the connection
// sends and tells in words, such as `HEADERS 1 END_STREAM :status=200` and `close 1 CANCEL`.
import { Http2Connection } from '../../src/http2/connection.js';
import type { ConnectionListener } from '../../src/http2/connection-listener.js';
import type { ConnectionOptions } from '../../src/http2/connection-options.js';
import type { HeaderList } from '../../src/http2/header-list.js';
import { HpackDecoder } from '../../src/http2/hpack/hpack-decoder.js';
import { nameOfErrorCode } from '../../src/http2/http2-error.js';
import type { Http2Stream, StreamListener } from '../../src/http2/http2-stream.js';
import { BlockPool } from '../../src/sockets/output.js';
import type { Role } from '../../src/http2/connection-options.js';
import { encodeFrame, encodeHeaders, FLAG, FRAME, PREFACE, uint32, type RawFrame } from './raw-http2.js';
import { writtenBy } from './written-by.js';

export const REQUEST = [
  [':method', 'POST'],
  [':scheme', 'http'],
  [':path', '/p'],
] as const;

const FRAME_NAMES = Object.keys(FRAME);

export interface TestedOptions {
  readonly options?: ConnectionOptions;
  readonly listener?: ConnectionListener;
  /** Of every stream, beside recording its events. */
  readonly streamListener?: (stream: Http2Stream) => Partial<StreamListener>;
}

export class TestedHttp2 {
  readonly connection: Http2Connection;
  /** What the connection and its streams told, in order. */
  readonly events: string[] = [];
  /** By id: those that the peer opened. */
  readonly streams = new Map<number, Http2Stream>();
  readonly headers = new Map<number, HeaderList>();
  readonly #decoder = new HpackDecoder({ tableSize: 4096, maxListSize: 1 << 20 });
  readonly #streamListener: (stream: Http2Stream) => Partial<StreamListener>;
  #block = Buffer.alloc(0);
  #skip: number;

  constructor(role: Role, { options = {}, listener = {}, streamListener = () => ({}) }: TestedOptions = {}) {
    this.#streamListener = streamListener;
    this.#skip = role === 'client' ? PREFACE.length : 0;
    const tell = (event: string) => void this.events.push(event);
    this.connection = new Http2Connection({
      role,
      options,
      pool: new BlockPool(),
      onOutput: () => undefined,
      listen: () => ({
        onReady: () => tell('ready'),
        onStream: (stream, headers, endsStream) => {
          tell(`stream ${stream.id} ${headers.get(':path') ?? ''}${endsStream ? ' END_STREAM' : ''}`);
          this.streams.set(stream.id, stream);
          this.headers.set(stream.id, headers);
          return this.listenerOf(stream);
        },
        onStreamAvailable: () => tell('available'),
        onPing: () => tell('ping'),
        onGoaway: ({ code, debugData }) => tell(`goaway ${code} ${debugData}`.trimEnd()),
        onClose: (error) => tell(`closed ${error?.code ?? 'in order'}`),
        onListenerError: (error, id) => tell(`thrown ${id} ${(error as Error).message}`),
        ...listener,
      }),
    });
  }

  /** A connection whose settings, and those of its peer, are exchanged and acknowledged. */
  static open(role: Role, tested: TestedOptions = {}, settings: readonly Buffer[] = []): TestedHttp2 {
    const opened = new TestedHttp2(role, tested);
    if (role === 'server') opened.receive(PREFACE);
    opened.send({ type: FRAME.SETTINGS, payload: Buffer.concat(settings) }, { type: FRAME.SETTINGS, flags: FLAG.ACK });
    opened.sent();
    opened.told();
    return opened;
  }

  listenerOf(stream: { readonly id: number }): StreamListener {
    const { id } = stream;
    const tell = (event: string) => void this.events.push(event);
    let more: Partial<StreamListener> | undefined;
    const others = () => (more ??= this.#streamListener(stream as Http2Stream));
    return {
      onHeaders: (headers) => {
        tell(`headers ${id} ${textOf(headers.fields)}`);
        others().onHeaders?.(headers);
      },
      onData: (chunk) => {
        tell(`data ${id} ${chunk.length > 20 ? chunk.length : chunk.toString('latin1')}`);
        others().onData?.(chunk);
      },
      onFilled: () => {
        tell(`filled ${id}`);
        others().onFilled?.();
      },
      onEnd: () => {
        tell(`end ${id}`);
        others().onEnd?.();
      },
      onDrain: () => {
        tell(`drain ${id}`);
        others().onDrain?.();
      },
      onClose: (error) => {
        tell(`close ${id} ${error?.code ?? 'in order'}`);
        others().onClose?.(error);
      },
    };
  }

  receive(bytes: Buffer): void {
    this.connection.receive(bytes, 0, bytes.length);
  }

  send(...frames: readonly RawFrame[]): void {
    this.receive(Buffer.concat(frames.map((frame) => encodeFrame(frame))));
  }

  /** The events since this was asked before. */
  told(): string[] {
    return this.events.splice(0);
  }

  /** The bytes that the connection sends now, as a socket that takes everything would get them. */
  sentBytes(): Buffer {
    const { sender, output } = this.connection;
    const pieces: Buffer[] = [];
    for (;;) {
      sender.fill();
      if (output.bytes === 0) break;
      pieces.push(...writtenBy(output).map((chunk) => Buffer.from(chunk)));
    }
    return Buffer.concat(pieces);
  }

  /** The same in words, a frame each. */
  sent(): string[] {
    const bytes = this.sentBytes();
    const frames: string[] = [];
    const start = Math.min(this.#skip, bytes.length);
    this.#skip -= start;
    for (let at = start; at < bytes.length;) {
      const end = at + 9 + bytes.readUIntBE(at, 3);
      if (end > bytes.length) throw new Error('a frame that is cut off');
      frames.push(this.#describe(bytes.subarray(at, end)));
      at = end;
    }
    return frames;
  }

  #describe(frame: Buffer): string {
    const type = frame[3]!;
    const flags = frame[4]!;
    const stream = frame.readUInt32BE(5);
    const payload = frame.subarray(9);
    const name = `${FRAME_NAMES[type] ?? type}`;
    const end = (flags & FLAG.END_STREAM) !== 0 ? ' END_STREAM' : '';
    switch (type) {
      case FRAME.DATA:
        return `${name} ${stream} ${payload.length > 20 ? payload.length : payload.toString('latin1')}${end}`;
      case FRAME.HEADERS:
      case FRAME.CONTINUATION: {
        this.#block = Buffer.concat([this.#block, payload]);
        if ((flags & FLAG.END_HEADERS) === 0) return `${name} ${stream}${end} ...`;
        const { fields } = this.#decoder.decode(this.#block, 0, this.#block.length);
        this.#block = Buffer.alloc(0);
        return `${name} ${stream}${type === FRAME.HEADERS ? end : ''} ${textOf(fields)}`.trimEnd();
      }
      case FRAME.RST_STREAM:
        return `${name} ${stream} ${nameOfErrorCode(payload.readUInt32BE(0))}`;
      case FRAME.SETTINGS: {
        if ((flags & FLAG.ACK) !== 0) return `${name} ACK`;
        const entries = Array.from({ length: payload.length / 6 }, (_, i) => payload.subarray(i * 6, i * 6 + 6));
        return [name, ...entries.map((entry) => `${entry.readUInt16BE(0)}=${entry.readUInt32BE(2)}`)].join(' ');
      }
      case FRAME.PING:
        return `${name}${(flags & FLAG.ACK) !== 0 ? ' ACK' : ''} ${payload.toString('hex')}`;
      case FRAME.GOAWAY:
        return `${name} ${payload.readUInt32BE(0)} ${nameOfErrorCode(payload.readUInt32BE(4))}`;
      case FRAME.WINDOW_UPDATE:
        return `${name} ${stream} ${payload.readUInt32BE(0)}`;
      default:
        return `${name} ${stream}`;
    }
  }
}

function textOf(fields: readonly string[]): string {
  return Array.from({ length: fields.length / 2 }, (_, i) => `${fields[2 * i]}=${fields[2 * i + 1]}`).join(' ');
}

/** Frames of a peer. */
export const frames = {
  request: (stream: number, endsStream = false, fields: readonly (readonly [string, string])[] = REQUEST): RawFrame =>
    frames.headers(stream, fields, endsStream),
  headers: (stream: number, fields: readonly (readonly [string, string])[], endsStream = false): RawFrame => ({
    type: FRAME.HEADERS,
    flags: FLAG.END_HEADERS | (endsStream ? FLAG.END_STREAM : 0),
    stream,
    payload: encodeHeaders(fields),
  }),
  data: (stream: number, text: string | Buffer, endsStream = false): RawFrame => ({
    type: FRAME.DATA,
    flags: endsStream ? FLAG.END_STREAM : 0,
    stream,
    payload: Buffer.from(text),
  }),
  reset: (stream: number, code: number): RawFrame => ({ type: FRAME.RST_STREAM, stream, payload: uint32(code) }),
  windowUpdate: (stream: number, increment: number): RawFrame => ({
    type: FRAME.WINDOW_UPDATE,
    stream,
    payload: uint32(increment),
  }),
  settings: (...entries: readonly Buffer[]): RawFrame => ({ type: FRAME.SETTINGS, payload: Buffer.concat(entries) }),
  ping: (payload = 'pingpong', flags = 0): RawFrame => ({ type: FRAME.PING, flags, payload: Buffer.from(payload) }),
  goaway: (lastStream: number, code: number, text = ''): RawFrame => ({
    type: FRAME.GOAWAY,
    payload: Buffer.concat([uint32(lastStream), uint32(code), Buffer.from(text)]),
  }),
};
