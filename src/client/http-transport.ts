// The HTTP side of the client: Triton's REST paths with binary tensors both ways, over kept connections. An idle
// connection does not keep the process alive.

import { Agent as PlainAgent, type Agent } from 'node:http';
import { Agent as TlsAgent } from 'node:https';

import type { ModelInferRequest, ModelInferResponse } from '../model/exchange.js';
import { decodeInferResponse } from '../protocol/http/decode-infer-response.js';
import { decodeModelConfigResponse } from '../protocol/http/decode-model-config-response.js';
import { encodeInferRequest } from '../protocol/http/encode-infer-request.js';
import type { ModelSignature } from '../protocol/model-signature.js';
import type { Call } from './call.js';
import type { ClientTlsOptions } from './client-options.js';
import { httpError } from './http-error.js';
import { exchange, type HttpRequest, type HttpResponse } from './http-exchange.js';
import type { ServerUrl } from './parse-url.js';
import type { Headers, ModelReference, Transport } from './transport.js';

/** Idle connections are closed after this time, or earlier when the server announces that it closes them itself. */
const IDLE_MILLISECONDS = 60_000;

export class HttpTransport implements Transport {
  readonly #server: ServerUrl;
  readonly #agent: Agent;

  constructor(server: ServerUrl, tls: ClientTlsOptions) {
    this.#server = server;
    const options = { keepAlive: true, timeout: IDLE_MILLISECONDS };
    this.#agent = server.tls ? new TlsAgent({ ...options, ...tls }) : new PlainAgent(options);
  }

  async infer(request: ModelInferRequest, call: Call, headers: Headers): Promise<ModelInferResponse> {
    const { chunks, contentLength, headerLength } = encodeInferRequest(request);
    const response = await this.#exchange(call, {
      method: 'POST',
      path: `${modelPath(request)}/infer`,
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

  async modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature> {
    const response = await this.#exchange(call, {
      method: 'GET',
      path: `${modelPath(model)}/config`,
      headers,
      chunks: [],
    });
    return decodeModelConfigResponse(response.body);
  }

  async close(): Promise<void> {
    const { sockets, freeSockets } = this.#agent;
    const open = [...Object.values(sockets), ...Object.values(freeSockets)].flatMap((list) => list ?? []);
    const closed = open.map((socket) => new Promise<void>((resolve) => void socket.once('close', () => resolve())));
    this.#agent.destroy();
    await Promise.all(closed);
  }

  async #exchange(call: Call, request: HttpRequest): Promise<HttpResponse> {
    const response = await exchange(this.#server, this.#agent, request, call);
    if (response.status !== 200) throw httpError(response.status, response.body, this.#server.address);
    return response;
  }
}

function modelPath({ modelName, modelVersion }: ModelReference): string {
  const version = modelVersion === '' ? '' : `/versions/${modelVersion}`;
  return `/v2/models/${encodeURIComponent(modelName)}${version}`;
}
