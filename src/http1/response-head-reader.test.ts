import { describe, expect, it } from 'vitest';

import type { Fault } from './fault.js';
import { ResponseHeadReader } from './response-head-reader.js';
import type { ResponseHead } from './response-head.js';

function read(text: string): ResponseHead | Fault | undefined {
  const bytes = Buffer.from(text, 'latin1');
  return new ResponseHeadReader().read(bytes, 0, bytes.length);
}

function head(line: string, ...headers: readonly string[]): string {
  return [line, ...headers, '', ''].join('\r\n');
}

const OK = 'HTTP/1.1 200 OK';

describe('the head of an answer', () => {
  it('is a status and headers, as they came', () => {
    const found = read(head('HTTP/1.1 503 Service \xe9 Unavailable', 'X-One:  a b\t', 'x-one:c')) as ResponseHead;
    expect([found.status, found.header('x-one')]).toEqual([503, 'a b, c']);
    expect(found.rawHeaders).toEqual(['X-One', 'a b', 'x-one', 'c']);
  });

  it.each(['HTTP/1.1 200 ', 'HTTP/1.1 200', 'HTTP/1.0 200 \t'])('needs no reason: %j', (line) => {
    expect(read(head(line))).toMatchObject({ status: 200 });
  });

  it.each<[string, string[], number | undefined, boolean]>([
    [OK, ['Content-Length: 5'], 5, true],
    [OK, ['Content-Length: 0'], 0, true],
    [OK, ['Transfer-Encoding: Chunked'], undefined, true],
    [OK, [], Infinity, false],
    [OK, ['Connection: keep-alive'], Infinity, false],
    [OK, ['Content-Length: 5', 'Connection: x, Close'], 5, false],
    ['HTTP/1.0 200 OK', ['Content-Length: 5'], 5, false],
    ['HTTP/1.0 200 OK', ['Content-Length: 5', 'Connection: Keep-Alive'], 5, true],
    ['HTTP/1.1 204 No Content', [], 0, true],
    ['HTTP/1.1 204 No Content', ['Content-Length: 0'], 0, true],
    ['HTTP/1.1 304 Not Modified', ['Content-Length: 5'], 0, true],
    ['HTTP/1.1 103 Early Hints', [], 0, true],
  ])('%s with %j has a body of %s bytes, and the connection lives: %s', (line, headers, bodyLength, keepsAlive) => {
    const found = read(head(line, ...headers)) as ResponseHead;
    expect([found.bodyLength, found.keepsAlive]).toEqual([bodyLength, keepsAlive]);
  });

  it.each<[string, number | undefined]>([
    ['Keep-Alive: timeout=5', 5000],
    ['keep-alive: max=100, Timeout=620', 620_000],
    ['Keep-Alive: xtimeout=5', undefined],
    ['X: timeout=5', undefined],
  ])('with %j says that the connection is kept for %s ms', (line, milliseconds) => {
    expect((read(head(OK, line)) as ResponseHead).keptMilliseconds).toBe(milliseconds);
  });
});

describe('an answer that leaves open where it ends', () => {
  it.each<[string, string, ...string[]]>([
    ['both Content-Length and Transfer-Encoding', OK, 'Content-Length: 5', 'Transfer-Encoding: chunked'],
    ['more than one Content-Length', OK, 'Content-Length: 5', 'Content-Length: 5'],
    ['Content-Length is not a number', OK, 'Content-Length: 5, 5'],
    ['Content-Length is not a number', OK, 'Content-Length: -5'],
    ['Content-Length overflows', OK, `Content-Length: ${'9'.repeat(20)}`],
    ['chunked must be the last transfer coding, once, got: gzip', OK, 'Transfer-Encoding: gzip'],
    [
      'the only transfer coding that is supported is chunked, got: gzip, chunked',
      OK,
      'Transfer-Encoding: gzip, chunked',
    ],
    ['HTTP/1.0 has no Transfer-Encoding', 'HTTP/1.0 200 OK', 'Transfer-Encoding: chunked'],
    ['a body for status 204', 'HTTP/1.1 204 No Content', 'Content-Length: 5'],
    ['a body for status 304', 'HTTP/1.1 304 Not Modified', 'Transfer-Encoding: chunked'],
    ['a body for status 100', 'HTTP/1.1 100 Continue', 'Content-Length: 5'],
  ])('is refused: %s', (detail, line, ...headers) => {
    expect(read(head(line, ...headers))).toMatchObject({ detail });
  });
});

describe('what is no head of an answer', () => {
  it.each([
    ['HTTP/2.0 200 OK'],
    ['HTTP/1.2 200 OK'],
    ['http/1.1 200 OK'],
    ['HTTP/1.1  200 OK'],
    ['HTTP/1.1 20 OK'],
    ['HTTP/1.1 2000 OK'],
    ['HTTP/1.1 099 OK'],
    ['HTTP/1.1 600 OK'],
    ['HTTP/1.1 200\tOK'],
    ['HTTP/1.1 200 O\rK'],
    ['HTTP/1.1 200 O\nK'],
    ['HTTP/1.1 200 O\0K'],
    ['ICY 200 OK'],
    ['\r\nHTTP/1.1 200 OK'],
  ])('is refused: %j', (line) => {
    expect(read(head(line))).toMatchObject({ detail: 'no status line of HTTP/1.1 or HTTP/1.0' });
  });

  it.each(['X : a', ' X: a', 'X: a\rb', 'X: a\nY: b', '\xe9: a'])('is refused for a header: %j', (header) => {
    expect(read(head(OK, header))).toMatchObject({ detail: expect.stringMatching(/^invalid header/) as string });
  });

  it.each(['\x16\x03\x01', '<html>', 'HTTP/2', 'HTTP/1.1 200 OK\n', 'HTTP/1.1 x', 'GET /'])(
    'is refused as soon as it can be: %j',
    (text) => expect(read(text)).toHaveProperty('detail'),
  );

  it('is refused when it is too large, whole or not', () => {
    for (const text of [head(OK, `X: ${'a'.repeat(17_000)}`), `${OK}${'a'.repeat(17_000)}`]) {
      expect(read(text)).toMatchObject({ detail: 'a head that is too large' });
    }
    expect(read(head(OK, `X: ${'a'.repeat(16_000)}`))).toMatchObject({ status: 200 });
  });
});

describe('the head of an answer in pieces', () => {
  it.each([
    head(OK, 'Content-Length: 5', 'X-A: b'),
    head('HTTP/1.0 404'),
    head('HTTP/1.1 200 O\nK'),
    head(OK, 'X: a\nb'),
    head('HTTP/1.1 2x0'),
  ])('is what it is whole: %j', (text) => {
    const whole = read(text);
    const bytes = Buffer.from(text, 'latin1');
    for (let cut = 1; cut < bytes.length; cut++) {
      const reader = new ResponseHeadReader();
      expect(reader.read(bytes, 0, cut) ?? reader.read(bytes, 0, bytes.length)).toEqual(whole);
    }
  });
});
