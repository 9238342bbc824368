// The gRPC side of the client. All calls with one answer share one HTTP/2 connection, all streams another, on which the server
// waits for their readers. When one is lost, or the server wants no more calls on it, the next call opens another.

import type { ModelInferResponse } from '../../model/exchange.js';
import type { ClassifiedRequest } from '../../protocol/classified-request.js';
import { decodeModelConfigResponse } from '../../protocol/grpc/decode-model-config-response.js';
import { decodeInferResponse } from '../../protocol/grpc/decode-infer-response.js';
import { decodeResponse } from '../../protocol/grpc/decode-message.js';
import { frameRequest } from '../../protocol/grpc/service-methods.js';
import { encodeInferRequest } from '../../protocol/grpc/encode-infer-request.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import type { Call } from '../call.js';
import type { ClientTlsOptions, TransportOptions } from '../client-options.js';
import type { GrpcRequest } from './grpc-exchange.js';
import { GrpcRequestStream } from './grpc-request-stream.js';
import { ERRORS_AS_STATUS, GrpcResponses } from './grpc-responses.js';
import { unaryCall } from './grpc-unary-call.js';
import { Http2Connection, STREAM_WINDOW } from './http2-connection.js';
import type { ServerUrl } from '../parse-url.js';
import type { ServerOperation } from '../server/server-operation.js';
import type { Headers, ModelReference, RequestStream, ResponseStream, Transport } from '../transport.js';

export class GrpcTransport implements Transport {
  readonly #server: ServerUrl;
  readonly #tls: ClientTlsOptions;
  readonly #maxResponseBytes: number;
  /** All that are not closed: the one in use, and those whose last calls still run. */
  readonly #connections = new Set<Http2Connection>();
  readonly #current: Partial<Record<keyof typeof STREAM_WINDOW, Http2Connection>> = {};

  constructor(server: ServerUrl, { tls, maxResponseBytes }: TransportOptions) {
    this.#server = server;
    this.#tls = tls ?? {};
    this.#maxResponseBytes = maxResponseBytes;
  }

  async infer(request: ClassifiedRequest, call: Call, headers: Headers): Promise<ModelInferResponse> {
    return decodeInferResponse(await this.#unary('ModelInfer', encodeInferRequest(request), call, headers));
  }

  stream(request: ClassifiedRequest, _model: ModelSignature, call: Call, headers: Headers): ResponseStream {
    call.throwIfAborted();
    const asked = {
      method: 'ModelStreamInfer',
      chunks: encodeInferRequest(request),
      headers: { ...headers, ...ERRORS_AS_STATUS },
      maxResponseBytes: this.#maxResponseBytes,
      address: this.#server.address,
      connection: () => this.#connection('streaming'),
    };
    return new GrpcResponses(asked, call);
  }

  requestStream(call: Call, headers: Headers): RequestStream {
    call.throwIfAborted();
    const { address } = this.#server;
    const asked = { headers, maxResponseBytes: this.#maxResponseBytes, address };
    return new GrpcRequestStream(this.#connection('streaming'), asked, call);
  }

  async modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature> {
    return decodeModelConfigResponse(
      await this.#unary(
        'ModelConfig',
        [frameRequest('ModelConfig', { name: model.modelName, version: model.modelVersion })],
        call,
        headers,
      ),
    );
  }

  async ask<Answer extends object>({ grpc }: ServerOperation<Answer>, call: Call, headers: Headers): Promise<Answer> {
    const { method, message, response } = grpc;
    const frame = frameRequest(method, message);
    return decodeResponse(response, await this.#unary(method, [frame], call, headers));
  }

  async close(): Promise<void> {
    const connections = [...this.#connections];
    for (const connection of connections) connection.destroy();
    await Promise.all(connections.map(({ closed }) => closed));
  }

  // What a server refuses unprocessed (its GOAWAY crossed our request) is sent once more, over a new connection.
  async #unary(method: string, chunks: readonly Uint8Array[], call: Call, headers: Headers): Promise<Buffer> {
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
    const connection = new Http2Connection(this.#server, this.#tls, STREAM_WINDOW[use]);
    this.#current[use] = connection;
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    return connection;
  }
}
