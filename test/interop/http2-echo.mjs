// A service of one's own on the built HTTP/2 connections, for clients that look at the protocol itself: what is sent comes back.
//
//   /echo.Echo/Unary      the whole message, once it is complete
//   /echo.Echo/Stream     every piece as it comes
//   /echo.Echo/Never      nothing
//   /echo.Echo/Cancelled  how many calls of Never were cancelled, in decimal digits, as one gRPC message
//   anything else         the message, or `nothing` when it is empty
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { Http2Server } from '../../dist/http2/http2-server.js';
import { HeaderTemplate } from '../../dist/http2/outgoing-headers.js';

const HEAD = new HeaderTemplate([':status', '200', 'content-type', 'application/grpc']);
const OK = new HeaderTemplate(['grpc-status', '0']);

/** h2spec takes some cases to be about frames of 16 kB and few streams. */
const LIMITS = { maxFrameSize: 16_384, maxConcurrentStreams: 100 };

/**
 * @typedef {import('../../dist/http2/http2-stream.js').Http2Stream} Http2Stream
 * @typedef {import('../../dist/http2/http2-stream.js').StreamListener} StreamListener
 */

/** @implements {StreamListener} */
class Echo {
  /** @type {Buffer[]} */
  #chunks = [];
  #length = 0;
  #stream;

  /** @param {Http2Stream} stream */
  constructor(stream) {
    this.#stream = stream;
  }

  /** @param {Buffer} chunk */
  onData(chunk) {
    this.#chunks.push(Buffer.from(chunk));
    this.#length += chunk.length;
  }

  onEnd() {
    this.#stream.sendMessage(HEAD, this.#length === 0 ? [Buffer.from('nothing')] : this.#chunks, OK);
  }
}

/** @implements {StreamListener} */
class EchoStream {
  #stream;

  /** @param {Http2Stream} stream */
  constructor(stream) {
    this.#stream = stream;
    stream.sendHeaders(HEAD);
    stream.consumesAtOnce = false;
  }

  /** @param {Buffer} chunk */
  onData(chunk) {
    this.#stream.sendData(Buffer.from(chunk));
    this.#stream.consume(chunk.length);
  }

  onEnd() {
    this.#stream.sendHeaders(OK, true);
  }
}

/**
 * Starts it with and without TLS; returns the ports, and what closes them.
 *
 * @param {string} certificates the folder of server.pem and server.key
 */
export async function startHttp2Echo(certificates) {
  let cancelled = 0;
  /** @type {StreamListener} */
  const never = {
    onData: () => undefined,
    onEnd: () => undefined,
    onClose: (error) => {
      if (error?.code === 'CANCEL') cancelled++;
    },
  };
  /** @type {(stream: Http2Stream) => StreamListener} */
  const count = (stream) => ({
    onData: () => undefined,
    onEnd: () => {
      const digits = Buffer.from(String(cancelled));
      stream.sendMessage(HEAD, [Buffer.from([0, 0, 0, 0, digits.length]), digits], OK);
    },
  });
  /** @type {Map<string | undefined, (stream: Http2Stream) => StreamListener>} */
  const listeners = new Map([
    ['/echo.Echo/Never', () => never],
    ['/echo.Echo/Cancelled', count],
    ['/echo.Echo/Stream', (stream) => new EchoStream(stream)],
  ]);
  /** @type {() => import('../../dist/http2/connection-listener.js').ConnectionListener} */
  const listen = () => ({
    onStream: (stream, headers) => listeners.get(headers.get(':path'))?.(stream) ?? new Echo(stream),
  });
  const tls = {
    cert: readFileSync(join(certificates, 'server.pem')),
    key: readFileSync(join(certificates, 'server.key')),
  };
  const servers = {
    plain: new Http2Server({ listen, connection: LIMITS }),
    secure: new Http2Server({ listen, connection: LIMITS, tls }),
    wide: new Http2Server({ listen }),
  };
  /** @type {Record<string, number>} */
  const ports = {};
  for (const [name, server] of Object.entries(servers)) ports[name] = await server.listen('127.0.0.1', 0);
  return { ports, close: () => Promise.all(Object.values(servers).map((server) => server.close(1000))) };
}
