// Decodes messages other than inference: requests, with limits on their content, and responses.

import { TritonError } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import type { MessageType } from '../protobuf/message-type.js';
import { readMessage } from '../protobuf/read-message.js';
import { WireReader } from '../protobuf/wire-reader.js';

const requestReader = new WireReader('request', {
  fields: REQUEST_LIMITS.controlFields,
  nameBytes: REQUEST_LIMITS.nameBytes,
  textBytes: REQUEST_LIMITS.controlBytes,
});

/** Throws INTERNAL when the bytes are not such a message, and INVALID_ARG for too many fields, nested ones included. */
export function decodeMessage<T extends object>(type: MessageType<T>, bytes: Uint8Array): T {
  return readMessage(type, bytes, requestReader);
}

const responseReader = new WireReader('response');

/** For clients. Throws INTERNAL when the bytes are not such a message. */
export function decodeResponse<T extends object>(type: MessageType<T>, bytes: Uint8Array): T {
  try {
    return readMessage(type, bytes, responseReader);
  } catch (error) {
    const { message } = TritonError.from(error);
    throw new TritonError('INTERNAL', `malformed response of the server: ${message}`, { cause: error });
  }
}
