// What node:http lets pass and RFC 9112 has a server refuse: other versions, a missing or doubled Host, and transfer
// codings that would leave it open where the body ends.

import type { IncomingMessage } from 'node:http';

export interface FramingFault {
  readonly status: number;
  readonly message: string;
}

/** Undefined for a request that can be answered. After an answer to any other the connection has to close. */
export function framingFault(
  request: Pick<IncomingMessage, 'httpVersion' | 'httpVersionMajor' | 'headers' | 'rawHeaders'>,
): FramingFault | undefined {
  const { httpVersion, httpVersionMajor, headers } = request;
  if (httpVersionMajor !== 1) {
    return { status: 505, message: `HTTP/${httpVersion} is not supported, expected HTTP/1.1 or HTTP/1.0` };
  }
  const hosts = countHosts(request.rawHeaders);
  if (hosts > 1) return malformed('more than one Host header');
  if (hosts === 0 && httpVersion !== '1.0') return malformed('no Host header');
  const coding = headers['transfer-encoding'];
  if (coding === undefined || (coding === 'chunked' && httpVersion !== '1.0')) return undefined;
  return transferFault(coding, httpVersion);
}

function countHosts(rawHeaders: readonly string[]): number {
  let count = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i]!;
    if (name.length === 4 && name.toLowerCase() === 'host') count++;
  }
  return count;
}

/** RFC 9112, section 6.1 and 6.3. */
function transferFault(coding: string, httpVersion: string): FramingFault | undefined {
  if (httpVersion === '1.0') return malformed('HTTP/1.0 has no Transfer-Encoding');
  const codings = coding.split(',').map((name) => name.trim().toLowerCase());
  if (codings.indexOf('chunked') !== codings.length - 1) {
    return malformed(`chunked must be the last transfer coding, once, got: ${coding}`);
  }
  if (codings.length === 1) return undefined;
  return { status: 501, message: `the only transfer coding that is supported is chunked, got: ${coding}` };
}

function malformed(what: string): FramingFault {
  return { status: 400, message: `malformed HTTP request: ${what}` };
}
