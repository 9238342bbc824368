// The rules of RFC 9113 about connections, as a server and as a client of ours keep them.
import { describe, expect, it } from 'vitest';
import { HeaderTemplate } from './outgoing-headers.js';
import { FLAG, FRAME, PREFACE, setting, uint32, type RawFrame } from '../../test/support/raw-http2.js';
import { frames, TestedHttp2 } from '../../test/support/tested-http2.js';

const HEAD = new HeaderTemplate([':status', '200']);
const TRAILERS = new HeaderTemplate(['grpc-status', '0']);
const POST = new HeaderTemplate([':method', 'POST', ':scheme', 'http', ':path', '/p']);

const DEFAULT_SETTINGS = '1=4096 3=1000 4=16777216 5=1048576 6=65536';
const CLIENT_SETTINGS = '1=4096 2=0 4=16777216 5=1048576 6=65536';

function lastFrame(server: TestedHttp2): string | undefined {
  return server.sent().at(-1);
}

describe('the beginning of a connection', () => {
  it('has a server answer the preface with its settings and its window', () => {
    const server = new TestedHttp2('server');
    for (const byte of PREFACE.subarray(0, -1)) server.receive(Buffer.of(byte));
    expect(server.sent()).toEqual([]);
    server.receive(PREFACE.subarray(-1));
    expect(server.sent()).toEqual([`SETTINGS ${DEFAULT_SETTINGS}`, `WINDOW_UPDATE 0 ${(64 << 20) - 65_535}`]);
    server.send(frames.settings());
    expect(server.sent()).toEqual(['SETTINGS ACK']);
    expect(server.told()).toEqual(['ready']);
  });

  it('has a client begin, and open streams before the server has said anything', () => {
    const client = new TestedHttp2('client', { options: { connectionWindow: 65_535 } });
    client.connection.openStream(POST, client.listenerOf({ id: 1 }), true);
    expect(client.sent()).toEqual([
      `SETTINGS ${CLIENT_SETTINGS}`,
      'HEADERS 1 END_STREAM :method=POST :scheme=http :path=/p',
    ]);
  });

  it.each([
    ['HTTP/1.1', 'GET / HTTP/1.1\r\nHost: h\r\n\r\n'],
    ['a wrong end of the preface', 'PRI * HTTP/2.0\r\n\r\nNO\r\n\r\n'],
    ['a single wrong byte', 'X'],
  ])('ends with %s', (_, text) => {
    const server = new TestedHttp2('server');
    server.receive(Buffer.from(text));
    expect(server.sent().map((frame) => frame.split(' ')[0])).toEqual(['SETTINGS', 'WINDOW_UPDATE', 'GOAWAY']);
    expect(server.told()).toEqual(['closed PROTOCOL_ERROR']);
    expect(server.connection.isFinished).toBe(true);
  });

  it.each<[string, RawFrame]>([
    ['PING', frames.ping()],
    ['HEADERS', frames.request(1)],
    ['an acknowledgement', { type: FRAME.SETTINGS, flags: FLAG.ACK }],
    ['an unknown frame', { type: 99 }],
  ])('ends when the first frame is %s', (_, frame) => {
    for (const role of ['server', 'client'] as const) {
      const tested = new TestedHttp2(role);
      if (role === 'server') tested.receive(PREFACE);
      tested.send(frame);
      expect(lastFrame(tested)).toBe('GOAWAY 0 PROTOCOL_ERROR');
    }
  });
});

