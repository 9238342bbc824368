import { describe, expect, it } from 'vitest';

import { ReadResponse, readResponses } from '../../test/support/read-responses.js';
import { ResponseReader } from './response-reader.js';

const HEAD = 'HTTP/1.1 200 OK\r\n';
const CHUNKED = `${HEAD}Transfer-Encoding: chunked\r\n\r\n`;

describe('an answer', () => {
  it.each<[string, string]>([
    [`${HEAD}Content-Length: 5\r\n\r\nhello`, 'hello'],
    [`${HEAD}Content-Length: 0\r\n\r\n`, ''],
    [`${CHUNKED}5\r\nhello\r\n4;x=y\r\n you\r\n0\r\nX-Trailer: z\r\n\r\n`, 'hello you'],
    [`${HEAD}\r\nhello`, 'hello'],
    ['HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n' + `${HEAD}\r\nhello`, 'hello'],
    ['HTTP/1.1 204 No Content\r\n\r\n', ''],
    ['HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n', ''],
  ])('%j has the body %j, in any pieces', (text, body) => {
    for (const parts of [[text], text.split('')]) {
      const { responses, fault, rest } = readResponses(parts);
      expect([responses.map((response) => response.body), fault, rest]).toEqual([[body], undefined, 0]);
    }
  });

  it('has the headers of its own head, not those of interim ones nor of trailers', () => {
    const text = `HTTP/1.1 103 Early Hints\r\nA: 1\r\n\r\n${HEAD}B: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nC: 3\r\n\r\n`;
    expect(readResponses([text]).responses[0]!.headers).toEqual(['B', '2', 'Transfer-Encoding', 'chunked']);
  });

  it('ends where it ends, with what follows left to the next', () => {
    const text = `${HEAD}Content-Length: 2\r\n\r\nab${CHUNKED}2\r\ncd\r\n0\r\n\r\nHTTP/1.1 204 x\r\n\r\n`;
    expect(readResponses([text], 3).responses.map(({ body }) => body)).toEqual(['ab', 'cd', '']);
    expect(readResponses([text], 1)).toMatchObject({ rest: text.length - `${HEAD}Content-Length: 2\r\n\r\nab`.length });
  });

  it.each([
    '',
    HEAD,
    `${HEAD}Content-Length: 5\r\n\r\nhell`,
    `${CHUNKED}5\r\nhello\r\n`,
    `${CHUNKED}5\r\nhello\r\n0\r\n`,
    'HTTP/1.1 100 Continue\r\n\r\n',
  ])('is none when the connection ends within it: %j', (text) => {
    expect(readResponses([text])).toMatchObject({ responses: [], fault: undefined });
  });

  it.each([
    ['no status line of HTTP/1.1 or HTTP/1.0', '\r\nHTTP/1.1 200 OK\r\n\r\n'],
    ['status 101 without a request for it', 'HTTP/1.1 101 Switching Protocols\r\nUpgrade: h2c\r\n\r\n'],
    ['an interim answer that closes the connection', `HTTP/1.1 103 x\r\nConnection: close\r\n\r\n${HEAD}\r\n`],
    ['an interim answer that closes the connection', `HTTP/1.0 100 x\r\n\r\n${HEAD}\r\n`],
    ['invalid chunk size', `${CHUNKED}+5\r\nhello\r\n0\r\n\r\n`],
    ['no line end after a chunk', `${CHUNKED}5\r\nhelloX\r\n0\r\n\r\n`],
    ['content-length among the trailers', `${CHUNKED}0\r\nContent-Length: 5\r\n\r\n`],
  ])('is refused for %s', (fault, text) => {
    for (const parts of [[text], text.split('')]) expect(readResponses(parts)).toMatchObject({ responses: [], fault });
  });
});

describe('a body of known length', () => {
  it('is best received where its listener wants it, as long as much is to come', () => {
    const reader = new ResponseReader();
    const response = new ReadResponse();
    const receive = (bytes: Buffer) => reader.receive(bytes, 0, bytes.length);
    reader.begin(response);
    expect(reader.directTarget()).toBeUndefined();
    receive(Buffer.from(`${HEAD}Content-Length: 100000\r\n\r\nab`));
    const target = reader.directTarget()!;
    expect(target.length).toBe(99_998);
    expect(target.buffer).toBe(response.memory!.buffer);
    receive(target.subarray(0, 70_000).fill('c'));
    expect(reader.directTarget()).toBeUndefined();
    receive(Buffer.alloc(29_998, 'd'));
    expect([reader.isWaiting, response.body.length, response.body.slice(-1)]).toEqual([false, 100_000, 'd']);
  });

  it('has no such memory when it is chunked, or ends with the connection', () => {
    for (const head of [CHUNKED, `${HEAD}\r\n`]) {
      const reader = new ResponseReader();
      reader.begin(new ReadResponse());
      const bytes = Buffer.from(`${head}ffffff\r\n`);
      reader.receive(bytes, 0, bytes.length);
      expect(reader.directTarget()).toBeUndefined();
    }
  });
});
