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
    [['Connection: close\xa0', 'Connection: \xa0close'], true],
    [['Connectiox: close'], true],
  ])('with %j lets the connection live: %s', (lines, keepsAlive) => {
    expect(read(head(...lines))).toMatchObject({ keepsAlive });
  });

  it.each([
    [['Connection: keep-alive'], true],
    [['Connection: x , Keep-Alive'], true],
    [['Connection: keep-alives'], false],
    [['Connection: keep-alive, close'], false],
    [[], false],
  ])('of HTTP/1.0 with %j lets the connection live: %s', (lines, keepsAlive) => {
    expect(read(head(...lines).replace('/1.1', '/1.0'))).toMatchObject({ keepsAlive });
  });

  it.each([
    [['Content-Length: 5'], 5],
    [['CONTENT-LENGTH:5'], 5],
    [['Content-Lengtx: 5', 'Content_Length: 6', 'Transfer-Encodinx: 7', 'Transfer_Encoding: chunked'], 0],
    [['Content-Length: 0'], 0],
    [[`Content-Length: ${'0'.repeat(30)}10`], 10],
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
    [['Expect: 200-ok', 'Expect: 100-continue'], '100-continue'],
    [['Expect: 100-continue', 'Expect: 200-ok'], '100-continue'],
    [['Expect: 1', 'Expect: 00-continue'], 'something else'],
    [['Expect: 100-continued'], 'something else'],
    [['Expect: not-100-continue', 'Expect: \xa0100-continue'], 'something else'],
    [['Expecx: 200-ok'], 'nothing'],
  ])('with %j expects %s', (lines, expects) => {
    expect(read(head(...lines))).toMatchObject({ expects });
  });
});

describe('the expectations of HTTP/1.0', () => {
  it('are none, whatever is said', () => {
    expect(read(head('Expect: 100-continue').replace('/1.1', '/1.0'))).toMatchObject({ expects: 'nothing' });
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
    [400, 'malformed HTTP request: no Host header', '1.1', ['Hosx', 'h']],
    [400, 'malformed HTTP request: invalid Host header', '1.1', ['Host', 'a b']],
    [400, 'malformed HTTP request: invalid Host header', '1.0', ['Host', '<script>']],
    [400, 'malformed HTTP request: invalid Host header', '1.1', ['Host', 'user@h']],
    [400, 'malformed HTTP request: invalid HTTP version', '1.2', ['Host', 'h']],
    [400, 'malformed HTTP request: invalid HTTP version', '3.0', ['Host', 'h']],
    [400, 'malformed HTTP request: more than one Host header', '1.1', ['Host', 'h', 'host', 'h']],
    [400, 'malformed HTTP request: more than one Host header', '1.0', ['Host', 'h', 'hOST', 'h']],
    [400, `${LAST}xchunked`, '1.1', ['Host', 'h', 'Transfer-Encoding', 'xchunked']],
    [400, `${LAST}\xa0chunked`, '1.1', ['Host', 'h', 'Transfer-Encoding', '\xa0chunked']],
    [400, `${LAST}chunked\xa0`, '1.1', ['Host', 'h', 'Transfer-Encoding', 'chunked\xa0']],
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
    [
      400,
      'malformed HTTP request: Content-Length overflows',
      '1.1',
      ['Host', 'h', 'Content-Length', '100000000000000000000'],
    ],
    [
      400,
      'malformed HTTP request: Content-Length overflows',
      '1.1',
      ['Host', 'h', 'Content-Length', '18446744073709551616'],
    ],
    [400, 'malformed HTTP request: Content-Length is not a number', '1.1', ['Host', 'h', 'Content-Length', '5, 5']],
  ])('that is not clear is refused with %d: %s', (status, message, version, headers) => {
    expect(faultOf(version, ...headers)).toMatchObject({ status, message });
  });
});

