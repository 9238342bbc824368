// The headers that a client sends with its requests: the user's headers, checked, and the access token.

import { lowerCase } from '../ascii.js';
import { expectObject } from '../checks/check.js';
import { TritonError } from '../errors.js';
import { expectText } from './option-values.js';
import type { Headers } from './transport.js';

// Only the transport sets the headers that frame the message or the connection. It asks for no compressed answer, and reads none.
const OWN_HEADERS = [
  'accept-encoding',
  'connection',
  'content-encoding',
  'content-length',
  'content-type',
  'expect',
  'grpc-encoding',
  'grpc-timeout',
  'host',
  'inference-header-content-length',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
];

const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/;

export function checkHeaders(headers: unknown): Headers {
  if (headers === undefined) return {};
  expectObject(headers, 'headers');
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers as object)) {
    if (!/^[!#$%&'*+.^_`|~0-9a-z-]+$/i.test(name))
      throw new TritonError('INVALID_ARG', `invalid header name ${JSON.stringify(name)}`);
    const key = lowerCase(name);
    if (OWN_HEADERS.includes(key)) throw new TritonError('INVALID_ARG', `header '${name}' is set by the client itself`);
    // The error does not show the value: it may be a secret.
    if (!VALUE.test(expectText(value, `header '${name}'`))) {
      throw new TritonError('INVALID_ARG', `header '${name}' has a value with characters that headers cannot have`);
    }
    checked[key] = value as string;
  }
  return checked;
}

/** The header in which servers look for the token. Over gRPC, restrictions have a prefix of their own. */
const TOKEN_HEADER = {
  http: 'triton-access-token',
  grpc: 'triton-grpc-protocol-triton-access-token',
} as const;

export function withToken(headers: Headers, token: unknown, protocol: 'http' | 'grpc'): Headers {
  if (token === undefined) return headers;
  const value = expectText(token, 'accessToken');
  if (value === '') throw new TritonError('INVALID_ARG', 'accessToken cannot be empty');
  if (!VALUE.test(value)) {
    throw new TritonError(
      'INVALID_ARG',
      'accessToken has characters that headers cannot have, such as the end of a line',
    );
  }
  const name = TOKEN_HEADER[protocol];
  // We cannot know which of the two the user means. The error shows neither.
  if (headers[name] !== undefined && headers[name] !== token)
    throw new TritonError('INVALID_ARG', `accessToken and header '${name}' differ, expected one of them`);
  return { ...headers, [name]: value };
}
