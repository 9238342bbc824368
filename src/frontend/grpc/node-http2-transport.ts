// gRPC's transport on node:http2: the listening port, its connections, and their orderly end. Flow-control windows are
// wide, because what arrives is always read at once; how much one call may send is limited by the size of its message.

import {
  constants,
  createSecureServer,
  createServer,
  type Http2SecureServer,
  type Http2Server,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';

import type { Logger } from '../../model/logger.js';
import { listenFailure } from '../listen-failure.js';
import type { GrpcTls } from './grpc-tls.js';
import { isGrpcContentType, type AcceptCall, type GrpcTransport } from './grpc-transport.js';
import { HEADERS_ONLY, NodeHttp2Call } from './node-http2-call.js';
import { SessionKeepalive, type KeepaliveOptions } from './session-keepalive.js';

const STREAM_WINDOW_BYTES = 16 << 20;
const CONNECTION_WINDOW_BYTES = 256 << 20;
/** Larger than the 16 kB that HTTP/2 begins with: fewer frames for large tensors. */
const MAX_FRAME_BYTES = 1 << 20;
/** Clients keep further calls back until earlier ones end. */
const MAX_CONCURRENT_CALLS = 4096;
/** In megabytes. Beyond it node:http2 refuses new streams of a connection; its default is less than one large tensor. */
const MAX_SESSION_MEMORY = 1 << 20;
/** How long answers may take to reach their clients when everything closes. */
const FLUSH_MILLISECONDS = 1000;

export interface NodeHttp2TransportOptions {
  readonly accept: AcceptCall;
  readonly keepalive: KeepaliveOptions;
  readonly logger: Logger;
  /** Default: no TLS. */
  readonly tls?: GrpcTls | undefined;
}

export class NodeHttp2Transport implements GrpcTransport {
  readonly #accept: AcceptCall;
  readonly #logger: Logger;
  readonly #keepalive: KeepaliveOptions;
  readonly #server: Http2Server | Http2SecureServer;
  readonly #sessions = new Map<ServerHttp2Session, SessionKeepalive>();
  readonly #sockets = new Set<Socket>();
  #draining = false;
  /** Settles when the port and every connection is closed. */
  #serverClosed: Promise<void> | undefined;

  constructor({ accept, keepalive, logger, tls }: NodeHttp2TransportOptions) {
    this.#accept = accept;
    this.#keepalive = keepalive;
    this.#logger = logger;
    const options = {
      settings: {
        initialWindowSize: STREAM_WINDOW_BYTES,
        maxFrameSize: MAX_FRAME_BYTES,
        maxConcurrentStreams: MAX_CONCURRENT_CALLS,
      },
      maxSessionMemory: MAX_SESSION_MEMORY,
    };
    this.#server =
      tls === undefined ? createServer(options) : createSecureServer({ ...options, ...secureOptions(tls) });
    this.#server.on('tlsClientError', (error: Error) =>
      this.#logger.verbose(1, `gRPC handshake failed: ${error.message}`),
    );
    this.#server.on('connection', (socket: Socket) => {
      socket.setNoDelay(true);
      this.#sockets.add(socket);
      socket.once('close', () => this.#sockets.delete(socket));
    });
    this.#server.on('session', (session) => this.#addSession(session));
    this.#server.on(
      'stream',
      (stream: ServerHttp2Stream, headers: IncomingHttpHeaders, _flags: number, rawHeaders: string[]) =>
        this.#startCall(stream, headers, rawHeaders),
    );
    // Not HTTP/2, a broken frame, a connection reset: the connection ends, its calls learn of it through their streams.
    this.#server.on('sessionError', (error: Error) =>
      this.#logger.verbose(1, `gRPC connection failed: ${error.message}`),
    );
  }

  listen(address: string, port: number): Promise<number> {
    return new Promise((resolve, reject) => {
      const onError = (error: Error) => reject(listenFailure(error, address, port));
      this.#server.once('error', onError);
      this.#server.listen(port, address, () => {
        this.#server.off('error', onError);
        this.#server.on('error', (error) => this.#logger.error(`gRPC listener failed: ${error.message}`));
        resolve((this.#server.address() as AddressInfo).port);
      });
    });
  }

  get connections(): number {
    return this.#sessions.size;
  }

  drain(): void {
    if (this.#draining) return;
    this.#draining = true;
    this.#serverClosed = new Promise((resolve) => this.#server.close(() => resolve()));
    // GOAWAY: a call that crosses it on the wire is refused unprocessed, and clients may send it elsewhere.
    for (const session of this.#sessions.keys()) session.close();
  }

  async close(): Promise<void> {
    this.drain();
    const timer = setTimeout(() => {
      for (const session of this.#sessions.keys()) session.destroy();
      // The end of a session that was closed before waits for the client to close its half of the connection.
      for (const socket of this.#sockets) socket.destroy();
    }, FLUSH_MILLISECONDS);
    await this.#serverClosed;
    clearTimeout(timer);
  }

  #addSession(session: ServerHttp2Session): void {
    const keepalive = new SessionKeepalive(session, this.#keepalive, (text) => this.#logger.verbose(1, text));
    this.#sessions.set(session, keepalive);
    session.setLocalWindowSize(CONNECTION_WINDOW_BYTES);
    session.once('close', () => this.#sessions.delete(session));
    // It was accepted just before the port closed.
    if (this.#draining) session.close();
  }

  #startCall(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, rawHeaders: readonly string[]): void {
    const { session } = stream;
    const keepalive = session === undefined ? undefined : this.#sessions.get(session as ServerHttp2Session);
    // Its connection ended while the headers were on their way to us.
    if (keepalive === undefined) return;
    if (headers[':method'] !== 'POST') refuse(stream, constants.HTTP_STATUS_METHOD_NOT_ALLOWED);
    else if (!isGrpcContentType(headers['content-type'])) refuse(stream, constants.HTTP_STATUS_UNSUPPORTED_MEDIA_TYPE);
    else new NodeHttp2Call(stream, { headers, rawHeaders }, keepalive).start(this.#accept);
  }
}

function secureOptions({ cert, key, ca, requestCert }: GrpcTls) {
  return { cert, key, ...(ca === undefined ? {} : { ca }), requestCert, rejectUnauthorized: requestCert };
}

/** Answers what is no gRPC call with a status of HTTP. */
function refuse(stream: ServerHttp2Stream, status: number): void {
  // The client may be gone; then there is nobody to tell.
  stream.on('error', () => undefined);
  stream.respond({ ':status': status }, HEADERS_ONLY);
  stream.resume();
  setImmediate(() => {
    if (!stream.destroyed && !stream.readableEnded) stream.close(constants.NGHTTP2_NO_ERROR);
  });
}
