// The HTTP side of the client: Triton's REST paths with binary tensors both ways, over kept connections. An idle
// connection does not keep the process alive.

import { Agent as PlainAgent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';

import { create, type DescMessage, type MessageShape } from '@bufbuild/protobuf';

import type { ModelInferResponse } from '../model/exchange.js';
import type { ClassifiedRequest } from '../protocol/classified-request.js';
import { decodeInferResponse } from '../protocol/http/decode-infer-response.js';
import { decodeModelConfigResponse } from '../protocol/http/decode-model-config-response.js';
import { encodeGenerateRequest } from '../protocol/http/encode-generate-request.js';
import { encodeInferRequest } from '../protocol/http/encode-infer-request.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import type { Call } from './call.js';
import type { TransportOptions } from './client-options.js';
import { httpError } from './http-error.js';
import { NodeHttpWire, type HttpRequest, type HttpResponse } from './node-http-wire.js';
import { HttpResponses, OneResponse } from './http-responses.js';
import { modelPath } from './model-path.js';
import type { ServerUrl } from './parse-url.js';
import { readHttpAnswer, type ServerOperation } from './server-operation.js';
import type { Headers, ModelReference, ResponseStream, Transport } from './transport.js';

/** Idle connections are closed after this time, or earlier when the server announces that it closes them itself. */
const IDLE_MILLISECONDS = 60_000;
const MAX_IDLE_CONNECTIONS = 256;

export class HttpTransport implements Transport {
  readonly #wire: NodeHttpWire;

  constructor(server: ServerUrl, { tls, maxResponseBytes, maxConcurrency }: TransportOptions) {
    const options = {
      keepAlive: true,
      timeout: IDLE_MILLISECONDS,
      maxFreeSockets: Math.min(maxConcurrency, MAX_IDLE_CONNECTIONS),
    };
    const agent = server.tls ? new TlsAgent({ ...options, ...tls }) : new PlainAgent(options);
    this.#wire = new NodeHttpWire(server, agent, maxResponseBytes);
  }

  async infer(request: ClassifiedRequest, call: Call, headers: Headers): Promise<ModelInferResponse> {
    const { chunks, contentLength, headerLength } = encodeInferRequest(request);
    const response = await this.#exchange(call, {
      method: 'POST',
      path: `/v2${modelPath(request)}/infer`,
      headers: {
        ...headers,
        'content-type': 'application/octet-stream',
        'content-length': contentLength,
        'inference-header-content-length': headerLength,
      },
      chunks,
    });
    return decodeInferResponse(
      response.body,
      response.headers['inference-header-content-length'] as string | undefined,
    );
  }

  stream(request: ClassifiedRequest, model: ModelSignature, call: Call, headers: Headers): ResponseStream {
    call.throwIfAborted();
    // Its one answer comes with all tensors in binary form.
    if (!model.decoupled) return new OneResponse(this.infer(request, call, headers));
    const chunks = encodeGenerateRequest(request, model);
    const rows = model.maxBatchSize > 0 ? (request.inputs[0]?.shape[0] ?? 1) : undefined;
    const asked: HttpRequest = {
      method: 'POST',
      path: `/v2${modelPath(request)}/generate_stream`,
      headers: {
        ...headers,
        'content-type': 'application/json',
        'content-length': chunks.reduce((sum, { length }) => sum + length, 0),
      },
      chunks,
    };
    const { address, maxResponseBytes } = this.#wire;
    const wanted = { model, rows, outputs: request.outputs, address, maxResponseBytes };
    return new HttpResponses(this.#wire.open(asked, call), wanted, call);
  }

  async modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature> {
    const response = await this.#exchange(call, {
      method: 'GET',
      path: `/v2${modelPath(model)}/config`,
      headers,
      chunks: [],
    });
    return decodeModelConfigResponse(response.body);
  }

  async ask<S extends DescMessage>(
    operation: ServerOperation<S>,
    call: Call,
    headers: Headers,
  ): Promise<MessageShape<S>> {
    const { method, path, body, no } = operation.http;
    const length = body === undefined ? {} : { 'content-type': 'application/json', 'content-length': body.length };
    const response = await this.#exchange(
      call,
      {
        method,
        path,
        headers: { ...headers, ...(method === 'POST' ? { 'content-length': 0, ...length } : {}) },
        chunks: body === undefined ? [] : [body],
      },
      no,
    );
    if (no.includes(response.status)) return create(operation.response);
    return readHttpAnswer(operation, response.body);
  }

  async close(): Promise<void> {
    await this.#wire.close();
  }

  async #exchange(call: Call, request: HttpRequest, also: readonly number[] = []): Promise<HttpResponse> {
    const response = await this.#wire.exchange(request, call);
    if (response.status !== 200 && !also.includes(response.status)) throw httpError(response, this.#wire.address);
    return response;
  }
}
