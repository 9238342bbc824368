// An HTTP frontend over a core whose models are scripts: tests say what comes of each request, and when.
import { once } from 'node:events';
import { request as httpRequest, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http';

import type { ResponseSink } from '../../src/core/response-sink.js';
import { TritonError } from '../../src/errors.js';
import { HttpFrontend } from '../../src/frontend/http/http-frontend.js';
import { HttpService, type HttpServiceOptions } from '../../src/frontend/http/http-service.js';
import type { ServedCore } from '../../src/frontend/served-core.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../src/model/complete-model-config.js';
import type { InferTensor, ModelInferRequest, ModelInferResponse } from '../../src/model/exchange.js';
import type { Parameters } from '../../src/model/parameters.js';

export interface Asked {
  readonly request: ModelInferRequest;
  readonly sink: ResponseSink;
  /** Aborts when the request is cancelled. */
  readonly signal: AbortSignal;
}

export type Script = (asked: Asked) => void;

const spec = (name: string, rest: Partial<CompleteTensorSpec> = {}): CompleteTensorSpec => ({
  name,
  dtype: 'float32',
  datatype: 'FP32',
  shape: [-1],
  optional: false,
  ...rest,
});

/** x and y FP32 [-1], y with labels. */
export const MODEL: CompleteModelConfig = {
  name: 'm',
  version: 1,
  inputs: [spec('x')],
  outputs: [spec('y', { labels: ['cat', 'dog'] })],
  maxBatchSize: 8,
  dynamicBatching: undefined,
  instanceCount: 1,
  concurrency: 1,
  decoupled: false,
  responseCache: false,
  strict: false,
};

/** A response of the model to the request, with these outputs. */
export function responseTo(
  { request }: Asked,
  outputs: readonly InferTensor[] = request.inputs.map((input) => ({ ...input, name: 'y' })),
  parameters?: Parameters,
): ModelInferResponse {
  return { modelName: request.modelName, modelVersion: '1', id: request.id, parameters, outputs };
}

export class ScriptedServer {
  readonly port: number;
  readonly #frontend: HttpFrontend;

  private constructor(frontend: HttpFrontend, port: number) {
    this.#frontend = frontend;
    this.port = port;
  }

  /** Serves one model, called `m`, that does what the script says. */
  static async start(
    script: Script,
    options: Partial<HttpServiceOptions> & { readonly model?: Partial<CompleteModelConfig> } = {},
  ): Promise<ScriptedServer> {
    const { model, ...rest } = options;
    const config = { ...MODEL, ...model };
    const core = {
      exiting: false,
      routes: new Map(),
      resolve: (name: string) => {
        if (name === config.name) return { config, load: 1, isServed: true };
        throw new TritonError('NOT_FOUND', `Request for unknown model: '${name}' is not found`);
      },
      infer: (request: ModelInferRequest, sink: ResponseSink) => {
        const controller = new AbortController();
        script({ request, sink, signal: controller.signal });
        return { cancel: () => controller.abort() };
      },
      refused: () => undefined,
    };
    const nothing = () => undefined;
    const logger = { error: nothing, warn: nothing, info: nothing, verbose: nothing };
    const service = new HttpService({ server: core as unknown as ServedCore, maxInputSize: 1 << 26, ...rest });
    const frontend = new HttpFrontend(service, { address: '127.0.0.1', port: 0, logger });
    return new ScriptedServer(frontend, await frontend.start());
  }

  /** Sends a request on a connection of its own; resolves with the head of the answer. */
  async open(
    path: string,
    body: string | Uint8Array,
    headers: OutgoingHttpHeaders = {},
    method = 'POST',
  ): Promise<IncomingMessage> {
    const request = httpRequest({ port: this.port, host: '127.0.0.1', path, method, headers, agent: false });
    request.end(body);
    const [answer] = (await once(request, 'response')) as [IncomingMessage];
    return answer;
  }

  /** The same with the whole body. */
  async ask(
    path: string,
    body: string | Uint8Array,
    headers: OutgoingHttpHeaders = {},
    method = 'POST',
  ): Promise<{ readonly status: number; readonly headers: IncomingMessage['headers']; readonly body: Buffer }> {
    const answer = await this.open(path, body, headers, method);
    const pieces: Buffer[] = [];
    for await (const piece of answer) pieces.push(piece as Buffer);
    return { status: answer.statusCode!, headers: answer.headers, body: Buffer.concat(pieces) };
  }

  stop(): Promise<void> {
    return this.#frontend.close();
  }
}
