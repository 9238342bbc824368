// What "gRPC over HTTP2", RFC 9113 and the health of the server ask of single calls and connections. The questions are
// those that were put to Triton, which answers refused streams several times over, accepts compressed flags that do not
// exist, and ends connections without a word; nothing here is compared with it.
import { once } from 'node:events';
import {
  connect,
  constants,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { devNull } from 'node:os';
import { deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { stream, Triton, TritonError, type TritonConfig } from 'tstriton';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  encodeFrame,
  encodeHeaders,
  FLAG,
  FRAME,
  PREFACE,
  RawHttp2,
  setting,
  uint32,
  type RawFrame,
} from '../support/raw-http2.js';
import { gate } from '../support/start-server.js';
import { inSimulatedTime } from './simulated-time.js';

const FLOATS = { dtype: 'float32', shape: [-1] } as const;
const NUMBER = { dtype: 'int32', shape: [1] } as const;

/** By the timers that are faked where moments matter. */
function delay(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}

let triton: Triton;
let session: ClientHttp2Session;
/** With the server in this thread, where its time can be simulated. */
let simulated: Triton;
let simulatedSession: ClientHttp2Session;
beforeAll(async () => {
  const config: TritonConfig = {
    allowHttp: false,
    allowMetrics: false,
    grpcAddress: '127.0.0.1',
    grpcPort: 0,
    logFile: devNull,
    // For the calls that ask for it beside others.
    grpcHttp2MaxPingStrikes: 0,
  };
  triton = new Triton(config);
  simulated = new Triton({ ...config, serverThread: false });
  for (const each of [triton, simulated]) {
    bindModels(each);
    await each.run();
  }
  session = await connected();
  simulatedSession = await connected(simulated);
});
afterAll(async () => {
  session.destroy();
  simulatedSession.destroy();
  await Promise.all([triton.stop(), simulated.stop()]);
});

/** What the model `held` waits for. */
let held = gate();

function bindModels(triton: Triton): void {
  triton.bind({ modelName: 'm', inferFunc: (requests) => requests, inputs: { x: FLOATS }, outputs: { y: FLOATS } });
  triton.bind({
    modelName: 'slow',
    inferFunc: async (requests) => {
      await delay(150);
      return requests;
    },
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
    config: { batching: false, concurrency: 200 },
  });
  triton.bind({
    modelName: 'held',
    inferFunc: async (requests) => {
      await held.opened;
      return requests;
    },
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
    config: { batching: false },
  });
  triton.bind({
    modelName: 'says_no',
    inferFunc: () => {
      throw new TritonError('INTERNAL', 'two\nlines, 100% ünïcode 😀 ');
    },
    inputs: { x: FLOATS },
    outputs: { y: FLOATS },
    config: { batching: false },
  });
  triton.bind({
    modelName: 'count',
    inferFunc: stream(async function* ({ n }) {
      for (let i = 0; i < n.data[0]!; i++) {
        yield { i: Int32Array.of(i) };
        await delay(20);
      }
    }),
    inputs: { n: NUMBER },
    outputs: { i: NUMBER },
    config: { batching: false, decoupled: true },
  });
}

async function connected(server = triton): Promise<ClientHttp2Session> {
  const opened = connect(`http://127.0.0.1:${server.grpcPort}`);
  opened.on('error', () => undefined);
  await once(opened, 'connect');
  return opened;
}

const SERVICE = '/inference.GRPCInferenceService';

function field(number: number, content: Buffer | string): Buffer {
  const bytes = Buffer.from(content);
  const length = bytes.length < 128 ? [bytes.length] : [(bytes.length & 127) | 128, bytes.length >> 7];
  if (bytes.length >= 1 << 14) throw new Error('too long for this test');
  return Buffer.concat([Buffer.from([(number << 3) | 2, ...length]), bytes]);
}

/** A request for one float, of a model without batching but for `m`. */
function request(model: string, id = ''): Buffer {
  const count = model === 'count';
  const shape = Buffer.from(model === 'm' ? [1, 1] : [1]);
  const input = [field(1, count ? 'n' : 'x'), field(2, count ? 'INT32' : 'FP32'), field(3, shape)];
  const data = count ? Buffer.from([3, 0, 0, 0]) : Buffer.from([0, 0, 128, 63]);
  return Buffer.concat([field(1, model), field(3, id), field(5, Buffer.concat(input)), field(7, data)]);
}

function frame(message: Buffer, flag = 0, length = message.length): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt8(flag);
  prefix.writeUInt32BE(length, 1);
  return Buffer.concat([prefix, message]);
}

