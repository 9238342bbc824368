// The failure story: the server is broken, hostile or another program. Whatever it does, every call of the client ends, with one of
// our errors, and the client can be closed.
import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';

import { startTcp } from '../../test/support/fake-servers.js';
import { encodeFrame, encodeHeaders, FLAG, FRAME, setting, uint32 } from '../../test/support/raw-http2.js';
import { TritonError } from '../errors.js';
import { defineModel } from '../model/callable.js';
import { ModelClient } from './model-client.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});
const tokens = defineModel({ ...double, config: { decoupled: true } });
const X = Float32Array.of(1, 2.5);
const MAX_BYTES = 1_000_000;

/** How a call ends; `late` by its deadline. */
type Ending = 'late' | RegExp;
type Call = 'infer' | 'stream' | 'large';

const LATE_MS = 300;

function textFor(ending: Ending): RegExp {
  return ending === 'late' ? /^deadline of 300 ms exceeded for model 'Double'/ : ending;
}

/** Writes the same again and again, as fast as the client takes it. */
function forever(socket: Socket, bytes: Buffer): void {
  const more = () => {
    while (!socket.destroyed && socket.write(bytes));
    if (!socket.destroyed) socket.once('drain', more);
  };
  more();
}

/** What the call fails with. */
async function failureOf(url: string, call: Call, ending: Ending): Promise<unknown> {
  const timeoutMs = ending === 'late' ? LATE_MS : 20_000;
  await using client = new ModelClient(url, call === 'stream' ? tokens : double, {
    timeoutMs,
    retry: false,
    maxResponseBytes: MAX_BYTES,
  });
  const x = call === 'large' ? new Float32Array(4_000_000) : X;
  const answer = call === 'stream' ? collect(client.streamSample({ x })) : client.inferSample({ x } as never);
  return await answer.then(
    (value) => `answered: ${JSON.stringify(value)}`,
    (error: unknown) => error,
  );
}

/** Of one of our own errors. */
function textOf(error: unknown): string {
  return TritonError.is(error) ? error.message : `no TritonError: ${String(error)}`;
}

async function collect<T>(answers: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const answer of answers) list.push(answer);
  return list;
}

const HEAD = 'HTTP/1.1 200 OK\r\n';
const EVENTS = `${HEAD}content-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n`;
const chunk = (bytes: Buffer) =>
  Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]);
const LOST = /is not available: (connection lost|the connection was closed before the answer was complete)/;
const TOO_LARGE = /^the answer of \S+ is larger than 1000000 bytes, the client's maxResponseBytes$/;
const NO_HTTP = /does not answer in HTTP \(.+\); is it another server's port\?$/;

