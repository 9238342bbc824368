// Requests for inference as they come over gRPC, alike for both methods: decoded, with the metadata that the operator
// forwards; and answers in the form that was asked for.

import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { ModelInferRequest, ModelInferResponse } from '../../model/exchange.js';
import { classifyOutputs } from '../../protocol/classification.js';
import {
  decodeModelInferRequest,
  type AdmitModel,
  type DecodedInferRequest,
} from '../../protocol/grpc/decode-model-infer-request.js';
import type { HeaderForwarding } from '../../protocol/header-forwarding.js';
import type { ServedCore } from './served-core.js';
import type { CallContext } from './unary-call.js';

export interface InferMethodOptions {
  readonly server: Pick<ServedCore, 'modelConfig' | 'infer' | 'exiting'>;
  /** Which metadata become parameters; undefined for none. */
  readonly forwarding: HeaderForwarding | undefined;
}

/** Decodes a request; throws what is wrong with it. `admit` is called as by {@link decodeModelInferRequest}. */
export function readInferRequest(
  message: Buffer,
  call: CallContext,
  { forwarding, admit }: { readonly forwarding: HeaderForwarding | undefined; readonly admit: AdmitModel },
): DecodedInferRequest {
  const decoded = decodeModelInferRequest(message, admit);
  if (forwarding === undefined) return decoded;
  const parameters = forwarding.forward(call.rawHeaders, decoded.request.parameters);
  const request: ModelInferRequest = { ...decoded.request, parameters };
  return { ...decoded, request };
}

/** The answer with those outputs classified that were asked for so. Throws INVALID_ARG when one cannot be. */
export function answerInForm(
  response: ModelInferResponse,
  { classes }: DecodedInferRequest,
  config: CompleteModelConfig,
): ModelInferResponse {
  if (classes === undefined) return response;
  return { ...response, outputs: classifyOutputs(response.outputs, classes, config) };
}
