// How requests are told apart and answers put together on a connection: what RFC 9110 and RFC 9112 say. The questions
// are those that were put to Triton, whose parser gets many of them wrong; nothing here is compared with it.
import { devNull } from 'node:os';
import { gzipSync } from 'node:zlib';
import { stream, Triton } from 'tstriton';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { RawConnection } from '../support/raw-http.js';
import { gate } from '../support/start-server.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const NUMBER = { dtype: 'int32', shape: [1] } as const;

let triton: Triton;
/** What the model `held` waits for after its first response. */
let release = gate();
afterEach(() => void (release = gate()));
beforeAll(async () => {
  triton = new Triton({
    httpAddress: '127.0.0.1',
    httpPort: 0,
    allowGrpc: false,
    metricsAddress: '127.0.0.1',
    metricsPort: 0,
    logFile: devNull,
  });
  triton.bind({ modelName: 'm', inferFunc: (requests) => requests, inputs: { x: FLOATS }, outputs: { y: FLOATS } });
  triton.bind({
    modelName: 'count',
    inferFunc: stream(async function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) yield { i: [[await Promise.resolve(i)]] };
    }),
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: { decoupled: true },
  });
  triton.bind({
    modelName: 'held',
    inferFunc: stream(async function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) {
        yield { i: [[i]] };
        await release.opened;
      }
    }),
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: { decoupled: true },
  });
  await triton.run();
});
afterAll(() => triton.stop());

const BODY = '{"inputs":[{"name":"x","datatype":"FP32","shape":[1,1],"data":[1]}]}';
const ANSWER =
  '{"model_name":"m","model_version":"1","outputs":[{"name":"y","datatype":"FP32","shape":[1,1],"data":[1.0]}]}';
const LIVE = 'GET /v2/health/live HTTP/1.1\r\nHost: h\r\n\r\n';
const NOPE = 'GET /nope HTTP/1.1\r\nHost: h\r\n\r\n';
const POST = 'POST /v2/models/m/infer HTTP/1.1\r\nHost: h\r\n';
const LENGTH = `Content-Length: ${BODY.length}\r\n`;
const INFER = `${POST}${LENGTH}\r\n${BODY}`;
const CHUNKED = `${POST}Transfer-Encoding: chunked\r\n\r\n`;
const SIZE = BODY.length.toString(16);
const EVENT = (i: number) => `data: {"i":${i},"model_name":"count","model_version":"1"}\n\n`;

function head(...lines: string[]): string {
  return `GET /v2/health/live HTTP/1.1\r\n${lines.map((line) => `${line}\r\n`).join('')}\r\n`;
}

function generateStream(count: number, version = '1.1', headers = ''): string {
  const body = `{"n":${count}}`;
  return `POST /v2/models/count/generate_stream HTTP/${version}\r\nHost: h\r\n${headers}Content-Length: ${body.length}\r\n\r\n${body}`;
}

const ANSWERED = { statuses: [200], bodies: [ANSWER], after: 'stays open' };

/** What becomes of the connection: the next request is answered, or there is none. */
type After = 'stays open' | 'closes';

interface Exchanged {
  readonly statuses: readonly number[];
  readonly after: After | 'is lost' | 'goes on';
  readonly bodies: readonly string[];
}

/** Sends each part in a packet of its own, reads so many answers, and finds out what becomes of the connection. */
async function exchange(sent: readonly (string | Uint8Array)[], answers = 1): Promise<Exchanged> {
  await using connection = await RawConnection.open(triton.httpPort!);
  await connection.send(...sent);
  const statuses: number[] = [];
  const bodies: string[] = [];
  let closes = false;
  // Who is told that the connection closes reads no further.
  while (statuses.length < answers && !closes) {
    const answer = await connection.answer();
    statuses.push(answer?.status ?? 0);
    bodies.push(answer?.body.toString() ?? '');
    closes = answer === undefined || answer.headers.get('connection') === 'close';
  }
  if (closes) {
    await connection.closed();
    return { statuses, bodies, after: connection.rest.length === 0 ? 'closes' : 'goes on' };
  }
  const more = connection.rest.length;
  await connection.send(LIVE);
  const next = await connection.answer();
  const after = more > 0 ? 'goes on' : next?.status === 200 ? 'stays open' : 'is lost';
  return { statuses, bodies, after };
}

