// The gRPC side of the client. All calls share one HTTP/2 connection; when it is lost, or the server wants no more
// calls on it, the next call opens another.

import type { ModelInferRequest, ModelInferResponse } from '../model/exchange.js';
import { decodeModelConfigResponse } from '../protocol/grpc/decode-model-config-response.js';
import { decodeInferResponse } from '../protocol/grpc/decode-infer-response.js';
import { encodeModelConfigRequest } from '../protocol/grpc/encode-model-config-request.js';
import { encodeInferRequest } from '../protocol/grpc/encode-infer-request.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import type { Call } from './call.js';
import type { ClientTlsOptions } from './client-options.js';
import { unaryCall, type UnaryRequest } from './grpc-call.js';
import { Http2Connection } from './http2-connection.js';
import type { ServerUrl } from './parse-url.js';
import type { Headers, ModelReference, Transport } from './transport.js';

export class GrpcTransport implements Transport {
  readonly #server: ServerUrl;
  readonly #tls: ClientTlsOptions;
  /** All that are not closed: the one in use, and those whose last calls still run. */
  readonly #connections = new Set<Http2Connection>();
  #current: Http2Connection | undefined;

  constructor(server: ServerUrl, tls: ClientTlsOptions) {
    this.#server = server;
    this.#tls = tls;
  }

  async infer(request: ModelInferRequest, call: Call, headers: Headers): Promise<ModelInferResponse> {
    return decodeInferResponse(await this.#unary('ModelInfer', encodeInferRequest(request), call, headers));
  }

  async modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature> {
    return decodeModelConfigResponse(
      await this.#unary('ModelConfig', [encodeModelConfigRequest(model)], call, headers),
    );
  }

  async close(): Promise<void> {
    const connections = [...this.#connections];
    for (const connection of connections) connection.destroy();
    await Promise.all(connections.map(({ closed }) => closed));
  }

  // What a server refuses unprocessed (its GOAWAY crossed our request) is sent once more, over a new connection.
  async #unary(method: string, chunks: readonly Uint8Array[], call: Call, headers: Headers): Promise<Buffer> {
    const request: UnaryRequest = { method, chunks, headers, address: this.#server.address };
    call.throwIfAborted();
    const connection = this.#connection();
    const first = await unaryCall(connection, request, call);
    if (first.kind === 'message') return first.message;
    call.throwIfAborted();
    connection.retire();
    const second = await unaryCall(this.#connection(), request, call);
    if (second.kind === 'message') return second.message;
    throw second.error;
  }

  #connection(): Http2Connection {
    if (this.#current?.usable) return this.#current;
    const connection = new Http2Connection(this.#server, this.#tls);
    this.#current = connection;
    this.#connections.add(connection);
    void connection.closed.then(() => this.#connections.delete(connection));
    return connection;
  }
}
