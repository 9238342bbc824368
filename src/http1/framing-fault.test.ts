import { expect, it } from 'vitest';

import { framingFault } from './framing-fault.js';

function faultOf(version: string, ...rawHeaders: string[]) {
  const coding = rawHeaders.flatMap((name, i) => (name === 'Transfer-Encoding' ? [rawHeaders[i + 1]!] : [])).join(', ');
  return framingFault({
    httpVersion: version,
    httpVersionMajor: Number(version[0]),
    headers: coding === '' ? {} : { 'transfer-encoding': coding },
    rawHeaders,
  });
}

it.each([
  ['1.1', 'Host', 'h'],
  ['1.1', 'HOST', '', 'Accept', '*/*'],
  ['1.1', 'Host', 'h', 'Transfer-Encoding', 'chunked'],
  ['1.1', 'Host', 'h', 'Transfer-Encoding', 'CHUNKED'],
  ['1.0'],
  ['1.0', 'Host', 'h'],
])('lets HTTP/%s with %s: %s pass', (version, ...headers) => {
  expect(faultOf(version, ...headers)).toBeUndefined();
});

const LAST = 'malformed HTTP request: chunked must be the last transfer coding, once, got: ';
it.each<[number, string, string, string[]]>([
  [505, 'HTTP/2.0 is not supported, expected HTTP/1.1 or HTTP/1.0', '2.0', ['Host', 'h']],
  [505, 'HTTP/0.9 is not supported, expected HTTP/1.1 or HTTP/1.0', '0.9', []],
  [400, 'malformed HTTP request: no Host header', '1.1', ['Accept', 'Host']],
  [400, 'malformed HTTP request: more than one Host header', '1.1', ['Host', 'h', 'host', 'h']],
  [400, 'malformed HTTP request: more than one Host header', '1.0', ['Host', 'h', 'hOST', 'h']],
  [400, `${LAST}xchunked`, '1.1', ['Host', 'h', 'Transfer-Encoding', 'xchunked']],
  [400, `${LAST}chunked, gzip`, '1.1', ['Host', 'h', 'Transfer-Encoding', 'chunked, gzip']],
  [
    400,
    `${LAST}chunked, chunked`,
    '1.1',
    ['Host', 'h', 'Transfer-Encoding', 'chunked', 'Transfer-Encoding', 'chunked'],
  ],
  [400, 'malformed HTTP request: HTTP/1.0 has no Transfer-Encoding', '1.0', ['Transfer-Encoding', 'chunked']],
  [
    501,
    'the only transfer coding that is supported is chunked, got: gzip, chunked',
    '1.1',
    ['Host', 'h', 'Transfer-Encoding', 'gzip, chunked'],
  ],
])('refuses with %d: %s', (status, message, version, headers) => {
  expect(faultOf(version, ...headers)).toEqual({ status, message });
});
