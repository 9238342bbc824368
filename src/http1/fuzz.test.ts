// Bytes that nobody would send, in any pieces. What is taken for a request must be what node:http takes it for, so that whoever
// stands in front of the server, or behind it, sees the same requests: ours refuses more, and never reads otherwise.
import { createServer, type IncomingMessage } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { hasRefusedTab, pieces, RUNS, SEEDS, spoiled, TIMEOUT, Wire } from '../../test/support/http1-fuzz.js';
import { Random } from '../../test/support/random-life/random.js';
import { TestedHttp1 } from '../../test/support/tested-http1.js';

/** A request as somebody understood it. */
interface Understood {
  readonly head: string;
  readonly body: string;
}

function understood(
  method: string,
  target: string,
  rest: { readonly headers: readonly string[]; readonly body: string },
) {
  return { head: JSON.stringify([method, target, rest.headers]), body: rest.body };
}

/** Pieces of requests: most are right, others have been used to smuggle something. No upgrade: node:http reads nothing behind one. */
const LINES = [
  'GET / HTTP/1.1',
  'POST /v2/models/m/infer HTTP/1.1',
  'POST http://h/x?y HTTP/1.1',
  'HEAD / HTTP/1.0',
  'GET / HTTP/1.0',
  'OPTIONS * HTTP/1.1',
  'M-SEARCH / HTTP/1.1',
  'GET  / HTTP/1.1',
  'GET / HTTP/1.1 ',
  'GET / HTTP/2.0',
  'GET /',
  'BREW / HTTP/1.1',
];
const HEADERS = [
  'Content-Length: 5',
  'Content-Length: 0',
  'Content-Length: 10',
  'content-length:5',
  'Content-Length: +5',
  'Content-Length: 5, 5',
  'Content-Length : 5',
  'Content-Length: 0x5',
  'Transfer-Encoding: chunked',
  'transfer-encoding:chunked',
  'Transfer-Encoding: xchunked',
  'Transfer-Encoding: chunked, chunked',
  'Transfer-Encoding: gzip, chunked',
  'Transfer-Encoding:\tchunked',
  'Transfer-Encoding: "chunked"',
  'Transfer-Encoding: identity',
  'Transfer-Encoding : chunked',
  'Transfer_Encoding: chunked',
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
  'Upgrade: h2c',
  'Host: other',
];
const BODIES = [
  '',
  'hello',
  'helloworld',
  '5\r\nhello\r\n0\r\n\r\n',
  '5;a=b\r\nhello\r\n0\r\nX: y\r\n\r\n',
  '5;a\nb\r\nhello\r\n0\r\n\r\n',
  '005\r\nhello\r\n000\r\n\r\n',
  '5 \r\nhello\r\n0\r\n\r\n',
  '0x5\r\nhello\r\n0\r\n\r\n',
  '+5\r\nhello\r\n0\r\n\r\n',
  '5\r\nhello\r\n0\r\nContent-Length: 5\r\n\r\n',
  '5\nhello\n0\n\n',
  '5\r\nhelloX\r\n0\r\n\r\n',
  '10000000000000005\r\nhello\r\n0\r\n\r\n',
  '0\r\n\r\n',
  '0\r\n',
  '\r\n',
  'GET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n',
];

/** Of the pieces that it comes in. */
const SIZES = [1, 2, 3, 7, 20, 100, 1000];

function request(random: Random): string {
  const headers = random.chance(0.9) ? ['Host: h'] : [];
  for (let i = random.integer(0, 3); i > 0; i--) headers.push(random.of(HEADERS));
  return [random.of(LINES), ...headers, '', random.of(BODIES)].join(random.chance(0.97) ? '\r\n' : '\n');
}

/** Some requests, now and then with a byte changed, lost or too many. */
function conversation(random: Random): string {
  const text = Array.from({ length: random.integer(1, 3) }, () => request(random)).join('');
  return spoiled(random, text, 0.5);
}

/** The whole requests that ours finds, and whether it refuses what comes then, at the latest when nothing more does. */
function ours(parts: readonly string[]): { readonly requests: readonly Understood[]; readonly isRefused: boolean } {
  const tested = new TestedHttp1().receive(...parts);
  // Answered one after the other, each makes room for the next.
  for (let i = 0; i < tested.requests.length; i++) {
    if (tested.requests[i]!.isWhole) tested.requests[i]!.respond();
    tested.turn();
  }
  const whole = tested.requests.filter(({ isWhole }) => isWhole);
  tested.connection.inputEnded();
  return {
    isRefused: tested.turn().statuses.some((status) => status >= 400),
    requests: whole.map(({ request: { method, target, rawHeaders }, body }) =>
      understood(method, target, { headers: rawHeaders, body }),
    ),
  };
}

/** The whole requests that node:http finds. */
async function nodes(text: string): Promise<readonly Understood[]> {
  const found: Understood[] = [];
  const server = createServer({ requireHostHeader: false });
  server.on('request', (incoming: IncomingMessage, answer) => {
    const { method = '', url = '', rawHeaders: headers } = incoming;
    let body = '';
    incoming.on('data', (chunk: Buffer) => (body += chunk.toString('latin1')));
    incoming.on('end', () => {
      found.push(understood(method, url, { headers, body }));
      answer.end();
    });
  });
  const wire = new Wire({ allowHalfOpen: true });
  wire.on('error', () => undefined);
  // What it found before has turns of its own to be read in.
  server.on('clientError', () => void nextTurn().then(() => wire.destroy()));
  server.on('connect', () => wire.destroy());
  server.emit('connection', wire);
  const closed = new Promise((resolve) => wire.on('close', resolve));
  wire.push(Buffer.from(text, 'latin1'));
  wire.push(null);
  await closed;
  server.close();
  return found;
}

describe('random bytes', () => {
  it('are the same requests in any pieces', TIMEOUT, () => {
    let runs = 0;
    for (const seed of SEEDS) {
      const random = new Random(seed);
      const text = conversation(random);
      const whole = ours([text]);
      for (const parts of [pieces(random, text, SIZES), text.split('')]) {
        expect(ours(parts), `HTTP1_FUZZ_SEED=${seed}: ${JSON.stringify(text)}`).toEqual(whole);
      }
      runs++;
    }
    expect(runs).toBe(RUNS);
  });

  it('are no other requests than node:http finds in them', TIMEOUT, async () => {
    let taken = 0;
    for (const seed of SEEDS) {
      const text = conversation(new Random(seed));
      if (hasRefusedTab(text)) continue;
      const { requests } = ours([text]);
      const others = await nodes(text);
      expect(others.slice(0, requests.length), `HTTP1_FUZZ_SEED=${seed}: ${JSON.stringify(text)}`).toEqual(requests);
      taken += requests.length;
    }
    expect(taken).toBeGreaterThan(RUNS / 10);
  });
});
