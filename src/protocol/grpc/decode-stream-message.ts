// Decodes a message of ModelStreamInfer from its protobuf bytes, for clients: a response, or the error of a request.

import type { ErrorCode } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { WireReader } from '../protobuf/wire-reader.js';
import { LENGTH_DELIMITED } from '../protobuf/wire-types.js';
import { decodeInferResponse } from './decode-infer-response.js';
import { codeOfStreamError, ERROR_CODE } from './stream-error-code.js';

const reader = new WireReader('response');

/** The parameter that marks the last response to a request. */
const FINAL_RESPONSE = 'triton_final_response';

/** A message of a stream: a response, or the error of the request that has the response's id. */
export interface StreamMessage {
  readonly response: ModelInferResponse;
  readonly error: { readonly code: ErrorCode; readonly message: string } | undefined;
  /** Whether this is the last response to its request; undefined if the server does not say. */
  readonly final: boolean | undefined;
}

/** Throws INTERNAL when the bytes are neither a ModelStreamInferResponse nor a ModelInferResponse. */
export function decodeStreamMessage(bytes: Uint8Array): StreamMessage {
  const { error, response } = readFields(bytes);
  const decoded = decodeInferResponse(response);
  const final = decoded.parameters?.[FINAL_RESPONSE];
  return {
    response: decoded,
    error:
      error === '' ? undefined : { code: codeOfStreamError(decoded.parameters?.[ERROR_CODE], error), message: error },
    final: typeof final === 'boolean' ? final : undefined,
  };
}

/**
 * Whether the message only says that no more answers come. A model that is not decoupled may leave out all outputs; then the response
 * tells the version that has executed the request. tritonserver ends requests of sequences without an answer when others of the
 * sequence were cancelled.
 */
export function onlyEnds({ response, final }: Omit<StreamMessage, 'error'>, decoupled: boolean): boolean {
  return response.outputs.length === 0 && final === true && (decoupled || response.modelVersion === '');
}

/** The outputs of a response that is not in a ModelStreamInferResponse: MLServer streams responses as they are. */
const OUTPUTS = (5 << 3) | LENGTH_DELIMITED;

function readFields(bytes: Uint8Array): { readonly error: string; readonly response: Uint8Array } {
  let error = '';
  let response = bytes.subarray(0, 0);
  reader.start(bytes);
  try {
    while (reader.position < reader.limit) {
      const tag = reader.tag();
      if (tag === ((1 << 3) | LENGTH_DELIMITED)) error = reader.string();
      else if (tag === ((2 << 3) | LENGTH_DELIMITED)) {
        const length = reader.length();
        response = bytes.subarray(reader.position, reader.position + length);
        reader.position += length;
      } else if (tag === OUTPUTS) return { error: '', response: bytes };
      else reader.skip(tag);
    }
  } finally {
    reader.release();
  }
  return { error, response };
}
