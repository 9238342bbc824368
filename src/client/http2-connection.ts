// One HTTP/2 connection to a server, with windows so large that no answer waits for us. It keeps the process alive
// only while it carries calls.

import { connect as connectHttp2, type ClientHttp2Session } from 'node:http2';
import { connect as connectTcp, isIP, isIPv6, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';

import type { ClientTlsOptions } from './client-options.js';
import type { ServerUrl } from './parse-url.js';

const LARGEST_WINDOW = 2_147_483_647;
/** In MB. Beyond it Node refuses new streams; how large answers are is the server's business. */
const MAX_SESSION_MEMORY = 65_536;

export class Http2Connection {
  readonly session: ClientHttp2Session;
  /** Settles when nothing of it is left. */
  readonly closed: Promise<void>;
  readonly #socket: Socket;
  #calls = 0;
  #error: unknown;
  #retired = false;

  constructor(server: ServerUrl, tls: ClientTlsOptions) {
    const socket = openSocket(server, tls);
    const host = isIPv6(server.host) ? `[${server.host}]` : server.host;
    const session = connectHttp2(`${server.tls ? 'https' : 'http'}://${host}:${server.port}`, {
      createConnection: () => socket,
      maxSessionMemory: MAX_SESSION_MEMORY,
      settings: { enablePush: false, initialWindowSize: LARGEST_WINDOW },
    });
    this.#socket = socket;
    this.session = session;
    this.closed = new Promise((resolve) => void socket.once('close', () => resolve()));
    session.once('connect', () => session.setLocalWindowSize(LARGEST_WINDOW));
    socket.on('error', (error) => (this.#error ??= error));
    session.on('error', (error) => (this.#error ??= error));
    socket.unref();
  }

  /** Whether it takes another call. False once the server said GOAWAY or the connection is lost. */
  get usable(): boolean {
    return !this.#retired && !this.session.closed && !this.session.destroyed && !this.#socket.destroyed;
  }

  /** Why the connection could not be made or was lost, if anything told. Streams are told less. */
  get error(): unknown {
    return this.#error;
  }

  /** Bytes that the server has sent. */
  get bytesRead(): number {
    return this.#socket.bytesRead;
  }

  /** A call begins. */
  acquire(): void {
    if (this.#calls++ === 0) this.#socket.ref();
  }

  /** A call has ended. */
  release(): void {
    if (--this.#calls > 0) return;
    if (this.#retired) this.destroy();
    else this.#socket.unref();
  }

  /** Takes no more calls; those in flight may finish. */
  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) this.destroy();
  }

  /** Also the socket itself: a session that is closing already would wait for the server to close its side. */
  destroy(): void {
    this.session.destroy();
    this.#socket.destroy();
  }
}

function openSocket({ host, port, tls: secure }: ServerUrl, tls: ClientTlsOptions): Socket {
  if (!secure) return connectTcp({ host, port });
  // Server names are names: an address is none.
  const servername = isIP(host) === 0 ? { servername: host } : {};
  return connectTls({ ...tls, ...servername, host, port, ALPNProtocols: ['h2'] });
}
