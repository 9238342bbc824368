import { describe, expect, it } from 'vitest';

import { HttpResponseParser } from '../../bench/load/http-response-parser.js';

const response = (body: string, headers = ''): Buffer =>
  Buffer.from(`HTTP/1.1 200 OK\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`);

function keepingParser(): HttpResponseParser {
  const parser = new HttpResponseParser();
  parser.keepBody = true;
  return parser;
}

describe('HttpResponseParser', () => {
  it('tells status, body and where the response ends', () => {
    const bytes = response('hello', 'Date: now\r\n');
    const parser = keepingParser();
    expect(parser.read(bytes, 0, bytes.length)).toBe(bytes.length);
    expect([parser.status, parser.bodyLength, parser.body.toString()]).toEqual([200, 5, 'hello']);
  });

  it('finds the same end wherever reads cut the response', () => {
    const bytes = response('{"a":1}', 'X-Content-Length: 99\r\nConnection: keep-alive\r\n');
    for (let cut = 0; cut <= bytes.length; cut++) {
      const parser = keepingParser();
      const first = parser.read(bytes, 0, cut);
      const end = cut === bytes.length ? first : parser.read(bytes, cut, bytes.length);
      expect([cut, end]).toEqual([cut, bytes.length]);
      expect([parser.status, parser.body.toString()]).toEqual([200, '{"a":1}']);
    }
  });

  it('reads one byte at a time', () => {
    const bytes = response('12345');
    const parser = keepingParser();
    const ends = [...bytes.keys()].map((at) => parser.read(bytes, at, at + 1));
    expect(ends.slice(0, -1).every((end) => end === -1)).toBe(true);
    expect(ends.at(-1)).toBe(bytes.length);
    expect(parser.body.toString()).toBe('12345');
  });

  it('stops at the end of one response and starts afresh with the next', () => {
    const first = response('one');
    const second = Buffer.from('HTTP/1.1 503 Service Unavailable\r\ncontent-length:0\r\n\r\n');
    const bytes = Buffer.concat([first, second]);
    const parser = keepingParser();
    expect(parser.read(bytes, 0, bytes.length)).toBe(first.length);
    expect(parser.read(bytes, first.length, bytes.length)).toBe(bytes.length);
    expect([parser.status, parser.bodyLength, parser.body.length]).toEqual([503, 0, 0]);
  });

  it('does not take a number from a field whose name only begins or ends like Content-Length', () => {
    const bytes = Buffer.from(
      'HTTP/1.1 200 OK\r\nContent-Length-Hint: 7\r\nInference-Header-Content-Length: 9\r\nCONTENT-LENGTH:  2\r\n\r\nok',
    );
    const parser = keepingParser();
    expect(parser.read(bytes, 0, bytes.length)).toBe(bytes.length);
    expect(parser.body.toString()).toBe('ok');
  });

  it.each([
    ['a chunked body', 'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', 'got Transfer-Encoding'],
    ['no length', 'HTTP/1.1 200 OK\r\nDate: now\r\n\r\n', 'with Content-Length, got none'],
    ['a length that is no number', 'HTTP/1.1 200 OK\r\nContent-Length: 1x\r\n\r\n', 'Content-Length is not a number'],
    ['something that is not HTTP', 'hello\r\n\r\n', 'expected an HTTP/1.1 status line'],
    ['an empty first line', '\r\n\r\n', 'got an empty line'],
  ])('refuses %s', (_, text, message) => {
    const bytes = Buffer.from(text);
    expect(() => new HttpResponseParser().read(bytes, 0, bytes.length)).toThrow(message);
  });
});
