// The gRPC side of the client. All calls with one answer share one HTTP/2 connection, all streams another, on which the server
// waits for their readers. When one is lost, or the server wants no more calls on it, the next call opens another.

import type { ClassifiedRequest } from '../../protocol/classified-request.js';
import { encodeInferRequest } from '../../protocol/grpc/encode-infer-request.js';
import { WANTS_ERROR_CODES } from '../../protocol/grpc/stream-error-code.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import type { Call } from '../call.js';
import type { ClientTlsOptions, TransportOptions } from '../client-options.js';
import { connectionTls } from '../connection-tls.js';
import type { GrpcRequest } from './grpc-exchange.js';
import { GrpcRequestStream } from './grpc-request-stream.js';
import { GrpcResponses, type ServerHabits } from './grpc-responses.js';
import { unaryCall } from './grpc-unary-call.js';
import { Http2Connection, STREAM_WINDOW } from './http2-connection.js';
import { type AskedMethod, MessageTransport } from './message-transport.js';
import type { ServerUrl } from '../parse-url.js';
import type { Headers, RequestStream, ResponseStream } from '../transport.js';

export class GrpcTransport extends MessageTransport {
  readonly #server: ServerUrl;
  readonly #tls: () => ClientTlsOptions;
  readonly #maxResponseBytes: number;
  /** All that are not closed: the one in use, and those whose last calls still run. */
  readonly #connections = new Set<Http2Connection>();
  readonly #habits: ServerHabits = { saysFinal: false };
  readonly #current: Partial<Record<keyof typeof STREAM_WINDOW, Http2Connection>> = {};

  constructor(server: ServerUrl, { tls, maxResponseBytes }: TransportOptions) {
    super();
    this.#server = server;
    this.#tls = connectionTls(tls ?? {}, server.address);
    this.#maxResponseBytes = maxResponseBytes;
  }

  stream(request: ClassifiedRequest, { decoupled }: ModelSignature, call: Call, headers: Headers): ResponseStream {
    call.throwIfAborted();
    const asked = {
      method: 'ModelStreamInfer',
      chunks: encodeInferRequest(request),
      headers: { ...headers, ...WANTS_ERROR_CODES },
      maxResponseBytes: this.#maxResponseBytes,
      address: this.#server.address,
      decoupled,
      connection: () => this.#connection('streaming'),
      habits: this.#habits,
    };
    return new GrpcResponses(asked, call);
  }

  requestStream(call: Call, headers: Headers): RequestStream {
    call.throwIfAborted();
    const { address } = this.#server;
    const asked = { headers: { ...headers, ...WANTS_ERROR_CODES }, maxResponseBytes: this.#maxResponseBytes, address };
    return new GrpcRequestStream(this.#connection('streaming'), asked, call);
  }

  async close(): Promise<void> {
    const connections = [...this.#connections];
    for (const connection of connections) connection.destroy();
    await Promise.all(connections.map(({ closed }) => closed));
  }

  // What a server refuses unprocessed (its GOAWAY crossed our request) is sent once more, over a new connection.
  protected async unary({ method, chunks, headers }: AskedMethod, call: Call): Promise<Buffer> {
    const maxResponseBytes = this.#maxResponseBytes;
    const request: GrpcRequest = { method, chunks, headers, maxResponseBytes, address: this.#server.address };
    call.throwIfAborted();
    const connection = this.#connection('unary');
    const first = await unaryCall(connection, request, call);
    if (first.kind === 'message') return first.message;
    call.throwIfAborted();
    connection.retire();
    const second = await unaryCall(this.#connection('unary'), request, call);
    if (second.kind === 'message') return second.message;
    throw second.error;
  }

  #connection(use: keyof typeof STREAM_WINDOW): Http2Connection {
    const current = this.#current[use];
    if (current?.usable) return current;
    const connection = new Http2Connection(this.#server, this.#tls(), STREAM_WINDOW[use]);
    this.#current[use] = connection;
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    return connection;
  }
}