describe('versions (RFC 9112, 2.3)', () => {
  it.each<[string, string, number, After]>([
    ['HTTP/1.1', LIVE, 200, 'stays open'],
    ['HTTP/1.0', 'GET /v2/health/live HTTP/1.0\r\n\r\n', 200, 'closes'],
    ['HTTP/0.9', 'GET /v2 HTTP/0.9\r\nHost: h\r\n\r\n', 505, 'closes'],
    ['HTTP/0.9 without a version', 'GET /v2\r\n\r\n', 505, 'closes'],
    ['HTTP/2.0', 'GET /v2 HTTP/2.0\r\nHost: h\r\n\r\n', 505, 'closes'],
    ['HTTP/1.2', 'GET /v2 HTTP/1.2\r\nHost: h\r\n\r\n', 400, 'closes'],
    ['HTTP/9.9', 'GET /v2 HTTP/9.9\r\nHost: h\r\n\r\n', 400, 'closes'],
    ['http/1.1 in lower case', 'GET /v2 http/1.1\r\nHost: h\r\n\r\n', 400, 'closes'],
    ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n', 400, 'closes'],
    ['a TLS hello', Buffer.from([0x16, 3, 1, 0, 0xa5, 1, 0, 0]).toString('latin1'), 400, 'closes'],
    ['noise', '\x01\x02\x03\x04\r\n\r\n', 400, 'closes'],
  ])('%s', async (_, sent, status, after) => {
    expect(await exchange([sent])).toMatchObject({ statuses: [status], after });
  });

  it('keeps a connection of HTTP/1.0 open when asked to', async () => {
    const sent = 'GET /v2/health/live HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n';
    await using connection = await RawConnection.open(triton.httpPort!);
    for (let i = 0; i < 2; i++) {
      await connection.send(sent);
      const answer = await connection.answer();
      expect([answer?.status, answer?.headers.get('connection')]).toEqual([200, 'keep-alive']);
    }
  });

  it('sends no chunks to HTTP/1.0', async () => {
    await using connection = await RawConnection.open(triton.httpPort!);
    await connection.send(generateStream(2, '1.0'));
    const answer = await connection.answer();
    expect(answer?.headers.get('transfer-encoding')).toBeUndefined();
    expect(answer?.body.toString()).toBe(EVENT(0) + EVENT(1));
    await connection.closed();
  });
});

describe('Host (RFC 9112, 3.2)', () => {
  it.each<[string, string, number, After]>([
    ['missing', head(), 400, 'closes'],
    ['twice', head('Host: h', 'Host: h'), 400, 'closes'],
    ['empty', head('Host:'), 200, 'stays open'],
    ['of another name in an absolute target', LIVE.replace(' /v2', ' http://other/v2'), 200, 'stays open'],
  ])('%s', async (_, sent, status, after) => {
    expect(await exchange([sent])).toMatchObject({ statuses: [status], after });
  });
});

