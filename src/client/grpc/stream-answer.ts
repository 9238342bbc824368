// A message of ModelStreamInfer as the client's callers get it: its error is the one that a refusal of the whole call would be.

import type { ModelInferResponse } from '../../model/exchange.js';
import { decodeStreamMessage, onlyEnds } from '../../protocol/grpc/decode-stream-message.js';
import { refusal } from '../refusal.js';
import type { StreamedResponse } from '../transport.js';

/** A response, or the error of the request that has the response's id. Throws INTERNAL for a malformed message. */
export function readStreamAnswer(bytes: Uint8Array): StreamedResponse {
  const { error, ...message } = decodeStreamMessage(bytes);
  return { ...message, error: error && refusal(error.code, error.message) };
}

/** The same for the only request of a stream to a model. Returns undefined for a message that only ends the answers, and throws an error. */
export function readOnlyAnswer(bytes: Uint8Array, decoupled: boolean): ModelInferResponse | undefined {
  const answer = readStreamAnswer(bytes);
  if (answer.error !== undefined) throw answer.error;
  return onlyEnds(answer, decoupled) ? undefined : answer.response;
}
