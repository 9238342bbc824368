// Parses the JSON of a server's answer, for clients. What a server sends wrongly is no mistake of the caller: INTERNAL.

import { TritonError } from '../../errors.js';
import { parseJson } from '../json/json-parser.js';
import type { JsonValue } from '../json/json-value.js';

/** Parses the first `length` bytes. Throws INTERNAL with what the parser says. */
export function parseResponseJson(body: Buffer, length: number = body.length): JsonValue {
  return readResponse(() => parseJson(body, 0, length));
}

/** Runs a reader of the protocol's JSON; what it refuses becomes INTERNAL. */
export function readResponse<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { message } = TritonError.from(error);
    // The readers are those of requests, and speak of them.
    const detail = message.replace(/^failed to parse the request JSON buffer: /, 'failed to parse the JSON: ');
    throw new TritonError('INTERNAL', `malformed response of the server: ${detail}`, { cause: error });
  }
}