interface Answer {
  readonly http: number | undefined;
  readonly status: number | undefined;
  readonly message: string | undefined;
  readonly headers: IncomingHttpHeaders;
  /** Undefined when the status came with the headers. */
  readonly trailers: IncomingHttpHeaders | undefined;
  readonly body: Buffer;
  readonly reset: number;
}

async function answerOf(call: ClientHttp2Stream): Promise<Answer> {
  let headers: IncomingHttpHeaders = {};
  let trailers: IncomingHttpHeaders | undefined;
  const chunks: Buffer[] = [];
  call.on('response', (received) => (headers = received));
  call.on('trailers', (received) => (trailers = received));
  call.on('data', (chunk: Buffer) => chunks.push(chunk));
  call.on('error', () => undefined);
  await new Promise((resolve) => call.once('close', resolve));
  const end = trailers ?? headers;
  return {
    http: headers[':status'] as number | undefined,
    status: end['grpc-status'] === undefined ? undefined : Number(end['grpc-status']),
    message: end['grpc-message'] as string | undefined,
    headers,
    trailers,
    body: Buffer.concat(chunks),
    reset: call.rstCode ?? 0,
  };
}

interface Asked {
  readonly path?: string;
  readonly headers?: OutgoingHttpHeaders;
  readonly body?: Buffer;
  /** Whether the client ends its side. */
  readonly halfClose?: boolean;
  /** On which connection. */
  readonly over?: ClientHttp2Session;
}