describe('the connection (RFC 9112, 9)', () => {
  it.each<[string, readonly string[], readonly number[], After]>([
    ['close', [head('Host: h', 'Connection: close')], [200], 'closes'],
    ['CLOSE in capitals', [head('Host: h', 'Connection: CLOSE')], [200], 'closes'],
    ['close on inference', [`${POST}Connection: close\r\n${LENGTH}\r\n${BODY}`], [200], 'closes'],
    ['close on an error', ['GET /nope HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n'], [404], 'closes'],
    ['keep-alive', [head('Host: h', 'Connection: keep-alive')], [200], 'stays open'],
    [
      'an upgrade that is not offered',
      [head('Host: h', 'Connection: Upgrade', 'Upgrade: websocket')],
      [200],
      'stays open',
    ],
    [
      'an upgrade to h2c',
      [head('Host: h', 'Connection: Upgrade, HTTP2-Settings', 'Upgrade: h2c', 'HTTP2-Settings: AAMAAABkAAQAAP__')],
      [200],
      'stays open',
    ],
    ['one request after the other', [LIVE, INFER, LIVE], [200, 200, 200], 'stays open'],
    ['after an unknown path', [NOPE], [404], 'stays open'],
    [
      'after a wrong method with a body',
      ['PUT /v2 HTTP/1.1\r\nHost: h\r\nContent-Length: 3\r\n\r\nabc'],
      [405],
      'stays open',
    ],
    ['after a refused inference', [`${POST}Content-Length: 1\r\n\r\n{`], [400], 'stays open'],
    ['pipelined in one packet', [LIVE + INFER + NOPE + INFER], [200, 200, 404, 200], 'stays open'],
    ['pipelined behind a close', [head('Host: h', 'Connection: close') + LIVE], [200], 'closes'],
    ['pipelined behind what is no HTTP', [`${LIVE}hello\r\n\r\n`], [200, 400], 'closes'],
    ['empty lines before a request', [`\r\n\r\n${LIVE}`], [200], 'stays open'],
    ['empty lines between requests', [LIVE, `\r\n${LIVE}`], [200, 200], 'stays open'],
    ['CONNECT', ['CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n'], [405], 'closes'],
    ['OPTIONS *', ['OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n'], [404], 'stays open'],
    ['a method that nobody knows', ['BREW /v2 HTTP/1.1\r\nHost: h\r\n\r\n'], [400], 'closes'],
    ['a method in lower case', ['get /v2 HTTP/1.1\r\nHost: h\r\n\r\n'], [400], 'closes'],
  ])('%s', async (_, sent, statuses, after) => {
    expect(await exchange(sent, statuses.length)).toMatchObject({ statuses, after });
  });

  it('answers what needs no model to a client that has closed its sending half, and closes', async () => {
    await using connection = await RawConnection.open(triton.httpPort!);
    await connection.send(LIVE);
    connection.end();
    expect((await connection.answer())?.status).toBe(200);
    await connection.closed();
  });

  it('answers HEAD without a body', async () => {
    await using connection = await RawConnection.open(triton.httpPort!);
    for (const [path, status] of [
      ['/v2/health/live', 405],
      ['/nope', 404],
    ] as const) {
      await connection.send(`HEAD ${path} HTTP/1.1\r\nHost: h\r\n\r\n`, LIVE);
      expect((await connection.answer({ toHead: true }))?.status).toBe(status);
      expect((await connection.answer())?.status).toBe(200);
    }
  });

  it('answers in the order of the requests, a stream too', async () => {
    await using connection = await RawConnection.open(triton.httpPort!);
    await connection.send(generateStream(3) + LIVE + INFER);
    const streamed = await connection.answer();
    expect(streamed?.headers.get('transfer-encoding')).toBe('chunked');
    expect(streamed?.body.toString()).toBe(EVENT(0) + EVENT(1) + EVENT(2));
    expect((await connection.answer())?.body.length).toBe(0);
    expect((await connection.answer())?.body.toString()).toBe(ANSWER);
  });

  it('sends a stream to its end, and what was asked behind it, when the client has closed its sending half', async () => {
    await using half = await RawConnection.open(triton.httpPort!);
    await half.send(generateStream(3).replace('count', 'held') + LIVE);
    await expect.poll(() => half.rest.toString()).toContain(EVENT(0).replace('count', 'held'));
    half.end();
    // A zero before the size of the next chunk: the server looks whether the client is there.
    await expect.poll(() => half.rest.toString()).toMatch(/\r\n0$/);
    release.open();
    const answer = await half.answer();
    expect([...answer!.body.toString().matchAll(/"i":(\d)/g)].map(([, i]) => i)).toEqual(['0', '1', '2']);
    expect((await half.answer())?.status).toBe(200);
    await half.closed();
  });

  it('answers what is no HTTP behind a stream that has begun', async () => {
    await using connection = await RawConnection.open(triton.httpPort!);
    await connection.send(generateStream(3).replace('count', 'held'));
    await expect.poll(() => connection.rest.toString()).toContain(EVENT(0).replace('count', 'held'));
    await connection.send('hello\r\n\r\n');
    release.open();
    expect((await connection.answer())?.body.toString()).toContain('"i":2');
    const last = await connection.answer();
    expect([last?.status, last?.headers.get('connection')]).toEqual([400, 'close']);
    await connection.closed();
  });

  it.each([
    ['without an event', generateStream(0), '', 'stays open'],
    ['that is the last answer', generateStream(1, '1.1', 'Connection: close\r\n'), EVENT(0), 'closes'],
  ] as const)('ends a stream %s', async (_, sent, body, after) => {
    expect(await exchange([sent])).toEqual({ statuses: [200], bodies: [body], after });
  });
});