describe('a frame that breaks the rules of the connection', () => {
  const openStream = frames.request(1);
  const closedStream = [frames.request(1, true), frames.reset(1, 8)];
  it.each<[string, readonly RawFrame[], string]>([
    ['DATA on stream 0', [frames.data(0, 'x')], 'PROTOCOL_ERROR'],
    ['DATA on an idle stream', [frames.data(1, 'xxxxx')], 'PROTOCOL_ERROR'],
    [
      'DATA with too much padding',
      [openStream, { type: 0, flags: FLAG.PADDED, stream: 1, payload: Buffer.of(2, 0) }],
      'PROTOCOL_ERROR',
    ],
    ['padded DATA without padding', [openStream, { type: 0, flags: FLAG.PADDED, stream: 1 }], 'FRAME_SIZE_ERROR'],
    ['HEADERS on stream 0', [frames.request(0)], 'PROTOCOL_ERROR'],
    ['HEADERS on an even stream', [frames.request(2)], 'PROTOCOL_ERROR'],
    ['HEADERS on a stream that was left out', [frames.request(5), frames.request(3)], 'PROTOCOL_ERROR'],
    ['HEADERS on a closed stream', [...closedStream, frames.request(1)], 'STREAM_CLOSED'],
    [
      'HEADERS with too much padding',
      [{ type: 1, flags: FLAG.PADDED | 4, stream: 1, payload: Buffer.of(1) }],
      'PROTOCOL_ERROR',
    ],
    ['padded HEADERS without padding', [{ type: 1, flags: FLAG.PADDED | 4, stream: 1 }], 'PROTOCOL_ERROR'],
    [
      'HEADERS too short for a priority',
      [{ type: 1, flags: FLAG.PRIORITY | 4, stream: 1, payload: Buffer.alloc(4) }],
      'PROTOCOL_ERROR',
    ],
    [
      'HEADERS that cannot be decoded',
      [{ type: 1, flags: 4, stream: 1, payload: Buffer.of(0x80) }],
      'COMPRESSION_ERROR',
    ],
    ['PRIORITY on stream 0', [{ type: 2, payload: Buffer.alloc(5) }], 'PROTOCOL_ERROR'],
    ['PRIORITY of four bytes', [{ type: 2, stream: 1, payload: Buffer.alloc(4) }], 'FRAME_SIZE_ERROR'],
    ['RST_STREAM on stream 0', [frames.reset(0, 8)], 'PROTOCOL_ERROR'],
    ['RST_STREAM on an idle stream', [frames.reset(1, 8)], 'PROTOCOL_ERROR'],
    ['RST_STREAM of three bytes', [openStream, { type: 3, stream: 1, payload: Buffer.alloc(3) }], 'FRAME_SIZE_ERROR'],
    ['SETTINGS on a stream', [{ type: 4, stream: 1 }], 'PROTOCOL_ERROR'],
    ['SETTINGS of five bytes', [{ type: 4, payload: Buffer.alloc(5) }], 'FRAME_SIZE_ERROR'],
    ['an acknowledgement with a payload', [{ type: 4, flags: FLAG.ACK, payload: Buffer.alloc(6) }], 'FRAME_SIZE_ERROR'],
    ['a window setting that is too large', [frames.settings(setting(4, 0x80000000))], 'FLOW_CONTROL_ERROR'],
    [
      'a setting that makes a window too large',
      [openStream, frames.windowUpdate(1, 1), frames.settings(setting(4, 0x7fffffff))],
      'FLOW_CONTROL_ERROR',
    ],
    ['a frame size setting that is too small', [frames.settings(setting(5, 1))], 'PROTOCOL_ERROR'],
    ['PUSH_PROMISE', [{ type: 5, stream: 1, flags: 4, payload: uint32(2) }], 'PROTOCOL_ERROR'],
    ['PING on a stream', [{ ...frames.ping(), stream: 1 }], 'PROTOCOL_ERROR'],
    ['PING of seven bytes', [{ type: 6, payload: Buffer.alloc(7) }], 'FRAME_SIZE_ERROR'],
    ['GOAWAY on a stream', [{ ...frames.goaway(0, 0), stream: 1 }], 'PROTOCOL_ERROR'],
    ['GOAWAY of seven bytes', [{ type: 7, payload: Buffer.alloc(7) }], 'FRAME_SIZE_ERROR'],
    ['WINDOW_UPDATE by 0', [frames.windowUpdate(0, 0)], 'PROTOCOL_ERROR'],
    ['WINDOW_UPDATE of three bytes', [{ type: 8, payload: Buffer.alloc(3) }], 'FRAME_SIZE_ERROR'],
    ['WINDOW_UPDATE that makes the window too large', [frames.windowUpdate(0, 0x7fffffff)], 'FLOW_CONTROL_ERROR'],
    ['WINDOW_UPDATE on an idle stream', [frames.windowUpdate(1, 1)], 'PROTOCOL_ERROR'],
    ['CONTINUATION without HEADERS', [{ type: 9, flags: 4, stream: 1 }], 'PROTOCOL_ERROR'],
    ['CONTINUATION after a complete block', [openStream, { type: 9, flags: 4, stream: 1 }], 'PROTOCOL_ERROR'],
    [
      'CONTINUATION of another stream',
      [
        { ...openStream, flags: 0 },
        { type: 9, flags: 4, stream: 3 },
      ],
      'PROTOCOL_ERROR',
    ],
    ['another frame inside a header block', [{ ...openStream, flags: 0 }, frames.ping()], 'PROTOCOL_ERROR'],
    ['an unknown frame inside a header block', [{ ...openStream, flags: 0 }, { type: 99 }], 'PROTOCOL_ERROR'],
    ['a frame that is too large', [{ type: 99, length: (1 << 20) + 1 }], 'FRAME_SIZE_ERROR'],
    ['SETTINGS of many kilobytes', [{ type: 4, length: 16_386 }], 'ENHANCE_YOUR_CALM'],
  ])('ends it: %s', (_, sent, code) => {
    const server = TestedHttp2.open('server', { options: { connectionWindow: 65_535 } });
    server.send(...sent);
    expect(lastFrame(server)).toMatch(new RegExp(`^GOAWAY \\d ${code}$`));
    expect(server.told().at(-1)).toBe(`closed ${code}`);
    expect(server.connection.isFinished).toBe(true);
    server.send(frames.request(101, true), frames.ping());
    expect([...server.told(), ...server.sent()]).toEqual([]);
  });

  it.each<[string, readonly RawFrame[], string]>([
    ['a stream that the server opens', [frames.headers(2, [[':status', '200']])], 'PROTOCOL_ERROR'],
    ['an answer to nothing', [frames.headers(3, [[':status', '200']])], 'PROTOCOL_ERROR'],
    ['PUSH_PROMISE', [{ type: 5, stream: 1, flags: 4, payload: uint32(2) }], 'PROTOCOL_ERROR'],
  ])('ends it at a client: %s', (_, sent, code) => {
    const client = TestedHttp2.open('client');
    client.connection.openStream(POST, client.listenerOf({ id: 1 }), true);
    client.sent();
    client.send(...sent);
    expect(lastFrame(client)).toBe(`GOAWAY 0 ${code}`);
  });

  it('tells every open stream', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1), frames.request(3), frames.data(0, 'x'));
    expect(server.told().slice(2)).toEqual([
      'close 1 PROTOCOL_ERROR',
      'close 3 PROTOCOL_ERROR',
      'closed PROTOCOL_ERROR',
    ]);
    expect(server.sent()).toEqual(['GOAWAY 3 PROTOCOL_ERROR']);
  });
});

