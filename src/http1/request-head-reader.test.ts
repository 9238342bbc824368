import { describe, expect, it } from 'vitest';

import type { Fault } from './fault.js';
import { RequestHeadReader } from './request-head-reader.js';
import type { RequestHead } from './request-head.js';

function read(text: string): RequestHead | Fault | undefined {
  const bytes = Buffer.from(text, 'latin1');
  return new RequestHeadReader().read(bytes, 0, bytes.length);
}

function head(...lines: readonly string[]): string {
  return ['GET / HTTP/1.1', 'Host: h', ...lines, '', ''].join('\r\n');
}

function faultOf(version: string, ...headers: readonly string[]): unknown {
  const lines = headers.flatMap((name, i) => (i % 2 === 0 ? [`${name}: ${headers[i + 1]!}`] : []));
  const found = read([`GET / HTTP/${version}`, ...lines, '', ''].join('\r\n'));
  return found !== undefined && 'status' in found ? found : undefined;
}

describe('a head', () => {
  it('is a method, a target and headers, as they came', () => {
    const found = read(head('X-One:  a b\t', 'x-one:c', 'Empty:', 'X-\x7e: \xe9')) as RequestHead;
    expect([found.method, found.target, found.bodyLength, found.keepsAlive]).toEqual(['GET', '/', 0, true]);
    expect(found.rawHeaders).toEqual(['Host', 'h', 'X-One', 'a b', 'x-one', 'c', 'Empty', '', 'X-~', '\xe9']);
  });

  it('gives a header by its lower-case name, several lines as one', () => {
    const found = read(head('X-One: a', 'COOKIE: a=1', 'x-oNE: b', 'Cookie: b=2', 'x^one: c')) as RequestHead;
    expect(['x-one', 'cookie', 'x^one', 'x~one', 'none'].map((name) => found.header(name))).toEqual([
      'a, b',
      'a=1; b=2',
      'c',
      undefined,
      undefined,
    ]);
  });

  it('may be followed by anything, and may lie anywhere', () => {
    const bytes = Buffer.from(`xx${head()}GET`, 'latin1');
    const reader = new RequestHeadReader();
    expect(reader.read(bytes, 2, bytes.length)).toMatchObject({ method: 'GET' });
    expect(reader.length).toBe(head().length);
  });

  it.each([
    [[], true],
    [['Connection: close'], false],
    [['Connection: keep-alive, CLOSE'], false],
    [['Connection: keep-alive', 'Connection: x, close'], false],
    [['Connection: closed'], true],
  ])('with %j lets the connection live: %s', (lines, keepsAlive) => {
    expect(read(head(...lines))).toMatchObject({ keepsAlive });
  });

  it.each([
    [['Content-Length: 5'], 5],
    [['Content-Length: 0005'], 5],
    [['Content-Length: 18446744073709551615'], 2 ** 64],
    [['Transfer-Encoding: chunked'], undefined],
    [['Transfer-Encoding: CHUNKED'], undefined],
  ])('with %j has a body of %s bytes', (lines, bodyLength) => {
    expect(read(head(...lines))).toMatchObject({ bodyLength });
    expect(Object.hasOwn(read(head(...lines))!, 'bodyLength')).toBe(true);
  });

  it.each([
    [[], 'nothing'],
    [['Expect: 100-Continue'], '100-continue'],
    [['Expect: 200-ok'], 'something else'],
  ])('with %j expects %s', (lines, expects) => {
    expect(read(head(...lines))).toMatchObject({ expects });
  });
});

