// One HTTP/2 connection to a server. The connection's window is so large that no answer waits for another. Calls beyond the server's
// limit of concurrent streams wait here. The connection keeps the process alive only while it carries calls.

import { isIPv6 } from 'node:net';

import { Http2Client } from '../../http2/connect.js';
import type { ConnectionListener } from '../../http2/connection-listener.js';
import type { ConnectionOptions } from '../../http2/connection-options.js';
import { Http2Error } from '../../http2/http2-error.js';
import type { Http2Stream, StreamListener } from '../../http2/http2-stream.js';
import { HeaderTemplate, type OutgoingHeaders } from '../../http2/outgoing-headers.js';
import type { SocketConnection } from '../../http2/socket-connection.js';
import type { ClientTlsOptions } from '../client-options.js';
import type { ServerUrl } from '../parse-url.js';

const LARGEST_WINDOW = 2_147_483_647;

/** How much of one answer the server may send before we have consumed it. */
export const STREAM_WINDOW = {
  /** For whole messages: no answer waits for us. */
  unary: LARGEST_WINDOW,
  /** Small enough that a generator waits for a slow reader. */
  streaming: 256 * 1024,
} as const;

const CONNECTION: Omit<ConnectionOptions, 'streamWindow'> = {
  connectionWindow: LARGEST_WINDOW,
  // The caller decides how large requests are, and each call has its own time limit.
  maxQueuedBytes: Infinity,
  handshakeTimeout: 0,
};

/** The connections of this thread share this client. It is made with the first connection. */
let client: Http2Client | undefined;

/** A call that needs a stream. */
export interface StreamUser extends StreamListener {
  readonly headers: OutgoingHeaders;
  /** The call has its stream, and the headers are sent. */
  opened(stream: Http2Stream): void;
  onClose(error: Http2Error | undefined): void;
}

export class Http2Connection implements ConnectionListener {
  /** Settles when nothing of the connection is left. */
  readonly closed: Promise<void>;
  readonly #connection: SocketConnection;
  readonly #origin: readonly string[];
  readonly #givesCertificate: boolean;
  /** By path. */
  readonly #callHeaders = new Map<string, HeaderTemplate>();
  /** In order. */
  readonly #waiting = new Set<StreamUser>();
  #calls = 0;
  #error: Http2Error | undefined;
  #retired = false;
  /** Undefined once the connection is there. */
  #whenConnected: (() => void)[] | undefined = [];

  constructor({ host, port, socketPath, tls: isSecure }: ServerUrl, tls: ClientTlsOptions, streamWindow: number) {
    this.#origin = [
      ':scheme',
      isSecure ? 'https' : 'http',
      ':authority',
      `${isIPv6(host) ? `[${host}]` : host}:${port}`,
    ];
    this.#givesCertificate = tls.cert !== undefined;
    client ??= new Http2Client();
    this.#connection = client.connect({
      host,
      port,
      path: socketPath,
      connection: { ...CONNECTION, streamWindow },
      listen: () => this,
      tls: isSecure ? { ...tls } : undefined,
    });
    const { socket } = this.#connection;
    this.closed = new Promise((resolve) => void socket.once('close', () => resolve()));
    socket.once(isSecure ? 'secureConnect' : 'connect', () => this.#connected());
    socket.unref();
  }

  /** Whether it takes another call. False once the server said GOAWAY or the connection is lost. */
  get usable(): boolean {
    return !this.#retired && this.#connection.connection.takesStreams && !this.#connection.socket.destroyed;
  }

  /** Whether a fault ended it, as bytes that are not HTTP/2 do. */
  get hasFailed(): boolean {
    const { isFinished, isInOrder } = this.#connection.connection;
    return isFinished && !isInOrder;
  }

  /** Why the connection could not be made or was lost, if that is known. */
  get error(): Http2Error | undefined {
    return this.#error;
  }

  /** Whether the connection was ever established: then a part of a call may have reached the server. */
  get wasConnected(): boolean {
    return this.#whenConnected === undefined;
  }

  /** Whether it was established with a certificate of the client, and nothing has come since. */
  get isSilent(): boolean {
    return this.#givesCertificate && this.wasConnected && this.receivedBytes === 0;
  }

  /** Calls back when the connection is there, at once if it is. */
  whenConnected(callback: () => void): void {
    if (this.#whenConnected === undefined) callback();
    else this.#whenConnected.push(callback);
  }

  /** Bytes that the server has sent. */
  get receivedBytes(): number {
    return this.#connection.connection.receivedBytes;
  }

  /** The headers that all calls of one method have in common. */
  callHeaders(path: string): HeaderTemplate {
    let headers = this.#callHeaders.get(path);
    if (headers === undefined) {
      const fields = [':method', 'POST', ':path', path, 'content-type', 'application/grpc', 'te', 'trailers'];
      headers = new HeaderTemplate([...this.#origin, ...fields]);
      this.#callHeaders.set(path, headers);
    }
    return headers;
  }

  /** Opens a stream as soon as the server allows one more. If the connection has ended, closes the user with an error. */
  open(user: StreamUser): void {
    this.#waiting.add(user);
    this.onStreamAvailable();
  }

  /** Takes the user out of the queue for a stream. Returns false when it has had its stream. */
  forget(user: StreamUser): boolean {
    return this.#waiting.delete(user);
  }

  onStreamAvailable(): void {
    const { connection } = this.#connection;
    for (const user of this.#waiting) {
      if (connection.takesStreams && !connection.canOpenStream) return;
      this.#waiting.delete(user);
      if (connection.takesStreams) user.opened(connection.openStream(user.headers, user));
      else user.onClose(this.#error ?? new Http2Error('REFUSED_STREAM', 'the connection takes no more calls'));
    }
  }

  onGoaway(): void {
    this.onStreamAvailable();
  }

  onClose(error: Http2Error | undefined): void {
    this.#error = error;
    this.onStreamAvailable();
  }

  /** A call begins. */
  acquire(): void {
    const { socket } = this.#connection;
    // For a destroyed socket, Node would wait until it is connected.
    if (this.#calls++ === 0 && !socket.destroyed) socket.ref();
  }

  /** A call has ended. */
  release(): void {
    if (--this.#calls > 0) return;
    const { socket } = this.#connection;
    if (this.#retired) this.destroy();
    else if (!socket.destroyed) socket.unref();
  }

  /** Writes all frames at once, and not at the end of the turn. */
  write(): void {
    this.#connection.write();
  }

  /** Takes no more calls; calls in flight may finish. */
  retire(): void {
    this.#retired = true;
    if (this.#calls === 0) this.destroy();
  }

  /** Also destroys the socket: a connection that is already ending would wait for the server to close its side. */
  destroy(): void {
    this.#connection.connection.close('NO_ERROR', 'the client closed the connection');
    this.#connection.write();
    this.#connection.socket.destroy();
  }

  #connected(): void {
    const callbacks = this.#whenConnected;
    this.#whenConnected = undefined;
    for (const callback of callbacks ?? []) callback();
  }
}
