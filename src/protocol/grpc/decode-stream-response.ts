// A ModelStreamInferResponse from its protobuf bytes, for clients: a response, or the message that a request failed with.

import { TritonError } from '../../errors.js';
import type { ModelInferResponse } from '../../model/exchange.js';
import { WireReader } from '../protobuf/wire-reader.js';
import { LENGTH_DELIMITED } from '../protobuf/wire-types.js';
import { decodeInferResponse } from './decode-infer-response.js';

const reader = new WireReader('response');

/** Of our own requests each ends with its stream, but a server may say it in a response too. */
const FINAL_RESPONSE = 'triton_final_response';

/**
 * Undefined for a message that only says that there are no more. Throws the error that the message tells, whose code nobody
 * tells: NOT_FOUND for an unknown model, in Triton's words, else UNKNOWN; and INTERNAL when the bytes are no such message.
 */
export function decodeStreamResponse(bytes: Uint8Array): ModelInferResponse | undefined {
  const { error, response } = readFields(bytes);
  if (error !== '')
    throw new TritonError(error.startsWith('Request for unknown model') ? 'NOT_FOUND' : 'UNKNOWN', error);
  const decoded = decodeInferResponse(response);
  const { parameters, outputs } = decoded;
  return outputs.length === 0 && parameters?.[FINAL_RESPONSE] === true ? undefined : decoded;
}

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
      } else reader.skip(tag);
    }
  } finally {
    reader.release();
  }
  return { error, response };
}