describe('a listener of the connection that throws', () => {
  it('ends the connection, and nothing else', () => {
    const server = TestedHttp2.open('server', {
      listener: {
        onPing: () => {
          throw new Error('not this');
        },
      },
    });
    server.send(frames.request(1), frames.ping(), frames.request(3));
    expect(server.told()).toEqual([
      'stream 1 /p',
      'thrown 0 not this',
      'close 1 INTERNAL_ERROR',
      'closed INTERNAL_ERROR',
    ]);
    expect(server.sent().at(-1)).toBe('GOAWAY 1 INTERNAL_ERROR');
  });
});

describe('settings of the peer', () => {
  it('are acknowledged each time', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.settings(setting(99, 1)), frames.settings());
    expect(server.sent()).toEqual(['SETTINGS ACK', 'SETTINGS ACK']);
  });

  it('limit the frames that are sent', () => {
    const server = TestedHttp2.open('server', {}, [setting(4, 1 << 20), setting(5, 20_000)]);
    server.send(frames.windowUpdate(0, 1 << 20), frames.request(1, true));
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.alloc(50_000)], TRAILERS);
    expect(server.sent().slice(1, -1)).toEqual(['DATA 1 20000', 'DATA 1 20000', 'DATA 1 10000']);
  });

  it('limit the table of compressed headers', () => {
    const server = TestedHttp2.open('server', {}, [setting(1, 0)]);
    for (const id of [1, 3]) {
      server.send(frames.request(id, true));
      server.streams.get(id)!.sendHeaders(TRAILERS, true);
    }
    const bytes = server.sentBytes();
    const length = bytes.readUIntBE(0, 3);
    const first = bytes.subarray(9, 9 + length);
    const second = bytes.subarray(9 + length + 9);
    // A change of the table's size, then the same literals both times.
    expect(first.toString('latin1')).toBe(` ${second.toString('latin1')}`);
    expect(second[0]).toBe(0);
  });
});

