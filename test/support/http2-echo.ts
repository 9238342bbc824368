// Servers and clients on src/http2 that tests talk to: an echo of whole messages in gRPC's manner, and one request with its answer.
import { once } from 'node:events';
import type { ConnectionOptions as TlsOptions } from 'node:tls';
import { Http2Client } from '../../src/http2/connect.js';
import type { ConnectionListener } from '../../src/http2/connection-listener.js';
import type { ConnectionOptions } from '../../src/http2/connection-options.js';
import type { HeaderList } from '../../src/http2/header-list.js';
import type { Http2Error } from '../../src/http2/http2-error.js';
import type { Http2PortOptions } from '../../src/http2/http2-port.js';
import { Http2Server } from '../../src/http2/http2-server.js';
import type { Http2Stream, StreamListener } from '../../src/http2/http2-stream.js';
import { HeaderTemplate, type OutgoingHeaders } from '../../src/http2/outgoing-headers.js';
import type { SocketConnection } from '../../src/http2/socket-connection.js';

export const HEAD = new HeaderTemplate([':status', '200', 'content-type', 'application/grpc']);
export const OK = new HeaderTemplate(['grpc-status', '0']);
export const CALL = new HeaderTemplate(
  Object.entries({
    ':method': 'POST',
    ':scheme': 'http',
    ':path': '/package.Service/Method',
    ':authority': 'localhost',
    'content-type': 'application/grpc',
    te: 'trailers',
  }).flat(),
);

/** What a stream's listener may do besides collecting the message. */
export class Collector implements StreamListener {
  readonly chunks: Buffer[] = [];

  onData(chunk: Buffer): void {
    this.chunks.push(Buffer.from(chunk));
  }

  onEnd(): void {}
}

/** Answers each request with its own data. */
export class Echo extends Collector {
  readonly #stream: Http2Stream;

  constructor(stream: Http2Stream) {
    super();
    this.#stream = stream;
  }

  override onEnd(): void {
    this.#stream.sendMessage(HEAD, this.chunks, OK);
  }
}

export interface RunningServer extends AsyncDisposable {
  readonly server: Http2Server;
  readonly port: number;
  /** What connections told. */
  readonly events: string[];
}

export async function startEcho(
  options: Partial<Omit<Http2PortOptions, 'listen'>> & {
    readonly onStream?: (stream: Http2Stream, headers: HeaderList) => StreamListener | undefined;
    readonly listener?: ConnectionListener;
  } = {},
): Promise<RunningServer> {
  const { onStream = (stream) => new Echo(stream), listener, ...others } = options;
  const events: string[] = [];
  const server = new Http2Server({
    ...others,
    listen: () => ({
      onStream,
      onClose: (error) => void events.push(`closed ${error?.code ?? 'in order'}`),
      onStreamError: (error, id) => void events.push(`stream ${id} ${error.code}`),
      onListenerError: (error, id) => void events.push(`thrown ${id} ${String(error)}`),
      ...listener,
    }),
  });
  const port = await server.listen('127.0.0.1', 0);
  return { server, port, events, [Symbol.asyncDispose]: () => server.close(0) };
}

export interface Client extends Disposable {
  readonly connection: SocketConnection['connection'];
  readonly socket: SocketConnection['socket'];
  /** Resolves with why the connection has ended. */
  readonly closed: Promise<Http2Error | undefined>;
  call(data: readonly Uint8Array[], headers?: OutgoingHeaders): Promise<Answer>;
}

export interface Answer {
  readonly headers: readonly string[];
  readonly trailers: readonly string[];
  readonly data: Buffer;
}

const client = new Http2Client();

export function connectTo(
  port: number,
  { tls, options, listener }: { tls?: TlsOptions; options?: ConnectionOptions; listener?: ConnectionListener } = {},
): Client {
  let resolveClosed: (error: Http2Error | undefined) => void;
  const closed = new Promise<Http2Error | undefined>((resolve) => (resolveClosed = resolve));
  const { connection, socket } = client.connect({
    host: '127.0.0.1',
    port,
    tls,
    connection: options,
    listen: () => ({ ...listener, onClose: (error) => resolveClosed(error) }),
  });
  return {
    connection,
    socket,
    closed,
    call: (data, headers = CALL) => call(connection, headers, data),
    [Symbol.dispose]: () => void socket.destroy(),
  };
}

function call(
  connection: Client['connection'],
  headers: OutgoingHeaders,
  data: readonly Uint8Array[],
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const collector = new Collector();
    const lists: HeaderList[] = [];
    const stream = connection.openStream(headers, {
      onHeaders: (list) => lists.push(list),
      onData: (chunk) => collector.onData(chunk),
      onEnd: () => undefined,
      onClose: (error) => {
        if (error === undefined) {
          const [head, trailers] = lists;
          resolve({
            headers: head?.fields ?? [],
            trailers: trailers?.fields ?? [],
            data: Buffer.concat(collector.chunks),
          });
        } else reject(error);
      },
    });
    for (const chunk of data) stream.sendData(chunk);
    stream.sendData(Buffer.alloc(0), true);
  });
}

/** Until a socket is closed. */
export async function closing(socket: { readonly destroyed: boolean } & NodeJS.EventEmitter): Promise<void> {
  if (!socket.destroyed) await once(socket, 'close');
}