describe('what is no head', () => {
  it.each([
    ['an unknown method', 'BREW / HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a tab before the target', 'GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a tab behind the target', 'GET /\tHTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a byte beyond ASCII in the target', 'GET /\xe9 HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a first line that ends with another byte and a line feed', 'GET / HTTP/1.1x\nHost: h\r\n\r\n'],
    ['a first line that ends with a carriage return and another byte', 'GET / HTTP/1.1\rxHost: h\r\n\r\n'],
    ['a value that ends with NUL and a line feed', head('X: a\0\nY: b')],
    ['a header without a name', head(': a')],
    ['a header without a colon', head('X')],
    ['an empty line that ends with another byte', 'GET / HTTP/1.1\r\nHost: h\r\n\rX'],
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

  it('is not too large up to 16 kB and 2000 headers', () => {
    const empty = head('X:').length;
    const largest = head(`X:${'a'.repeat(16_384 - empty)}`);
    expect(read(largest)).toMatchObject({ method: 'GET' });
    expect(read(head(`X:${'a'.repeat(16_385 - empty)}`))).toMatchObject({ status: 431 });
    const reader = new RequestHeadReader();
    const bytes = Buffer.from(`${largest}x`);
    expect(reader.read(bytes, 0, 16_383)).toBeUndefined();
    expect(reader.read(bytes, 0, 16_384)).toMatchObject({ method: 'GET' });
    expect(read(head(...Array.from({ length: 1999 }, () => 'a:')))).toMatchObject({ method: 'GET' });
    expect(read(head(...Array.from({ length: 2000 }, () => 'a:')))).toMatchObject({ status: 431 });
  });

  it.each([
    ['BREW / HTTP/1.1\r\n', 'Invalid method encountered'],
    ['GET\t/ HTTP/1.1\r\n', 'Invalid method encountered'],
    ['GET host HTTP/1.1\r\n', 'Unexpected char in url schema'],
    ['GET /\0 HTTP/1.1\r\n', 'invalid request target'],
    ['GET / HTTP/1.1 \r\n', 'invalid HTTP version'],
    ['GET / HTTX/1.1\r\n', 'invalid HTTP version'],
    ['GET / HTTP/1.1\r\nX : a\r\n', 'invalid header name'],
    ['GET / HTTP/1.1\r\nX: \0\r\n', 'invalid header value'],
    ['GET / HTTP/1.1\r\n\rx', 'a carriage return without a line feed'],
    ['GET http://u@h/ HTTP/1.0\r\n\r\n', 'invalid host in the request target'],
    ['GET http:///v2 HTTP/1.0\r\n\r\n', 'invalid host in the request target'],
  ])('is refused with what is wrong: %j', (text, detail) => {
    expect(read(text)).toMatchObject({ status: 400, message: `malformed HTTP request: ${detail}`, detail });
  });

  it('is that of another protocol when the first line has no version', () => {
    const message = 'HTTP/0.9 is not supported, expected HTTP/1.1 or HTTP/1.0';
    expect(read('GET /v2\r\n')).toMatchObject({ status: 505, message });
    expect(read('GET /v2\r')).toBeUndefined();
  });

  it('has values without the blanks around them, however many', () => {
    const found = read(head('A: \t b \t c \t ', 'B: \t ', 'C:d', 'D:')) as RequestHead;
    expect(found.rawHeaders.slice(2)).toEqual(['A', 'b \t c', 'B', '', 'C', 'd', 'D', '']);
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

  it.each([...TEXTS, head('X: ', 'Y:b ')])('does not depend on what lies behind what has come: %j', (text) => {
    const whole = read(text);
    for (const behind of ['x', ' ', '\r', '\n', '\0']) {
      const reader = new RequestHeadReader();
      let found: RequestHead | Fault | undefined;
      for (let end = 1; found === undefined && end <= text.length; end++) {
        found = reader.read(Buffer.from(text.slice(0, end) + behind.repeat(40), 'latin1'), 0, end);
      }
      expect(found).toEqual(whole);
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

describe('the heads that come one after the other', () => {
  const texts = [
    'GET / HTTP/1.1\r\nHost: h\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\n',
    'GET / HTTP/1.0\r\nHost: h\r\n\r\n',
    'GET / HTTP/1.0\r\n\r\n',
    'GET / HTTP/1.1\r\nContent-Length: 7\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: a b\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: h:80\r\nContent-Length: 007\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 1234567890123456\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 7x\r\n\r\n',
    'GET / HTTP/1.1\r\nHost: h\r\nContent-Length:\r\n\r\n',
    'GET / HTTP/1.1 \r\nHost: h\r\n\r\n',
    'GET / HTTP/1.\r\n',
    'GET /other HTTP/1.1\r\nHost: h\r\n\r\n',
    'POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 7\r\n\r\n',
    'GET http://x/ HTTP/1.1\r\nHost: h\r\n\r\n',
    'GET http:///x HTTP/1.1\r\nHost: h\r\n\r\n',
    `GET /${'x'.repeat(600)} HTTP/1.1\r\nHost: h\r\n\r\n`,
  ];

  it.each([Infinity, 3])('are each read as if they came alone, in pieces of %d bytes', (size) => {
    const reader = new RequestHeadReader();
    for (const before of texts) {
      for (const text of texts) {
        for (const one of [before, text]) {
          const bytes = Buffer.from(one);
          let found: RequestHead | Fault | undefined;
          for (let end = Math.min(size, bytes.length); found === undefined && end <= bytes.length; end += size) {
            found = reader.read(bytes, 0, end);
          }
          found ??= reader.read(bytes, 0, bytes.length);
          expect(found).toEqual(read(one));
        }
      }
    }
  });
});
