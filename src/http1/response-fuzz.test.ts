// Answers that no server should give, in any pieces. What is taken for an answer must be what the client of node:http takes it for:
// ours refuses more, and never reads otherwise.
import { request as httpRequest } from 'node:http';
import { describe, expect, it } from 'vitest';

import { hasRefusedTab, pieces, RUNS, SEEDS, spoiled, TIMEOUT, Wire } from '../../test/support/http1-fuzz.js';
import { Random } from '../../test/support/random-life/random.js';
import { readResponses, type UnderstoodResponse } from '../../test/support/read-responses.js';

/** Pieces of answers: most are right, others have been used to make two readers see different answers. No upgrade. */
const LINES = [
  'HTTP/1.1 200 OK',
  'HTTP/1.1 200 OK',
  'HTTP/1.1 503 Service Unavailable',
  'HTTP/1.0 200 OK',
  'HTTP/1.1 200 ',
  'HTTP/1.1 200',
  'HTTP/1.1 204 No Content',
  'HTTP/1.1 304 Not Modified',
  'HTTP/1.1 100 Continue',
  'HTTP/1.1 103 Early Hints',
  'HTTP/1.1  200 OK',
  'HTTP/1.1 20 OK',
  'HTTP/1.1 2000 OK',
  'HTTP/2.0 200 OK',
  'http/1.1 200 OK',
  'ICY 200 OK',
];
const HEADERS = [
  'Content-Length: 5',
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: 10',
  'content-length:5',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length : 5',
  'Content-Length: 5 5',
  'Transfer-Encoding: chunked',
  'Transfer-Encoding: chunked',
  'transfer-encoding:\tchunked ',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding: gzip',
  'Transfer-Encoding: identity',
  'Transfer-Encoding : chunked',
  ' Transfer-Encoding: chunked',
  'X: y',
  'X:',
  ' folded',
  'X: a\rb',
  'X: a\nTransfer-Encoding: chunked',
  'X: \xff\x80\t ',
  'X: \0',
  'Connection: close',
  'Connection: keep-alive',
];
const BODIES = [
  '',
  'hello',
  'hello',
  'helloworld',
  '5\r\nhello\r\n0\r\n\r\n',
  '5\r\nhello\r\n0\r\n\r\n',
  '5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n',
  '005\r\nhello\r\n000\r\n\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
  '0x5\r\nhello\r\n0\r\n\r\n',
  '5\nhello\n0\n\n',
  '5\r\nhelloX\r\n0\r\n\r\n',
  '5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n',
  '0\r\n\r\n',
  'HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nother',
];

/** Of the pieces that it comes in. */
const SIZES = [1, 2, 3, 7, 20, 100];

/** An answer, now and then with interim ones before it, and with a byte changed, lost or too many. */
function answer(random: Random): string {
  const headers = Array.from({ length: random.integer(0, 3) }, () => random.of(HEADERS));
  const interim = random.chance(0.2) ? 'HTTP/1.1 100 Continue\r\n\r\n' : '';
  const text =
    interim + [random.of(LINES), ...headers, '', random.of(BODIES)].join(random.chance(0.97) ? '\r\n' : '\n');
  return spoiled(random, text, 0.6);
}

/** The answer that node:http finds; undefined: none that is whole. */
function nodes(text: string): Promise<UnderstoodResponse | undefined> {
  return new Promise((resolve) => {
    const wire = new Wire({ allowHalfOpen: true });
    const asked = httpRequest({ method: 'POST', createConnection: () => wire });
    asked.on('error', () => resolve(undefined));
    asked.on('close', () => resolve(undefined));
    asked.on('response', (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
      response.on('error', () => resolve(undefined));
      response.on('end', () => {
        const { statusCode = 0, rawHeaders: headers, complete } = response;
        resolve(complete ? { status: statusCode, headers, body } : undefined);
      });
    });
    asked.end('x', () => {
      wire.push(Buffer.from(text, 'latin1'));
      wire.push(null);
    });
  });
}

describe('random bytes of a server', () => {
  it('are the same answer in any pieces', TIMEOUT, () => {
    let runs = 0;
    for (const seed of SEEDS) {
      const random = new Random(seed);
      const text = answer(random);
      // What is none may be seen later where its line has not ended.
      const { responses } = readResponses([text]);
      for (const parts of [pieces(random, text, SIZES), text.split('')]) {
        const read = readResponses(parts).responses;
        expect(read, `HTTP1_FUZZ_SEED=${seed}: ${JSON.stringify(text)}`).toEqual(responses);
      }
      runs++;
    }
    expect(runs).toBe(RUNS);
  });

  it('are no other answer than node:http finds in them', TIMEOUT, async () => {
    let taken = 0;
    for (const seed of SEEDS) {
      const text = answer(new Random(seed));
      const { responses, rest } = readResponses([text]);
      if (responses.length === 0 || hasRefusedTab(text)) continue;
      // Behind the answer, node:http gives up; had it found another end, it would do so before, or wait for more.
      const others = await nodes(text.slice(0, text.length - rest));
      expect(responses[0], `HTTP1_FUZZ_SEED=${seed}: ${JSON.stringify(text)}`).toEqual(others);
      taken++;
    }
    expect(taken).toBeGreaterThan(RUNS / 10);
  });
});
