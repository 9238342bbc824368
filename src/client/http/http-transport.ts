// The HTTP side of the client: Triton's REST paths with binary tensors both ways, or JSON alone, whatever carries the requests.

import type { ModelInferResponse } from '../../model/exchange.js';
import type { ClassifiedRequest } from '../../protocol/classified-request.js';
import { decodeInferResponse } from '../../protocol/http/decode-infer-response.js';
import { decodeModelConfigResponse } from '../../protocol/http/decode-model-config-response.js';
import { encodeGenerateRequest } from '../../protocol/http/encode-generate-request.js';
import { encodeInferRequest, encodeJsonRequest } from '../../protocol/http/encode-infer-request.js';
import { KnownHeaders } from '../../protocol/http/known-headers.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import type { Call } from '../call.js';
import type { TransportOptions } from '../client-options.js';
import { codingOf, httpError } from './http-error.js';
import { HttpResponses, OneResponse } from './http-responses.js';
import type { HttpRequest, HttpResponse, HttpWire } from './http-wire.js';
import { modelPath } from './model-path.js';
import type { ServerOperation } from '../server/server-operation.js';
import type { Headers, ModelReference, ResponseStream, Transport } from '../transport.js';

const JSON_FORM = { 'content-type': 'application/json' };

export class HttpTransport implements Transport {
  readonly #wire: HttpWire;
  readonly #sendsBinary: boolean;
  readonly #known = new KnownHeaders();

  constructor(wire: HttpWire, { binaryData }: Pick<TransportOptions, 'binaryData'>) {
    this.#wire = wire;
    this.#sendsBinary = binaryData;
  }

  async infer(request: ClassifiedRequest, call: Call, headers: Headers): Promise<ModelInferResponse> {
    const { chunks, headerLength } = this.#sendsBinary ? encodeInferRequest(request) : encodeJsonRequest(request);
    const form =
      headerLength === undefined
        ? JSON_FORM
        : { 'content-type': 'application/octet-stream', 'inference-header-content-length': String(headerLength) };
    const response = await this.#exchange(call, {
      method: 'POST',
      path: `/v2${modelPath(request)}/infer`,
      headers: { ...headers, ...form },
      chunks,
    });
    // An answer repeats the id of its request.
    const known = request.id === '' ? this.#known : undefined;
    return decodeInferResponse(response.body, response.headers['inference-header-content-length'], known);
  }

  stream(request: ClassifiedRequest, model: ModelSignature, call: Call, headers: Headers): ResponseStream {
    call.throwIfAborted();
    if (!model.decoupled) return new OneResponse(this.infer(request, call, headers));
    const chunks = encodeGenerateRequest(request, model);
    const rows = model.maxBatchSize > 0 ? (request.inputs[0]?.shape[0] ?? 1) : undefined;
    const asked: HttpRequest = {
      method: 'POST',
      path: `/v2${modelPath(request)}/generate_stream`,
      headers: { ...headers, ...JSON_FORM },
      chunks,
    };
    const wanted = { model, rows, outputs: request.outputs };
    return new HttpResponses({ wire: this.#wire, opening: this.#wire.open(asked, call) }, wanted, call);
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

  async ask<Answer extends object>(
    { http, none }: ServerOperation<Answer>,
    call: Call,
    headers: Headers,
  ): Promise<Answer> {
    const { method, path, body, no } = http;
    const response = await this.#exchange(
      call,
      {
        method,
        path,
        headers: body === undefined ? headers : { ...headers, ...JSON_FORM },
        chunks: body === undefined ? [] : [body],
      },
      no,
    );
    return no.includes(response.status) ? none() : http.read(response.body);
  }

  close(): Promise<void> {
    return this.#wire.close();
  }

  async #exchange(call: Call, request: HttpRequest, also: readonly number[] = []): Promise<HttpResponse> {
    const response = await this.#wire.exchange(request, call);
    const { status, headers } = response;
    if (status === 200 ? codingOf(headers) !== undefined : !also.includes(status))
      throw httpError(response, this.#wire.address);
    return response;
  }
}