describe('requests in pieces', () => {
  it('may be cut anywhere', async () => {
    expect(await exchange(INFER.split(''))).toEqual(ANSWERED);
    const chunked = `${CHUNKED}5\r\n${BODY.slice(0, 5)}\r\n${(BODY.length - 5).toString(16)}\r\n${BODY.slice(5)}\r\n0\r\n\r\n`;
    expect(await exchange(chunked.split(''))).toEqual(ANSWERED);
  });

  it('are waited for', async () => {
    await using connection = await RawConnection.open(triton.httpPort!);
    for (const part of ['\r\n', 'GET', ' /v2/health/live HTTP/1.1\r\nHost: h\r\n']) {
      await connection.send(part);
      expect(connection.rest.length).toBe(0);
    }
    await connection.send('\r\n', INFER.slice(0, -9));
    expect((await connection.answer())?.status).toBe(200);
    expect([connection.rest.length, connection.isClosed]).toEqual([0, false]);
    await connection.send(INFER.slice(-9));
    expect((await connection.answer())?.body.toString()).toBe(ANSWER);
  });
});

describe('Content-Length (RFC 9112, 6.3)', () => {
  it.each(['abc', '-1', '', ' ', '+68', '0x44', '68, 68', '68, 5', '99999999999999999999', '68.0', '1e2', '6 8'])(
    'refuses %o',
    async (length) => {
      expect(await exchange([`${POST}Content-Length: ${length}\r\n\r\n${BODY}`])).toMatchObject({
        statuses: [400],
        after: 'closes',
      });
    },
  );

  it.each([`${BODY.length} `, `0${BODY.length}`, `\t${BODY.length}`])('takes %o', async (length) => {
    expect(await exchange([`${POST}Content-Length:${length}\r\n\r\n${BODY}`])).toEqual(ANSWERED);
  });

  it('refuses two, equal or not: whoever reads the other one sees another request', async () => {
    for (const other of [BODY.length, 5]) {
      expect(await exchange([`${POST}Content-Length: ${other}\r\n${LENGTH}\r\n${BODY}`])).toMatchObject({
        statuses: [400],
        after: 'closes',
      });
    }
  });

  it('is 0 when there is none', async () => {
    const none = await exchange([`${POST}\r\n`]);
    expect(none).toMatchObject({ statuses: [200], after: 'stays open' });
    expect(none.bodies[0]).toContain('"shape":[1,0]');
    const junk = await exchange([`${POST}\r\n${BODY}`], 2);
    expect(junk).toMatchObject({ statuses: [200, 400], after: 'closes' });
    expect(junk.bodies[0]).toContain('"shape":[1,0]');
  });

  it.each([
    ['18446744073709551615', 'closes'],
    ['2147483649', 'closes'],
  ] as const)('of %s is refused before anything is read', async (length, after) => {
    expect(await exchange([`${POST}Content-Length: ${length}\r\n\r\n`])).toMatchObject({ statuses: [400], after });
  });

  it('may come with GET', async () => {
    expect(await exchange([head('Host: h', 'Content-Length: 3').concat('abc')])).toMatchObject({
      statuses: [200],
      after: 'stays open',
    });
  });
});