describe('over HTTP, a server that', () => {
  const cases: readonly [string, (socket: Socket) => void, Ending, Call?][] = [
    ['says nothing', () => {}, 'late'],
    ['says nothing to a stream', () => {}, 'late', 'stream'],
    ['does not read', (socket) => void socket.pause(), 'late', 'large'],
    ['stops within the head', (socket) => void socket.write(`${HEAD}content-le`), 'late'],
    ['stops within the body', (socket) => void socket.write(`${HEAD}content-length: 9\r\n\r\n{`), 'late'],
    ['stops within a chunk', (socket) => void socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n9\r\n{`), 'late'],
    ['stops within an event', (socket) => void socket.write(`${EVENTS}6\r\ndata: `), 'late', 'stream'],
    ['closes at once', (socket) => void socket.end(), LOST],
    ['closes within the head', (socket) => void socket.end(`${HEAD}content-le`), LOST],
    ['closes within the body', (socket) => void socket.end(`${HEAD}content-length: 9\r\n\r\n{`), LOST],
    ['closes within a chunk', (socket) => void socket.end(`${HEAD}transfer-encoding: chunked\r\n\r\n9\r\n{`), LOST],
    ['closes within a stream', (socket) => void socket.end(`${EVENTS}6\r\ndata: `), LOST, 'stream'],
    [
      'resets within the body',
      (socket) => void socket.write(`${HEAD}content-length: 9\r\n\r\n{`, () => socket.resetAndDestroy()),
      LOST,
    ],
    ['has a head without end', (socket) => forever(socket, Buffer.from(`x-${'a'.repeat(1000)}: b\r\n`)), NO_HTTP],
    [
      'has a head line without end',
      (socket) => (socket.write(`${HEAD}x: `), forever(socket, Buffer.alloc(1000, 'a'))),
      NO_HTTP,
    ],
    [
      'has a body without end',
      (socket) => (socket.write(`${HEAD}\r\n`), forever(socket, Buffer.alloc(65_536))),
      TOO_LARGE,
    ],
    [
      'has chunks without end',
      (socket) => (
        socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n`),
        forever(socket, chunk(Buffer.alloc(10_000)))
      ),
      TOO_LARGE,
    ],
    [
      'has an error without end',
      (socket) => (socket.write('HTTP/1.1 500 X\r\n\r\n'), forever(socket, Buffer.alloc(65_536))),
      TOO_LARGE,
    ],
    ['announces too much', (socket) => void socket.write(`${HEAD}content-length: 1000001\r\n\r\n`), TOO_LARGE],
    [
      'has an event without end',
      (socket) => (socket.write(EVENTS), forever(socket, chunk(Buffer.alloc(10_000, 'a')))),
      TOO_LARGE,
      'stream',
    ],
    [
      'has an event of lines without end',
      (socket) => (socket.write(EVENTS), forever(socket, chunk(Buffer.from(`data: ${'a'.repeat(9000)}\n`)))),
      TOO_LARGE,
      'stream',
    ],
    [
      'refuses a stream without end',
      (socket) => (socket.write('HTTP/1.1 500 X\r\n\r\n'), forever(socket, Buffer.alloc(65_536))),
      TOO_LARGE,
      'stream',
    ],
    [
      'goes on announcing an answer',
      (socket) => forever(socket, Buffer.from('HTTP/1.1 103 Early Hints\r\n\r\n')),
      'late',
    ],
    ['answers in another protocol', (socket) => void socket.write(encodeFrame({ type: FRAME.SETTINGS })), NO_HTTP],
    [
      'says two lengths',
      (socket) => void socket.end(`${HEAD}content-length: 1\r\ncontent-length: 2\r\n\r\n{}`),
      NO_HTTP,
    ],
    [
      'says a length and a transfer coding',
      (socket) => void socket.end(`${HEAD}content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n`),
      NO_HTTP,
    ],
    ['changes the protocol', (socket) => void socket.write('HTTP/1.1 101 X\r\nupgrade: h2c\r\n\r\n'), NO_HTTP],
    [
      'has chunks that are none',
      (socket) => void socket.write(`${HEAD}transfer-encoding: chunked\r\n\r\n+1\r\n`),
      NO_HTTP,
    ],
    [
      'breaks off a stream with what is no chunk',
      (socket) => void socket.write(`${EVENTS}1\r\n\nxy`),
      NO_HTTP,
      'stream',
    ],
    [
      'says that its JSON is longer than the body',
      (socket) => void socket.end(`${HEAD}inference-header-content-length: 99\r\ncontent-length: 2\r\n\r\n{}`),
      /^malformed response of the server: /,
    ],
    [
      'says that its JSON is of another length than a number',
      (socket) => void socket.end(`${HEAD}inference-header-content-length: -1\r\ncontent-length: 2\r\n\r\n{}`),
      /^malformed response of the server: /,
    ],
    [
      'sends a tensor that ends within its bytes',
      (socket) => {
        const json = '{"outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":8}}]}';
        socket.end(
          `${HEAD}inference-header-content-length: ${json.length}\r\ncontent-length: ${json.length + 4}\r\n\r\n${json}....`,
        );
      },
      /^malformed response of the server: /,
    ],
    [
      'sends a tensor of another size than its shape has',
      (socket) => {
        const json = '{"outputs":[{"name":"y","datatype":"FP32","shape":[1,2],"parameters":{"binary_data_size":4}}]}';
        socket.end(
          `${HEAD}inference-header-content-length: ${json.length}\r\ncontent-length: ${json.length + 4}\r\n\r\n${json}....`,
        );
      },
      /^output 'y' of model 'Double' with shape \[1,2\] has 4 bytes of FP32, expected 8$/,
    ],
  ];
  it.each(cases)('%s', async (_, answer, ending, call = 'infer') => {
    await using server = await startTcp((socket) => void socket.once('data', () => answer(socket)));
    expect(textOf(await failureOf(`http://${server.authority}`, call, ending))).toMatch(textFor(ending));
  });

  it('sends more than the answer disturbs no other call', async () => {
    const json = '{"outputs":[]}';
    const answer = `${HEAD}content-length: ${json.length}\r\n\r\n${json}`;
    await using server = await startTcp((socket) => void socket.on('data', () => socket.write(`${answer}${answer}`)));
    await using client = new ModelClient(server.authority, double);
    for (let call = 0; call < 3; call++) expect(await client.inferSample({ x: X })).toEqual({});
  });
});

const SETTINGS = encodeFrame({ type: FRAME.SETTINGS });
const ANSWER_HEAD: readonly (readonly [string, string])[] = [
  [':status', '200'],
  ['content-type', 'application/grpc'],
];
const headers = (fields = ANSWER_HEAD, flags: number = FLAG.END_HEADERS, stream = 1) =>
  encodeFrame({ type: FRAME.HEADERS, flags, stream, payload: encodeHeaders(fields) });
const data = (payload: Buffer, stream = 1) => encodeFrame({ type: FRAME.DATA, stream, payload });
const status = (code: string) => headers([['grpc-status', code]], FLAG.END_HEADERS | FLAG.END_STREAM);
const message = (length: number) => Buffer.concat([Buffer.from([0]), uint32(length), Buffer.alloc(length)]);
const ANY = /./;
const UNAVAILABLE = /is not available|does not answer in gRPC/;
const MALFORMED = /^malformed response of the server: /;

describe('over gRPC, a server that', () => {
  const send =
    (...frames: Buffer[]) =>
    (socket: Socket) =>
      void socket.write(Buffer.concat(frames));
  const cases: readonly [string, (socket: Socket) => void, Ending, Call?][] = [
    ['says nothing', () => {}, 'late'],
    ['says nothing to a stream', () => {}, 'late', 'stream'],
    ['does not read', (socket) => void socket.pause(), 'late', 'large'],
    ['gives no window', send(encodeFrame({ type: FRAME.SETTINGS, payload: setting(4, 0) })), 'late'],
    ['lets nothing begin', send(encodeFrame({ type: FRAME.SETTINGS, payload: setting(3, 0) })), 'late'],
    ['stops behind the head', send(SETTINGS, headers()), 'late'],
    ['stops within a message', send(SETTINGS, headers(), data(message(100).subarray(0, 50))), 'late'],
    ['stops within a stream', send(SETTINGS, headers(), data(message(100).subarray(0, 50))), 'late', 'stream'],
    ['stops within a large message', send(SETTINGS, headers(), data(message(900_000).subarray(0, 16_000))), 'late'],
    ['closes at once', (socket) => void socket.end(), UNAVAILABLE],
    ['closes within a frame', (socket) => void socket.end(headers().subarray(0, 12)), UNAVAILABLE],
    ['closes behind the head', (socket) => void socket.end(Buffer.concat([SETTINGS, headers()])), UNAVAILABLE],
    [
      'closes within a message',
      (socket) => void socket.end(Buffer.concat([SETTINGS, headers(), data(message(9).subarray(0, 7))])),
      UNAVAILABLE,
    ],
    [
      'closes within a stream',
      (socket) => void socket.end(Buffer.concat([SETTINGS, headers()])),
      UNAVAILABLE,
      'stream',
    ],
    ['resets the connection', (socket) => void socket.resetAndDestroy(), UNAVAILABLE],
    ['answers in another protocol', (socket) => void socket.end('HTTP/1.1 400 Bad Request\r\n\r\n'), UNAVAILABLE],
    [
      'sends bytes by chance',
      (socket) => void socket.end(Buffer.from(Array.from({ length: 500 }, (_, i) => (i * 73) % 251))),
      UNAVAILABLE,
    ],
    [
      'sends a frame that is too long',
      send(SETTINGS, encodeFrame({ type: FRAME.DATA, stream: 1, length: 0xffffff })),
      UNAVAILABLE,
    ],
    [
      'sends settings that cannot be',
      send(encodeFrame({ type: FRAME.SETTINGS, payload: setting(4, 0xffffffff) })),
      UNAVAILABLE,
    ],
    ['sends data before the head', send(SETTINGS, data(message(4))), UNAVAILABLE],
    ['sends data on a stream that never was', send(SETTINGS, data(message(4), 99)), UNAVAILABLE],
    ['opens a stream', send(SETTINGS, headers(ANSWER_HEAD, FLAG.END_HEADERS, 2)), UNAVAILABLE],
    [
      'pushes',
      send(
        SETTINGS,
        encodeFrame({
          type: FRAME.PUSH_PROMISE,
          flags: FLAG.END_HEADERS,
          stream: 1,
          payload: Buffer.concat([uint32(2), encodeHeaders(ANSWER_HEAD)]),
        }),
      ),
      UNAVAILABLE,
    ],
    [
      'sends headers that are none',
      send(
        SETTINGS,
        encodeFrame({ type: FRAME.HEADERS, flags: FLAG.END_HEADERS, stream: 1, payload: Buffer.alloc(20, 0xff) }),
      ),
      UNAVAILABLE,
    ],
    [
      'continues what was not begun',
      send(SETTINGS, encodeFrame({ type: FRAME.CONTINUATION, stream: 1, payload: encodeHeaders(ANSWER_HEAD) })),
      UNAVAILABLE,
    ],
    [
      'adds more window than there is',
      send(
        SETTINGS,
        ...Array.from({ length: 2 }, () => encodeFrame({ type: FRAME.WINDOW_UPDATE, payload: uint32(0x7fffffff) })),
      ),
      UNAVAILABLE,
    ],
    [
      'resets the stream',
      send(SETTINGS, encodeFrame({ type: FRAME.RST_STREAM, stream: 1, payload: uint32(2) })),
      UNAVAILABLE,
    ],
    [
      'leaves with an error',
      send(SETTINGS, encodeFrame({ type: FRAME.GOAWAY, payload: Buffer.concat([uint32(0), uint32(11)]) })),
      ANY,
    ],
    [
      'leaves, and forgets the call that it took',
      send(SETTINGS, encodeFrame({ type: FRAME.GOAWAY, payload: Buffer.concat([uint32(1), uint32(0)]) })),
      'late',
    ],
    [
      'has a head without end',
      (socket) => {
        socket.write(Buffer.concat([SETTINGS, headers(ANSWER_HEAD, 0)]));
        forever(
          socket,
          encodeFrame({ type: FRAME.CONTINUATION, stream: 1, payload: encodeHeaders([['x', 'a'.repeat(9000)]]) }),
        );
      },
      UNAVAILABLE,
    ],
    [
      'continues with nothing without end',
      (socket) => {
        socket.write(Buffer.concat([SETTINGS, headers(ANSWER_HEAD, 0)]));
        forever(socket, encodeFrame({ type: FRAME.CONTINUATION, stream: 1 }));
      },
      UNAVAILABLE,
    ],
    ['has settings without end', (socket) => forever(socket, SETTINGS), UNAVAILABLE],
    [
      'pings without end',
      (socket) => (
        socket.write(SETTINGS),
        forever(socket, encodeFrame({ type: FRAME.PING, payload: Buffer.alloc(8) }))
      ),
      UNAVAILABLE,
    ],
    [
      'sends nothing without end',
      (socket) => (socket.write(Buffer.concat([SETTINGS, headers()])), forever(socket, data(Buffer.alloc(0)))),
      UNAVAILABLE,
    ],
    [
      'announces too much',
      send(SETTINGS, headers(), data(Buffer.concat([Buffer.from([0]), uint32(MAX_BYTES + 1)]))),
      TOO_LARGE,
    ],
    [
      'announces too much in a stream',
      send(SETTINGS, headers(), data(Buffer.concat([Buffer.from([0]), uint32(MAX_BYTES + 1)]))),
      TOO_LARGE,
      'stream',
    ],
    [
      'answers one call with messages without end',
      (socket) => (socket.write(Buffer.concat([SETTINGS, headers()])), forever(socket, data(message(1000)))),
      MALFORMED,
    ],
    [
      'has an error page without end',
      (socket) => {
        socket.write(
          Buffer.concat([
            SETTINGS,
            headers([
              [':status', '502'],
              ['content-type', 'text/html'],
            ]),
          ]),
        );
        forever(socket, data(Buffer.alloc(10_000)));
      },
      /^\S+ answered with HTTP status 502 and content type text\/html, expected gRPC$/,
    ],
    [
      'has an error page without end for a stream',
      (socket) => {
        socket.write(
          Buffer.concat([
            SETTINGS,
            headers([
              [':status', '502'],
              ['content-type', 'text/html'],
            ]),
          ]),
        );
        forever(socket, data(Buffer.alloc(10_000)));
      },
      /^\S+ answered with HTTP status 502 and content type text\/html, expected gRPC$/,
      'stream',
    ],
    ['answers without a message', send(SETTINGS, headers(), status('0')), /expected one message, got 0/],
    ...['x', '', '0x0', '+0', '0 ', '\xa00'].map((text): (typeof cases)[number] => [
      `answers with a message and the status ${JSON.stringify(text)}, which is none`,
      send(SETTINGS, headers(), data(message(0)), status(text)),
      /^malformed response of the server: grpc-status '/,
    ]),
    [
      'answers with a status that nobody knows',
      send(SETTINGS, headers(), status('99')),
      /answered with gRPC status 99/,
    ],
    [
      'answers with what is no message',
      send(
        SETTINGS,
        headers(),
        data(Buffer.concat([Buffer.from([0]), uint32(3), Buffer.from([255, 255, 255])])),
        status('0'),
      ),
      /^Unable to parse response$/,
    ],
    [
      'compresses without saying how',
      send(SETTINGS, headers(), data(Buffer.concat([Buffer.from([1]), uint32(1), Buffer.alloc(1)])), status('0')),
      MALFORMED,
    ],
    ['answers within a message', send(SETTINGS, headers(), data(message(9).subarray(0, 8)), status('0')), MALFORMED],
  ];
  it.each(cases)('%s', async (_, answer, ending, call = 'infer') => {
    await using server = await startTcp((socket) => {
      let received = 0;
      const onData = (bytes: Buffer) => {
        received += bytes.length;
        // The preface, the settings, and something of the call.
        if (received < 100) return;
        socket.off('data', onData);
        socket.resume();
        answer(socket);
      };
      socket.on('data', onData);
    });
    expect(textOf(await failureOf(`grpc://${server.authority}`, call, ending))).toMatch(textFor(ending));
  });
});
