// Parses the JSON of a server's answer, for clients. The code is INTERNAL, because the server's mistake is not the caller's.

import { TritonError } from '../../errors.js';
import { parseJson } from '../json/json-parser.js';
import type { JsonValue } from '../json/json-value.js';

/** The error shows the beginning of the text that does not parse: enough to recognise a web page. */
const SHOWN_BYTES = 60;

/** Parses the first `length` bytes. Throws INTERNAL with the parser's text. */
export function parseResponseJson(body: Buffer, length: number = body.length): JsonValue {
  const got = () =>
    length === 0 ? '' : `, got ${JSON.stringify(body.toString('utf8', 0, Math.min(length, SHOWN_BYTES)))}`;
  return readResponse(() => parseJson(body, 0, length), got);
}

/** Runs a reader of the protocol's JSON, and turns its refusals into INTERNAL. `got`: what their texts do not say. */
export function readResponse<T>(read: () => T, got: () => string = () => ''): T {
  try {
    return read();
  } catch (error) {
    const { message } = TritonError.from(error);
    // The readers are made for requests, and their texts speak of requests.
    const detail = message.replace(/^failed to parse the request JSON buffer: /, 'failed to parse the JSON: ');
    throw new TritonError('INTERNAL', `malformed response of the server: ${detail}${got()}`, { cause: error });
  }
}