describe('Transfer-Encoding (RFC 9112, 6.1 and 7.1)', () => {
  const chunk = (line: string, rest = '0\r\n\r\n') => `${CHUNKED}${line}\r\n${BODY}\r\n${rest}`;
  it.each([
    ['one chunk', chunk(SIZE)],
    ['chunks of one byte', `${CHUNKED}${BODY.replace(/./g, '1\r\n$&\r\n')}0\r\n\r\n`],
    ['a chunk extension', chunk(`${SIZE};a=b;c="d e"`)],
    ['trailers', chunk(SIZE, '0\r\nX-Sum: 1\r\n\r\n')],
    ['an upper-case size', chunk(SIZE.toUpperCase())],
    ['leading zeros', chunk(`000${SIZE}`)],
    ['CHUNKED in capitals', chunk(SIZE).replace(': chunked', ': CHUNKED')],
  ])('takes %s', async (_, sent) => {
    expect(await exchange([sent])).toEqual(ANSWERED);
  });

  it('takes binary and compressed bodies in chunks', async () => {
    const zipped = gzipSync(BODY);
    const sent = Buffer.concat([
      Buffer.from(
        `${POST}Transfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n${zipped.length.toString(16)}\r\n`,
      ),
      zipped,
      Buffer.from('\r\n0\r\n\r\n'),
    ]);
    expect(await exchange([sent])).toEqual(ANSWERED);
    const json = BODY.replace('"data":[1]', '"parameters":{"binary_data_size":4}');
    const binary = `${POST}Transfer-Encoding: chunked\r\nInference-Header-Content-Length: ${json.length}\r\n\r\n${json.length.toString(16)}\r\n${json}\r\n4\r\n\0\0\x80?\r\n0\r\n\r\n`;
    expect(await exchange([binary])).toEqual(ANSWERED);
  });

  it.each([
    ['a size that is none', chunk('zz')],
    ['a negative size', chunk('-5')],
    ['a length in the trailers', chunk(SIZE, '0\r\nContent-Length: 5\r\n\r\n')],
    ['a size of more than 64 bits', chunk('fffffffffffffffff')],
    ['no line end after a chunk', `${CHUNKED}${SIZE}\r\n${BODY}0\r\n\r\n`],
    ['bare line feeds', `${CHUNKED}${SIZE}\n${BODY}\n0\n\n`],
    ['a space before the colon', chunk(SIZE).replace('Encoding:', 'Encoding :')],
    ['Content-Length beside it', chunk(SIZE).replace('Host: h\r\n', 'Host: h\r\nContent-Length: 5\r\n')],
    ['Content-Length behind it', chunk(SIZE).replace('chunked\r\n', 'chunked\r\nContent-Length: 5\r\n')],
    ['identity', `${POST}Transfer-Encoding: identity\r\n${LENGTH}\r\n${BODY}`],
    ['a coding that nobody knows', `${POST}Transfer-Encoding: xchunked\r\n\r\n`],
    ['chunked before another coding', chunk(SIZE).replace(': chunked', ': chunked, gzip')],
    ['chunked twice', chunk(SIZE).replace('Encoding: chunked', 'Encoding: chunked\r\nTransfer-Encoding: chunked')],
    ['HTTP/1.0', chunk(SIZE).replace('HTTP/1.1', 'HTTP/1.0')],
  ])('refuses %s', async (_, sent) => {
    expect(await exchange([sent])).toMatchObject({ statuses: [400], after: 'closes' });
  });

  it('refuses codings that it cannot undo', async () => {
    expect(await exchange([chunk(SIZE).replace(': chunked', ': gzip, chunked')])).toMatchObject({
      statuses: [501],
      after: 'closes',
    });
  });
});

describe('Expect (RFC 9110, 10.1.1)', () => {
  const expecting = (headers = LENGTH, path = '/v2/models/m/infer', expectation = '100-continue') =>
    `POST ${path} HTTP/1.1\r\nHost: h\r\nExpect: ${expectation}\r\n${headers}\r\n`;

  it.each([
    ['with a length', expecting(), BODY],
    ['in capitals', expecting(LENGTH, undefined, '100-CONTINUE'), BODY],
    ['in chunks', expecting('Transfer-Encoding: chunked\r\n'), `${SIZE}\r\n${BODY}\r\n0\r\n\r\n`],
  ])('asks for a body %s', async (_, sent, body) => {
    await using connection = await RawConnection.open(triton.httpPort!);
    await connection.send(sent);
    expect((await connection.answer())?.status).toBe(100);
    await connection.send(body);
    expect((await connection.answer())?.body.toString()).toBe(ANSWER);
  });

  it('takes a body that comes at once', async () => {
    expect(await exchange([expecting() + BODY], 2)).toEqual({
      statuses: [100, 200],
      bodies: ['', ANSWER],
      after: 'stays open',
    });
  });

  it.each([
    ['to an unknown path', expecting(LENGTH, '/nope'), 404],
    ['to an unknown model', expecting(LENGTH, '/v2/models/nope/infer'), 404],
    ['to another method', expecting(LENGTH, '/v2'), 405],
    ['of a body that is too large', expecting('Content-Length: 99999999\r\n'), 400],
  ])('does not ask for a body %s', async (_, sent, status) => {
    expect(await exchange([sent])).toMatchObject({ statuses: [status], after: 'closes' });
  });

  it('makes no difference where there is no body', async () => {
    expect(await exchange([expecting('Content-Length: 0\r\n')], 2)).toMatchObject({
      statuses: [100, 200],
      after: 'stays open',
    });
    expect(await exchange([head('Host: h', 'Expect: 100-continue')], 2)).toMatchObject({
      statuses: [100, 200],
      after: 'stays open',
    });
  });

  it('refuses other expectations', async () => {
    await using connection = await RawConnection.open(triton.httpPort!);
    await connection.send(expecting(LENGTH, undefined, '200-ok') + BODY);
    expect((await connection.answer())?.status).toBe(417);
  });
});