function ask({
  path = `${SERVICE}/ServerLive`,
  headers = {},
  body,
  halfClose = true,
  over = session,
}: Asked): Promise<Answer> {
  const given = { ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers', ...headers };
  const present = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
  const call = over.request(present, { endStream: false });
  const answer = answerOf(call);
  const bytes = body ?? frame(Buffer.alloc(0));
  if (bytes.length > 0) call.write(bytes);
  if (halfClose) call.end();
  return answer;
}

const infer = (model: string, more: Asked = {}) =>
  ask({ path: `${SERVICE}/ModelInfer`, body: frame(request(model)), ...more });

/** The server serves others as if nothing had been. */
async function expectAlive(): Promise<void> {
  expect((await ask({})).status).toBe(0);
}

describe('an answer', () => {
  it('has headers, a message and trailers', async () => {
    const answer = await ask({});
    expect(answer.headers).toMatchObject({
      ':status': 200,
      'content-type': 'application/grpc',
      'grpc-accept-encoding': 'identity,deflate,gzip',
    });
    expect(answer.body).toEqual(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
    expect(Object.entries(answer.trailers!)).toEqual([['grpc-status', '0']]);
    expect(answer.reset).toBe(constants.NGHTTP2_NO_ERROR);
  });

  it('that is an error is headers only, its text percent-encoded', async () => {
    const answer = await infer('says_no');
    expect([answer.trailers, answer.body.length, answer.http, answer.status]).toEqual([undefined, 0, 200, 13]);
    expect(answer.message).toBe('two%0Alines, 100%25 %C3%BCn%C3%AFcode %F0%9F%98%80%20');
  });

  it('of a stream without messages is headers only', async () => {
    const answer = await ask({ path: `${SERVICE}/ModelStreamInfer`, body: Buffer.alloc(0) });
    expect([answer.trailers, answer.status]).toEqual([undefined, 0]);
  });

  it('of a stream ends in trailers, also when a status ends it', async () => {
    const path = `${SERVICE}/ModelStreamInfer`;
    const good = await ask({ path, body: frame(request('count')) });
    expect([good.trailers?.['grpc-status'], good.body.length > 0]).toEqual(['0', true]);
    const late = await inSimulatedTime(simulatedSession, 30, () =>
      ask({ path, body: frame(request('count')), headers: { 'grpc-timeout': '30m' }, over: simulatedSession }),
    );
    expect([late.trailers?.['grpc-status'], late.message]).toEqual(['4', 'Deadline Exceeded']);
  });

  it('comes before the half-close of a unary call, which the client is then told to spare itself', async () => {
    const answer = await infer('m', { halfClose: false });
    expect([answer.status, answer.reset]).toEqual([0, constants.NGHTTP2_NO_ERROR]);
  });
});

describe('a call', () => {
  it.each([
    'application/grpc',
    'application/grpc+proto',
    'application/grpc+json',
    'application/grpc;charset=utf-8',
    'APPLICATION/GRPC',
    '',
    undefined,
  ])('has content type %j', async (type) => {
    expect((await ask({ headers: { 'content-type': type } })).status).toBe(0);
  });

  it.each(['application/grpc-web', 'application/grpcx', 'application/json', 'text/plain', 'application/octet-stream'])(
    'of content type %j is none: 415',
    async (type) => {
      const answer = await ask({ headers: { 'content-type': type } });
      expect([answer.http, answer.status]).toEqual([415, undefined]);
    },
  );

  it.each(['GET', 'PUT', 'HEAD', 'OPTIONS', 'DELETE', 'post'])('with method %s is none: 405', async (method) => {
    const answer = await ask({ headers: { ':method': method } });
    expect([answer.http, answer.status]).toEqual([405, undefined]);
  });

  it.each([
    '/',
    SERVICE,
    `${SERVICE}/`,
    `${SERVICE}/ServerLive/`,
    `/${SERVICE}/ServerLive`,
    `${SERVICE}/ServerLive?x=1`,
    `${SERVICE}/Server%4Cive`,
    '/inference.grpcinferenceservice/ServerLive',
    '/v2/health/live',
    '/__proto__/constructor',
  ])('of a method that does not exist is UNIMPLEMENTED (%s)', async (path) => {
    const answer = await ask({ path });
    expect([answer.http, answer.status, answer.message]).toEqual([200, 12, undefined]);
  });

  it.each<[string, OutgoingHttpHeaders]>([
    ['without te', { te: undefined }],
    ['without user-agent', {}],
    ['of scheme https', { ':scheme': 'https' }],
    ['with a host beside the authority', { host: 'else' }],
    ['with binary metadata', { 'x-bin': 'AAECAw==' }],
    ['with binary metadata that are none', { 'x-bin': '!!' }],
    ['with metadata of the reserved kind', { 'grpc-x': '1', 'grpc-previous-rpc-attempts': '2' }],
    ['with empty metadata', { 'x-empty': '' }],
    ['with 9 kB of metadata', { 'x-big': 'x'.repeat(9000) }],
    ['with a trace context', { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' }],
    ["with HTTP's own encodings", { 'accept-encoding': 'gzip', 'content-encoding': 'gzip' }],
  ])('is served %s', async (_, headers) => {
    expect((await infer('m', { headers })).status).toBe(0);
  });
});

describe('the timeout of a call', () => {
  it.each(['10S', '1H', '99999999H', '1M', '5000m', '5000000u', '5000000000n', '5 S', '5S ', '100000000S'])(
    '%j is enough',
    async (timeout) => {
      const asked = { headers: { 'grpc-timeout': timeout }, over: simulatedSession };
      const answer = await inSimulatedTime(simulatedSession, 150, () => infer('slow', asked));
      expect(answer.status).toBe(0);
    },
  );

  it.each(['1H', '99999999H', '1M', '100000000S'])('%j is enough in real time', async (timeout) => {
    expect((await infer('slow', { headers: { 'grpc-timeout': timeout } })).status).toBe(0);
  });

  it.each(['40m', '1000u', '1000000n', '1n', '0S', '0n'])('%j is too short', async (timeout) => {
    const asked = { headers: { 'grpc-timeout': timeout }, over: simulatedSession };
    const answer = await inSimulatedTime(simulatedSession, 40, () => infer('slow', asked));
    expect([answer.status, answer.message, answer.trailers]).toEqual([4, 'Deadline Exceeded', undefined]);
  });

  it.each(['40m', '1000u', '1000000n', '1n', '0S', '0n'])('%j is too short in real time', async (timeout) => {
    held = gate();
    const answer = await infer('held', { headers: { 'grpc-timeout': timeout } });
    held.open();
    expect([answer.status, answer.message, answer.trailers]).toEqual([4, 'Deadline Exceeded', undefined]);
  });

  it.each(['-1S', 'S', '', '5', '5s', '1.5S', 'abc', '10x', '1S,2S', '0x5S', '٥S'])(
    '%j is malformed',
    async (timeout) => {
      const answer = await infer('slow', { headers: { 'grpc-timeout': Buffer.from(timeout).toString('latin1') } });
      expect(answer.status).toBe(13);
      expect(answer.message).toContain('malformed grpc-timeout');
    },
  );

  it('does not matter to what is answered at once', async () => {
    expect((await ask({ headers: { 'grpc-timeout': '1n' } })).status).toBe(0);
  });
});

describe('the encoding of messages', () => {
  const message = request('m');
  const encoded = (encoding: string | undefined, flag: number, bytes: Buffer) =>
    infer('m', { headers: { 'grpc-encoding': encoding }, body: frame(bytes, flag) });

  it.each([
    ['gzip', 1, gzipSync(message)],
    ['deflate', 1, deflateSync(message)],
    ['gzip', 0, message],
    ['identity', 0, message],
    ['identity', 1, message],
  ])('%s with flag %i', async (encoding, flag, bytes) => {
    expect((await encoded(encoding, flag, bytes)).status).toBe(0);
  });

  it.each([
    ['deflate', deflateRawSync(message)],
    ['deflate', gzipSync(message)],
    ['gzip', deflateSync(message)],
    ['gzip', message],
    ['gzip', gzipSync(message).subarray(0, -4)],
  ])('%s that is not what it says is INTERNAL', async (encoding, bytes) => {
    const answer = await encoded(encoding, 1, bytes);
    expect([answer.status, answer.message]).toEqual([
      13,
      `Unexpected error decompressing data for algorithm ${encoding}`,
    ]);
  });

  it.each(['br', 'snappy', 'GZIP', 'gzip, deflate', 'stream/gzip', ''])(
    '%j is UNIMPLEMENTED, and the answer says what is',
    async (encoding) => {
      for (const flag of [0, 1]) {
        const answer = await encoded(encoding, flag, message);
        expect([answer.status, answer.headers['grpc-accept-encoding']]).toEqual([12, 'identity,deflate,gzip']);
      }
    },
  );

  it('is plain for answers, whatever the client accepts, unless the server is told otherwise', async () => {
    for (const accepted of ['gzip', 'identity,deflate,gzip', 'br', '']) {
      const answer = await infer('m', { headers: { 'grpc-accept-encoding': accepted } });
      expect([answer.status, answer.headers['grpc-encoding'], answer.body[0]]).toEqual([0, undefined, 0]);
    }
  });
});

describe('the message of a unary call', () => {
  const UNREADABLE = [13, 'Unable to parse request'];
  const message = request('m');

  it.each<[string, Buffer, readonly unknown[]]>([
    ['without an encoding but with the flag', frame(message, 1), UNREADABLE],
    ['with flag 2', frame(message, 2), UNREADABLE],
    ['with flag 3', frame(message, 3), UNREADABLE],
    ['with flag 128', frame(message, 128), UNREADABLE],
    ['with flag 255', frame(message, 255), UNREADABLE],
    ['shorter than its length', frame(message, 0, message.length + 10), UNREADABLE],
    ['longer than its length', frame(message, 0, message.length - 3), UNREADABLE],
    ['that is three bytes of a prefix', Buffer.from([0, 0, 0]), UNREADABLE],
    ['that is a prefix only', frame(Buffer.alloc(0), 0, 10), UNREADABLE],
    ['of 2^31 - 1 bytes that do not come', frame(message, 0, 0x7fffffff), UNREADABLE],
    [
      'of 2^32 - 1 bytes',
      frame(message, 0, 0xffffffff),
      [8, 'Received message larger than max (4294967295 vs. 2147483647)'],
    ],
    ['that does not come', Buffer.alloc(0), UNREADABLE],
    ['that is no protobuf', frame(Buffer.from([0xff, 0xff])), UNREADABLE],
    [
      'that is two',
      Buffer.concat([frame(message), frame(message)]),
      [13, `expected one request message in a call of ${SERVICE}/ModelInfer, got more`],
    ],
  ])('%s is refused', async (_, body, end) => {
    const answer = await infer('m', { body });
    expect([answer.status, answer.message]).toEqual(end);
  });

  it('may come in pieces', async () => {
    const call = session.request({ ':method': 'POST', ':path': `${SERVICE}/ModelInfer`, te: 'trailers' });
    const answer = answerOf(call);
    for (const byte of frame(message)) call.write(Buffer.from([byte]));
    call.end();
    expect((await answer).status).toBe(0);
  });
});

describe('a connection', () => {
  it('carries many calls at once', async () => {
    const answers = await Promise.all(
      Array.from({ length: 150 }, (_, i) => infer('slow', { body: frame(request('slow', `r${i}`)) })),
    );
    expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 150 }, () => 0));
  });

  it('waits for a window that is closed', async () => {
    const narrow = connect(`http://127.0.0.1:${triton.grpcPort}`, { settings: { initialWindowSize: 10 } });
    const call = narrow.request({
      ':method': 'POST',
      ':path': `${SERVICE}/ServerMetadata`,
      'content-type': 'application/grpc',
      te: 'trailers',
    });
    const answer = answerOf(call);
    call.end(frame(Buffer.alloc(0)));
    const { status, body } = await answer;
    expect(status).toBe(0);
    expect(body.length).toBe(5 + body.readUInt32BE(1));
    narrow.destroy();
  });

  it('serves on after calls that the client reset', async () => {
    const call = session.request({ ':method': 'POST', ':path': `${SERVICE}/ModelInfer`, te: 'trailers' });
    call.on('error', () => undefined);
    call.write(frame(request('slow')));
    call.close(constants.NGHTTP2_CANCEL);
    await once(call, 'close');
    expect((await infer('slow')).status).toBe(0);
  });

  it('begins with settings', async () => {
    using client = await RawHttp2.open(triton.grpcPort!);
    const settings = await client.frame(({ type, flags }) => type === FRAME.SETTINGS && flags === 0);
    expect(settings).toBe(client.frames[0]);
    await client.frame(({ type, flags }) => type === FRAME.SETTINGS && flags === FLAG.ACK);
  });

  it('answers pings with their bytes', async () => {
    using client = await RawHttp2.open(triton.grpcPort!);
    client.send({ type: FRAME.PING, payload: Buffer.from('12345678') });
    const answer = await client.frame(({ type, flags }) => type === FRAME.PING && flags === FLAG.ACK);
    expect(answer!.payload.toString()).toBe('12345678');
  });

  it('passes over frames of types and settings that it does not know', async () => {
    using client = await RawHttp2.open(triton.grpcPort!);
    client.send(
      { type: 0xbe, payload: Buffer.from('anything') },
      { type: FRAME.SETTINGS, payload: setting(0xfe03, 1) },
      { type: FRAME.PING, payload: Buffer.alloc(8) },
    );
    expect(await client.frame(({ type, flags }) => type === FRAME.PING && flags === FLAG.ACK)).toBeDefined();
  });

  const headersOf = (method: string) =>
    encodeHeaders([
      [':method', 'POST'],
      [':scheme', 'http'],
      [':path', `${SERVICE}/${method}`],
      [':authority', 'h'],
      ['content-type', 'application/grpc'],
      ['te', 'trailers'],
    ]);
  const HEADERS = headersOf('ServerLive');
  const SLOW_HEADERS = headersOf('ModelInfer');
  const { PROTOCOL_ERROR, FRAME_SIZE_ERROR, FLOW_CONTROL_ERROR, COMPRESSION_ERROR, STREAM_CLOSED } = {
    PROTOCOL_ERROR: constants.NGHTTP2_PROTOCOL_ERROR,
    FRAME_SIZE_ERROR: constants.NGHTTP2_FRAME_SIZE_ERROR,
    FLOW_CONTROL_ERROR: constants.NGHTTP2_FLOW_CONTROL_ERROR,
    COMPRESSION_ERROR: constants.NGHTTP2_COMPRESSION_ERROR,
    STREAM_CLOSED: constants.NGHTTP2_STREAM_CLOSED,
  };

  it.each<[string, RawFrame[], number]>([
    ['PING of 7 bytes', [{ type: FRAME.PING, payload: Buffer.alloc(7) }], FRAME_SIZE_ERROR],
    ['PING on a stream', [{ type: FRAME.PING, stream: 1, payload: Buffer.alloc(8) }], PROTOCOL_ERROR],
    ['SETTINGS of 5 bytes', [{ type: FRAME.SETTINGS, payload: Buffer.alloc(5) }], FRAME_SIZE_ERROR],
    [
      'acknowledged SETTINGS with a payload',
      [{ type: FRAME.SETTINGS, flags: FLAG.ACK, payload: setting(3, 1) }],
      FRAME_SIZE_ERROR,
    ],
    ['a window of 2^31', [{ type: FRAME.SETTINGS, payload: setting(4, 2 ** 31) }], FLOW_CONTROL_ERROR],
    ['frames of 1 byte', [{ type: FRAME.SETTINGS, payload: setting(5, 1) }], PROTOCOL_ERROR],
    ['push of 2', [{ type: FRAME.SETTINGS, payload: setting(2, 2) }], PROTOCOL_ERROR],
    ['a window update of 0', [{ type: FRAME.WINDOW_UPDATE, payload: uint32(0) }], PROTOCOL_ERROR],
    [
      'a window update beyond 2^31 - 1',
      [{ type: FRAME.WINDOW_UPDATE, payload: uint32(0x7fffffff) }],
      FLOW_CONTROL_ERROR,
    ],
    ['DATA on an idle stream', [{ type: FRAME.DATA, stream: 1, payload: Buffer.alloc(1) }], PROTOCOL_ERROR],
    [
      'HEADERS on an even stream',
      [{ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 2, payload: HEADERS }],
      PROTOCOL_ERROR,
    ],
    ['HEADERS on stream 0', [{ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, payload: HEADERS }], PROTOCOL_ERROR],
    [
      'headers that are no HPACK',
      [{ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 1, payload: Buffer.from([0x80]) }],
      COMPRESSION_ERROR,
    ],
    [
      'CONTINUATION without HEADERS',
      [{ type: FRAME.CONTINUATION, flags: FLAG.END_HEADERS, stream: 1, payload: HEADERS }],
      PROTOCOL_ERROR,
    ],
    [
      'PUSH_PROMISE',
      [{ type: FRAME.PUSH_PROMISE, flags: FLAG.END_HEADERS, stream: 1, payload: Buffer.concat([uint32(2), HEADERS]) }],
      PROTOCOL_ERROR,
    ],
    [
      'a frame larger than the server takes',
      [{ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 1, length: 0xffffff }],
      FRAME_SIZE_ERROR,
    ],
  ])('is over for %s, with the reason, and others are served on', async (_, frames, code) => {
    using client = await RawHttp2.open(triton.grpcPort!);
    await client.frame(({ type, flags }) => type === FRAME.SETTINGS && flags === FLAG.ACK);
    client.send(...frames);
    const goaway = await client.frame(({ type }) => type === FRAME.GOAWAY);
    // The HTTP/2 of Node.js calls some of these an error of its own.
    expect([code, constants.NGHTTP2_INTERNAL_ERROR]).toContain(goaway?.payload.readUInt32BE(4));
    await expectAlive();
  });

  it.each(['GET / HTTP/1.1\r\nHost: h\r\n\r\n', 'PRI * HTTP/2.0\r\n\r\nNO\r\n\r\n', '\0\0\0'.repeat(20)])(
    'ends when it does not begin as HTTP/2 does: %j',
    async (text) => {
      using client = await RawHttp2.open(triton.grpcPort!, Buffer.from(text));
      await client.closed();
      expect(client.frames.some(({ type }) => type === FRAME.DATA)).toBe(false);
      await expectAlive();
    },
  );

  it.each<[string, readonly (readonly [string, string])[]]>([
    [
      'with a path that is none',
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', 'ServerLive'],
        [':authority', 'h'],
      ],
    ],
    [
      'without :path',
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':authority', 'h'],
      ],
    ],
    [
      'without :method',
      [
        [':scheme', 'http'],
        [':path', '/'],
        [':authority', 'h'],
      ],
    ],
    [
      'without :scheme',
      [
        [':method', 'POST'],
        [':path', '/'],
        [':authority', 'h'],
      ],
    ],
    [
      'with two paths',
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', '/a'],
        [':path', '/b'],
      ],
    ],
    [
      'with a pseudo-header that does not exist',
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', '/'],
        [':x', '1'],
      ],
    ],
    [
      'with a pseudo-header behind others',
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        ['a', 'b'],
        [':path', '/'],
      ],
    ],
    [
      'with a name in upper case',
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', '/'],
        ['Upper', '1'],
      ],
    ],
    [
      'with a header of HTTP/1',
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', '/'],
        ['connection', 'close'],
      ],
    ],
    [
      'with te: gzip',
      [
        [':method', 'POST'],
        [':scheme', 'http'],
        [':path', '/'],
        ['te', 'gzip'],
      ],
    ],
  ])('refuses a stream %s and serves the next', async (_, headers) => {
    using client = await RawHttp2.open(triton.grpcPort!);
    const flags = FLAG.END_HEADERS | FLAG.END_STREAM;
    client.send({ type: FRAME.HEADERS, flags, stream: 1, payload: encodeHeaders(headers) });
    const refused = await client.frame(({ type, stream: id }) => type === FRAME.RST_STREAM && id === 1);
    expect(refused?.payload.readUInt32BE()).toBe(PROTOCOL_ERROR);
    client.send(
      { type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 3, payload: HEADERS },
      { type: FRAME.DATA, flags: FLAG.END_STREAM, stream: 3, payload: frame(Buffer.alloc(0)) },
    );
    const answered = await client.frame(({ type, stream: id }) => type === FRAME.DATA && id === 3);
    expect(answered?.payload).toEqual(Buffer.from([0, 0, 0, 0, 2, 8, 1]));
  });

  it('finishes what is under way when the client takes no more calls', async () => {
    using client = await RawHttp2.open(triton.grpcPort!);
    client.send(
      { type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 1, payload: SLOW_HEADERS },
      { type: FRAME.DATA, flags: FLAG.END_STREAM, stream: 1, payload: frame(request('slow')) },
      { type: FRAME.GOAWAY, payload: Buffer.alloc(8) },
    );
    expect(await client.frame(({ type, stream: id }) => type === FRAME.DATA && id === 1)).toBeDefined();
    await client.closed();
  });

  it('takes headers in pieces', async () => {
    using client = await RawHttp2.open(triton.grpcPort!);
    client.send(
      { type: FRAME.HEADERS, stream: 1, payload: HEADERS.subarray(0, 20) },
      { type: FRAME.CONTINUATION, stream: 1, payload: HEADERS.subarray(20, 40) },
      { type: FRAME.CONTINUATION, flags: FLAG.END_HEADERS, stream: 1, payload: HEADERS.subarray(40) },
      { type: FRAME.DATA, flags: FLAG.END_STREAM, stream: 1, payload: frame(Buffer.alloc(0)) },
    );
    expect(await client.frame(({ type, stream: id }) => type === FRAME.DATA && id === 1)).toBeDefined();
  });

  it('takes a call that comes with the very first bytes', async () => {
    const greeting = Buffer.concat([
      PREFACE,
      encodeFrame({ type: FRAME.SETTINGS }),
      encodeFrame({ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 1, payload: HEADERS }),
      encodeFrame({ type: FRAME.DATA, flags: FLAG.END_STREAM, stream: 1, payload: frame(Buffer.alloc(0)) }),
    ]);
    using client = await RawHttp2.open(triton.grpcPort!, greeting);
    expect(await client.frame(({ type, stream: id }) => type === FRAME.DATA && id === 1)).toBeDefined();
  });

  it('does not take DATA behind the end of a stream for another message', async () => {
    using client = await RawHttp2.open(triton.grpcPort!);
    const data = { type: FRAME.DATA, flags: FLAG.END_STREAM, stream: 1, payload: frame(Buffer.alloc(0)) };
    client.send({ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 1, payload: HEADERS }, data, data);
    const end = await client.frame(({ type }) => type === FRAME.GOAWAY || type === FRAME.RST_STREAM);
    expect(end?.payload.readUInt32BE(end.type === FRAME.GOAWAY ? 4 : 0)).toBe(STREAM_CLOSED);
    await expectAlive();
  });
});