describe('the framing of a message', () => {
  it.each([
    ['1.1', 'Host', 'h'],
    ['1.1', 'HOST', '', 'Accept', '*/*'],
    ['1.1', 'Host', 'h', 'Transfer-Encoding', 'chunked'],
    ['1.1', 'Host', 'h', 'Transfer-Encoding', 'CHUNKED'],
    ['1.0'],
    ['1.0', 'Host', 'h'],
  ])('is clear for HTTP/%s with %s: %s', (version, ...headers) => {
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
    [
      400,
      'malformed HTTP request: both Content-Length and Transfer-Encoding',
      '1.1',
      ['Host', 'h', 'Content-Length', '5', 'Transfer-Encoding', 'chunked'],
    ],
    [
      400,
      'malformed HTTP request: more than one Content-Length',
      '1.1',
      ['Host', 'h', 'Content-Length', '5', 'Content-Length', '5'],
    ],
    [400, 'malformed HTTP request: Content-Length overflows', '1.1', ['Host', 'h', 'Content-Length', '9'.repeat(20)]],
    [400, 'malformed HTTP request: Content-Length is not a number', '1.1', ['Host', 'h', 'Content-Length', '5, 5']],
  ])('that is not clear is refused with %d: %s', (status, message, version, headers) => {
    expect(faultOf(version, ...headers)).toMatchObject({ status, message });
  });
});

describe('what is no head', () => {
  it.each([
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['two spaces before the target', 'GET  / HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['two spaces behind the target', 'GET /  HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a space behind the version', 'GET / HTTP/1.1 \r\nHost: h\r\n\r\n'],
    ['a target without a scheme', 'GET host/path HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['more than an asterisk', 'OPTIONS *x HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a blank before the first header', 'GET / HTTP/1.1\r\n Host: h\r\n\r\n'],
    ['a folded line', head('X: a', ' b')],
    ['a space before the colon', head('X : a')],
    ['a name beyond ASCII', head('\xe9: a')],
    ['DEL in a value', head('X: a\x7f')],
    ['a carriage return alone', head('X: a\rb')],
    ['a line feed alone', head('X: a\nY: b')],
    ['a carriage return before the empty line', head('X: a\r')],
    ['NUL in the target', 'GET /\0 HTTP/1.1\r\nHost: h\r\n\r\n'],
  ])('is refused: %s', (_, text) => {
    expect(read(text)).toMatchObject({ status: 400 });
  });

  it.each(['\x16\x03\x01', '{"a":', ' GET', 'GEX', 'GET /\n', 'GET / HTTP/1.1\n', 'GET / HTTP/1.1\r\nHost: h\n'])(
    'is refused as soon as it can be: %o',
    (text) => {
      expect(read(text)).toMatchObject({ status: 400 });
    },
  );

  it('is refused when it is too large, whole or not', () => {
    for (const text of [head(`X: ${'a'.repeat(17_000)}`), `GET /${'a'.repeat(17_000)}`, head('a:'.repeat(9000))]) {
      expect(read(text)).toMatchObject({ status: 431 });
    }
    expect(read(head(...Array.from({ length: 2001 }, () => 'a:')))).toMatchObject({ status: 431 });
    expect(read(head(`X: ${'a'.repeat(16_000)}`))).toMatchObject({ method: 'GET' });
  });
});

describe('a head in pieces', () => {
  const TEXTS = [
    head('Content-Length: 5', 'X-A: b'),
    head('X: a\nb'),
    head('X : a'),
    'PROPPATCH http://h/a?b HTTP/1.0\r\n\r\n',
    'GET /v2\r\n\r\n',
    head('Content-Length: x'),
  ];
  it.each(TEXTS)('is what it is whole: %j', (text) => {
    const whole = read(text);
    const bytes = Buffer.from(text, 'latin1');
    const reader = new RequestHeadReader();
    let found: RequestHead | Fault | undefined;
    for (let end = 1; found === undefined && end <= bytes.length; end++) found = reader.read(bytes, 0, end);
    expect(found).toEqual(whole);
    for (let cut = 1; cut < bytes.length; cut++) {
      const other = new RequestHeadReader();
      expect(other.read(bytes, 0, cut) ?? other.read(bytes, 0, bytes.length)).toEqual(whole);
    }
  });

  it('leaves nothing behind for the next one', () => {
    const reader = new RequestHeadReader();
    for (const text of [head('Content-Length: 5'), head('X : a'), head('Transfer-Encoding: chunked')]) {
      const bytes = Buffer.from(text, 'latin1');
      expect(reader.read(bytes, 0, 3)).toBeUndefined();
      expect(reader.read(bytes, 0, bytes.length)).toEqual(read(text));
    }
  });
});