describe('header fields (RFC 9112, 5)', () => {
  it.each([
    [
      'names in lower case',
      `POST /v2/models/m/infer HTTP/1.1\r\nhost: h\r\ncontent-length: ${BODY.length}\r\n\r\n${BODY}`,
    ],
    [
      'names in capitals',
      `POST /v2/models/m/infer HTTP/1.1\r\nHOST: h\r\nCONTENT-LENGTH: ${BODY.length}\r\n\r\n${BODY}`,
    ],
    ['no space after the colon', `${POST}Content-Length:${BODY.length}\r\n\r\n${BODY}`],
    ['many spaces after the colon', `${POST}Content-Length:     ${BODY.length}\r\n\r\n${BODY}`],
  ])('may have %s', async (_, sent) => {
    expect(await exchange([sent])).toEqual(ANSWERED);
  });

  it.each([
    ['a value beyond ASCII', head('Host: h', 'X-A: \xff\xe9'), 200],
    ['a name of one header in 100', head('Host: h', ...Array.from({ length: 100 }, (_, i) => `X-${i}: v`)), 200],
    ['9000 bytes', head('Host: h', `X-Long: ${'a'.repeat(9000)}`), 200],
    ['a path of 9000 bytes', `GET /${'a'.repeat(9000)} HTTP/1.1\r\nHost: h\r\n\r\n`, 404],
  ])('may have %s', async (_, sent, status) => {
    expect(await exchange([sent])).toMatchObject({ statuses: [status], after: 'stays open' });
  });

  it.each([
    ['folded lines', head('Host: h', 'X-A: one', ' two')],
    ['a space before the colon', head('Host: h', 'X-A : 1')],
    ['no colon', head('Host: h', 'NoColon')],
    ['an empty name', head('Host: h', ': x')],
    ['a NUL', head('Host: h', 'X-A: a\0b')],
    ['a bare carriage return', head('Host: h', 'X-A: a\rb')],
    ['a name with a space', head('Host: h', 'X A: 1')],
    ['a name beyond ASCII', head('Host: h', 'X-\xe9: 1')],
    ['bare line feeds', 'GET /v2/health/live HTTP/1.1\nHost: h\n\n'],
    ['a space before the request line', ` ${LIVE}`],
    ['tabs in the request line', LIVE.replace('GET ', 'GET\t')],
    ['a space after the request line', LIVE.replace('1.1\r', '1.1 \r')],
    ['a space in the path', LIVE.replace('live', 'li ve')],
    ['a path beyond ASCII', LIVE.replace('live', 'l\xefve')],
    ['a NUL in the path', LIVE.replace('live', 'l\0ve')],
  ])('may not have %s', async (_, sent) => {
    expect(await exchange([sent])).toMatchObject({ statuses: [400], after: 'closes' });
  });

  it.each([
    ['fields', head('Host: h', `X-Long: ${'a'.repeat(20_000)}`)],
    ['fields by their number', head('Host: h', ...Array.from({ length: 5000 }, (_, i) => `X-${i}: v`))],
    ['a path', `GET /${'a'.repeat(20_000)} HTTP/1.1\r\nHost: h\r\n\r\n`],
  ])('may not be larger than 16 KiB because of %s', async (_, sent) => {
    expect(await exchange([sent])).toMatchObject({ statuses: [431], after: 'closes' });
  });
});

describe('the port of the metrics', () => {
  it('follows the same rules', async () => {
    for (const [sent, status] of [
      ['GET /metrics HTTP/1.0\r\n\r\n', 200],
      ['GET /metrics HTTP/1.1\r\n\r\n', 400],
      ['hello\r\n\r\n', 400],
    ] as const) {
      await using connection = await RawConnection.open(triton.metricsPort!);
      await connection.send(sent);
      expect((await connection.answer())?.status).toBe(status);
      await connection.closed();
    }
  });
});
