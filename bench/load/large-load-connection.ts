// One connection that sends a large message, waits until all of the answer has come, and sends it again: over HTTP/2, by the
// client of the build, or over a bare socket (floor/echo-floor.ts). The answer is the message itself, but of gRPC calls.

import { connect } from 'node:net';

import { loadHttp2Build } from '../http2-build.js';
import { framed } from './http2-frames.js';
import type { LoadConnection, LoadWindow } from './load-window.js';

export interface LargeTarget {
  readonly protocol: 'large';
  readonly wire: 'http2' | 'grpc' | 'socket';
  readonly port: number;
  readonly connections: number;
  /** Of the message. */
  readonly bytes: number;
  /** Of gRPC. */
  readonly call?: { readonly path: string; readonly message: Uint8Array; readonly expectedMessage: Uint8Array };
}

/** What is sent, and what must come back. */
interface Exchange {
  readonly message: Buffer;
  readonly expected: Buffer;
}

/** Sends the message; `onPiece` gets what comes back. */
interface Wire {
  send(): void;
  close(): void;
}

type OnPiece = (piece: Buffer) => void;

const LARGEST_WINDOW = 0x7fffffff;

export class LargeLoadConnection implements LoadConnection {
  readonly #window: LoadWindow;
  readonly #exchange: Exchange;
  #wire: Wire | undefined;
  #received = 0;
  #sentAt = 0;
  #waiting = false;
  #isChecked = false;
  #open = true;

  private constructor(target: LargeTarget, window: LoadWindow) {
    this.#window = window;
    this.#exchange = exchangeOf(target);
  }

  static async open(target: LargeTarget, window: LoadWindow): Promise<LargeLoadConnection> {
    const one = new LargeLoadConnection(target, window);
    const onPiece = (piece: Buffer): void => one.#receive(piece);
    const onLost = (reason: string): void => one.#fail(reason);
    one.#wire =
      target.wire === 'socket'
        ? await openSocket(target, one.#exchange.message, onPiece, onLost)
        : await openHttp2(target, one.#exchange.message, onPiece, onLost);
    return one;
  }

  get unanswered(): number {
    return this.#waiting ? 1 : 0;
  }

  start(): void {
    this.#waiting = true;
    this.#sentAt = performance.now();
    this.#wire!.send();
  }

  close(): void {
    this.#open = false;
    this.#wire!.close();
  }

  #receive(piece: Buffer): void {
    const { expected } = this.#exchange;
    const bytes = expected.length;
    const end = this.#received + piece.length;
    // The bytes of the first answer are compared, of the others how many there are.
    if (end > bytes || (!this.#isChecked && expected.compare(piece, 0, piece.length, this.#received, end) !== 0)) {
      this.#fail('other bytes than were sent');
      return;
    }
    this.#received = end;
    if (end < bytes) return;
    this.#isChecked = true;
    this.#received = 0;
    this.#waiting = false;
    this.#window.answered(this.#sentAt, performance.now());
    if (this.#window.issuing) this.start();
  }

  #fail(reason: string): void {
    if (!this.#open) return;
    this.#window.failed(reason);
    this.#waiting = false;
    this.close();
  }
}

function exchangeOf({ bytes, call }: LargeTarget): Exchange {
  if (call !== undefined) return { message: framed(call.message), expected: framed(call.expectedMessage) };
  const message = Buffer.alloc(bytes);
  for (let at = 0; at + 4 <= bytes; at += 4) message.writeUInt32LE(Math.imul(at, 2654435761) >>> 0, at);
  return { message, expected: message };
}

function openSocket(
  { port, bytes }: LargeTarget,
  message: Buffer,
  onPiece: OnPiece,
  onLost: (reason: string) => void,
): Promise<Wire> {
  return new Promise((resolve, reject) => {
    const socket = connect({ host: '127.0.0.1', port, noDelay: true });
    socket.on('error', reject);
    socket.on('close', () => onLost('the server closed the connection'));
    socket.on('data', onPiece);
    socket.once('connect', () => {
      const length = Buffer.alloc(4);
      length.writeUInt32LE(bytes);
      socket.write(length);
      resolve({ send: () => void socket.write(message), close: () => void socket.destroy() });
    });
  });
}

async function openHttp2(
  { port, call }: LargeTarget,
  message: Buffer,
  onPiece: OnPiece,
  onLost: (reason: string) => void,
): Promise<Wire> {
  const { Http2Client, HeaderTemplate } = await loadHttp2Build();
  const request = Object.entries({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': call?.path ?? '/large',
    ':authority': `127.0.0.1:${port}`,
    ...(call === undefined
      ? { 'content-length': String(message.length) }
      : { 'content-type': 'application/grpc', te: 'trailers' }),
  });
  const headers = new HeaderTemplate(request.flat());
  return new Promise((resolve) => {
    const { connection, socket } = new Http2Client().connect({
      host: '127.0.0.1',
      port,
      connection: { streamWindow: LARGEST_WINDOW, connectionWindow: LARGEST_WINDOW },
      listen: () => ({
        onReady: () => resolve({ send, close: () => socket.destroy() }),
        onClose: (error) => onLost(error?.message ?? 'the server closed the connection'),
      }),
    });
    const listener = {
      onData: onPiece,
      onEnd: () => undefined,
      onClose: (error: Error | undefined) => error && onLost(error.message),
    };
    // The answer's last bytes may come before its end: the next request begins on another stream.
    const send = (): void => void connection.openStream(headers, listener).sendData(message, true);
  });
}
