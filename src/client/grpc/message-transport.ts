// What a transport does with gRPC's messages, whatever carries them.

import type { ModelInferResponse } from '../../model/exchange.js';
import type { ClassifiedRequest } from '../../protocol/classified-request.js';
import { decodeInferResponse } from '../../protocol/grpc/decode-infer-response.js';
import { decodeResponse } from '../../protocol/grpc/decode-message.js';
import { decodeModelConfigResponse } from '../../protocol/grpc/decode-model-config-response.js';
import { encodeInferRequest } from '../../protocol/grpc/encode-infer-request.js';
import { frameRequest } from '../../protocol/grpc/service-methods.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import type { Call } from '../call.js';
import type { ServerOperation } from '../server/server-operation.js';
import type { Headers, ModelReference, ResponseStream, Transport } from '../transport.js';

/** A request to one method. */
export interface AskedMethod {
  readonly method: string;
  /** The frame of the request message. */
  readonly chunks: readonly Uint8Array[];
  readonly headers: Headers;
}

export abstract class MessageTransport implements Transport {
  /** Resolves to the only message of the answer. */
  protected abstract unary(asked: AskedMethod, call: Call): Promise<Buffer>;

  abstract stream(request: ClassifiedRequest, model: ModelSignature, call: Call, headers: Headers): ResponseStream;

  abstract close(): Promise<void>;

  async infer(request: ClassifiedRequest, call: Call, headers: Headers): Promise<ModelInferResponse> {
    const chunks = encodeInferRequest(request);
    return decodeInferResponse(await this.unary({ method: 'ModelInfer', chunks, headers }, call));
  }

  async modelSignature(model: ModelReference, call: Call, headers: Headers): Promise<ModelSignature> {
    const chunks = [frameRequest('ModelConfig', { name: model.modelName, version: model.modelVersion })];
    return decodeModelConfigResponse(await this.unary({ method: 'ModelConfig', chunks, headers }, call));
  }

  async ask<Answer extends object>({ grpc }: ServerOperation<Answer>, call: Call, headers: Headers): Promise<Answer> {
    const { method, message, response } = grpc;
    const chunks = [frameRequest(method, message)];
    return decodeResponse(response, await this.unary({ method, chunks, headers }, call));
  }
}