describe('table sizes that shrink and grow in one frame', () => {
  it('are told to the decoder, which has emptied its table in between', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1, true), frames.request(3, true));
    server.streams.get(1)!.sendHeaders(TRAILERS, true);
    server.sentBytes();
    server.send(frames.settings(setting(1, 0), setting(1, 4096)));
    server.sentBytes();
    server.streams.get(3)!.sendHeaders(TRAILERS, true);
    expect(server.sentBytes().subarray(9, 13).toString('hex')).toBe('203fe11f');
  });
});

describe('pings', () => {
  it('are answered and told', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.ping('12345678'), frames.ping());
    expect(server.sent()).toEqual(['PING ACK 3132333435363738', 'PING ACK 70696e67706f6e67']);
    expect(server.told()).toEqual(['ping', 'ping']);
  });

  it('are no frames of messages, which are counted both ways', () => {
    const server = TestedHttp2.open('server');
    const { connection } = server;
    const counts = () => [connection.receivedMessageFrames, connection.sentMessageFrames];
    server.send(frames.ping(), frames.settings(), frames.windowUpdate(0, 1));
    expect(counts()).toEqual([0, 0]);
    server.send(frames.request(1), frames.data(1, 'x'), frames.data(1, 'y', true));
    expect(counts()).toEqual([3, 0]);
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.from('z')], TRAILERS);
    expect(counts()).toEqual([3, 3]);
  });

  it('are received bytes like any others', () => {
    const server = TestedHttp2.open('server');
    const before = server.connection.receivedBytes;
    server.send(frames.ping());
    expect(server.connection.receivedBytes - before).toBe(17);
  });

  it('of ours come behind our settings, also before the client has said anything', () => {
    const server = new TestedHttp2('server');
    server.connection.ping(() => undefined);
    const kinds = () => server.sent().map((frame) => frame.split(' ')[0]);
    expect(kinds()).toEqual(['SETTINGS', 'WINDOW_UPDATE', 'PING']);
    server.receive(PREFACE);
    server.send(frames.settings());
    expect(kinds()).toEqual(['SETTINGS']);
  });

  it('of ours are told when they are answered, each once', () => {
    const server = TestedHttp2.open('server');
    const answered: string[] = [];
    server.connection.ping(() => answered.push('first'));
    server.connection.ping(() => answered.push('second'));
    const [first, second] = server.sent().map((frame) => Buffer.from(frame.split(' ')[1]!, 'hex').toString('latin1'));
    const answer = (payload: string): RawFrame => ({
      type: FRAME.PING,
      flags: FLAG.ACK,
      payload: Buffer.from(payload, 'latin1'),
    });
    server.send(answer(second!), answer(second!), answer('whatever'), answer(first!));
    expect(answered).toEqual(['second', 'first']);
    expect(server.sent()).toEqual([]);
  });
});
