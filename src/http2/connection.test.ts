// The rules of RFC 9113 about frames, streams and connections, as a server and as a client of ours keep them.
import { describe, expect, it } from 'vitest';
import { HeaderTemplate } from './outgoing-headers.js';
import { encodeHeaders, FLAG, FRAME, PREFACE, setting, uint32, type RawFrame } from '../../test/support/raw-http2.js';
import { frames, REQUEST, TestedHttp2 } from '../../test/support/tested-http2.js';

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

describe('a request and its answer', () => {
  it('go through a server', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1), frames.data(1, 'abc'), frames.data(1, 'def', true));
    expect(server.told()).toEqual(['stream 1 /p', 'data 1 abc', 'data 1 def', 'end 1']);
    expect(server.headers.get(1)?.fields).toEqual(REQUEST.flat());
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.from('gh'), Buffer.from('i')], TRAILERS);
    expect(server.sent()).toEqual(['HEADERS 1 :status=200', 'DATA 1 ghi', 'HEADERS 1 END_STREAM grpc-status=0']);
    expect(server.told()).toEqual(['close 1 in order']);
    expect(server.connection.streams.size).toBe(0);
  });

  it('go through a client', () => {
    const client = TestedHttp2.open('client');
    const stream = client.connection.openStream(POST, client.listenerOf({ id: 1 }));
    stream.sendData(Buffer.from('abc'));
    stream.sendData(Buffer.alloc(0), true);
    expect(client.sent()).toEqual(['HEADERS 1 :method=POST :scheme=http :path=/p', 'DATA 1 abc END_STREAM']);
    client.send(
      frames.headers(1, [[':status', '103']]),
      frames.headers(1, [[':status', '200']]),
      frames.data(1, 'def'),
      frames.headers(1, [['grpc-status', '0']], true),
    );
    expect(client.told()).toEqual([
      'headers 1 :status=103',
      'headers 1 :status=200',
      'data 1 def',
      'headers 1 grpc-status=0',
      'end 1',
      'close 1 in order',
    ]);
    expect(stream.isClosed).toBe(true);
  });

  it('may be headers alone', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1, true));
    expect(server.told()).toEqual(['stream 1 /p END_STREAM', 'end 1']);
    server.streams.get(1)!.sendHeaders(HEAD, true);
    expect(server.sent()).toEqual(['HEADERS 1 END_STREAM :status=200']);
  });

  it('may have trailers', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1), frames.data(1, 'abc'), frames.headers(1, [['x', 'y']], true));
    expect(server.told().slice(2)).toEqual(['headers 1 x=y', 'end 1']);
  });

  it('are told from data however frames are padded and prioritized', () => {
    const server = TestedHttp2.open('server');
    const block = encodeHeaders(REQUEST);
    const padded = Buffer.concat([Buffer.of(3), uint32(0x80000000), Buffer.of(16), block, Buffer.alloc(3)]);
    const flags = FLAG.END_HEADERS | FLAG.PADDED | FLAG.PRIORITY;
    server.send(
      { type: FRAME.HEADERS, flags, stream: 1, payload: padded },
      { type: FRAME.DATA, flags: FLAG.PADDED, stream: 1, payload: Buffer.from('\x02abc\0\0') },
      { type: FRAME.DATA, flags: FLAG.PADDED | FLAG.END_STREAM, stream: 1, payload: Buffer.from('\x02\0\0') },
    );
    expect(server.told()).toEqual(['stream 1 /p', 'data 1 abc', 'end 1']);
  });

  it('may come in any pieces', () => {
    const server = TestedHttp2.open('server');
    const bytes: Buffer[] = [];
    const collector = new TestedHttp2('client', {});
    const stream = collector.connection.openStream(POST, collector.listenerOf({ id: 1 }));
    stream.sendData(Buffer.from('0123456789'), true);
    bytes.push(collector.sentBytes().subarray(PREFACE.length));
    for (const byte of Buffer.concat(bytes)) server.receive(Buffer.of(byte));
    expect(server.told().join()).toBe(
      `stream 1 /p,${Array.from('0123456789', (digit) => `data 1 ${digit}`).join()},end 1`,
    );
  });

  it('may have headers in many frames', () => {
    const server = TestedHttp2.open('server');
    const block = encodeHeaders([...REQUEST, ['x-long', 'v'.repeat(100)]]);
    server.send(
      { type: FRAME.HEADERS, stream: 1, flags: FLAG.END_STREAM, payload: block.subarray(0, 10) },
      { type: FRAME.CONTINUATION, stream: 1, payload: block.subarray(10, 50) },
      { type: FRAME.CONTINUATION, stream: 1, flags: FLAG.END_HEADERS, payload: block.subarray(50) },
    );
    expect(server.told()).toEqual(['stream 1 /p END_STREAM', 'end 1']);
    expect(server.headers.get(1)?.get('x-long')).toBe('v'.repeat(100));

    server.streams.get(1)!.sendHeaders(HEAD.with(['x-long', 'w'.repeat(40_000)]), true);
    const sent = server.sent();
    expect(sent.slice(0, 2)).toEqual(['HEADERS 1 END_STREAM ...', 'CONTINUATION 1 ...']);
    expect(sent[2]).toBe(`CONTINUATION 1 :status=200 x-long=${'w'.repeat(40_000)}`);
  });

  it('end early when the server does not need the rest, which is no error of the client', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1), frames.data(1, 'abc'));
    server.streams.get(1)!.sendHeaders(HEAD, true);
    expect(server.sent()).toEqual(['HEADERS 1 END_STREAM :status=200', 'RST_STREAM 1 NO_ERROR']);
    server.told();
    server.send(frames.data(1, 'def'), frames.headers(1, [['x', 'y']], true), frames.windowUpdate(1, 5));
    expect(server.sent()).toEqual([]);
    expect(server.told()).toEqual([]);

    const client = TestedHttp2.open('client');
    const stream = client.connection.openStream(POST, client.listenerOf({ id: 1 }));
    client.send(frames.headers(1, [[':status', '200']], true), frames.reset(1, 0));
    expect(client.told()).toEqual(['headers 1 :status=200', 'end 1', 'close 1 in order']);
    expect(stream.isClosed).toBe(true);
  });

  it('are known from before by their bytes', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1, true), frames.request(3, true));
    expect(server.headers.get(3)).toBe(server.headers.get(1));
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
    [
      'an answer after the answer',
      [frames.headers(1, [[':status', '200']], true), frames.headers(1, [['a', 'b']], true)],
      'STREAM_CLOSED',
    ],
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

describe('a frame that breaks the rules of a stream', () => {
  it.each<[string, readonly RawFrame[], string]>([
    ['DATA after the end', [frames.request(1, true), frames.data(1, 'xxxxx')], 'STREAM_CLOSED'],
    ['HEADERS after the end', [frames.request(1, true), frames.headers(1, [['a', 'b']], true)], 'STREAM_CLOSED'],
    ['trailers that do not end', [frames.request(1), frames.headers(1, [['a', 'b']])], 'PROTOCOL_ERROR'],
    ['trailers with a path', [frames.request(1), frames.headers(1, [[':path', '/']], true)], 'PROTOCOL_ERROR'],
    ['a malformed request', [frames.headers(1, [[':method', 'GET']], true)], 'PROTOCOL_ERROR'],
    ['a request in capitals', [frames.headers(1, [...REQUEST, ['A', 'b']], true)], 'PROTOCOL_ERROR'],
    ['WINDOW_UPDATE by 0', [frames.request(1), frames.windowUpdate(1, 0)], 'PROTOCOL_ERROR'],
    ['a window that is too large', [frames.request(1), frames.windowUpdate(1, 0x7fffffff)], 'FLOW_CONTROL_ERROR'],
    [
      'less data than content-length',
      [frames.request(1, false, [...REQUEST, ['content-length', '3']]), frames.data(1, 'ab', true)],
      'PROTOCOL_ERROR',
    ],
    [
      'more data than content-length',
      [frames.request(1, false, [...REQUEST, ['content-length', '1']]), frames.data(1, 'ab')],
      'PROTOCOL_ERROR',
    ],
    ['no data for content-length', [frames.request(1, true, [...REQUEST, ['content-length', '1']])], 'PROTOCOL_ERROR'],
    [
      'trailers before content-length is there',
      [frames.request(1, false, [...REQUEST, ['content-length', '1']]), frames.headers(1, [['a', 'b']], true)],
      'PROTOCOL_ERROR',
    ],
    [
      'PRIORITY that makes it depend on itself',
      [frames.request(1), { type: 2, stream: 1, payload: Buffer.from('0000000110', 'hex') }],
      'PROTOCOL_ERROR',
    ],
    [
      'HEADERS that make it depend on itself',
      [
        {
          type: 1,
          flags: 0x25,
          stream: 1,
          payload: Buffer.concat([Buffer.from('0000000110', 'hex'), encodeHeaders(REQUEST)]),
        },
      ],
      'PROTOCOL_ERROR',
    ],
  ])('resets the stream and nothing else: %s', (_, sent, code) => {
    const server = TestedHttp2.open('server');
    server.send(...sent, frames.request(3, true));
    expect(server.sent()).toEqual([`RST_STREAM 1 ${code}`]);
    const told = server.told();
    expect(told.includes('stream 1 /p') || told.includes('stream 1 /p END_STREAM')).toBe(
      told.includes(`close 1 ${code}`),
    );
    expect(told.slice(-2)).toEqual(['stream 3 /p END_STREAM', 'end 3']);
    expect(server.connection.streams.size).toBe(1);
    // What was on its way is no error.
    server.send(frames.data(1, 'xxxxx'), frames.reset(1, 8), frames.headers(1, [['a', 'b']], true));
    expect(server.sent()).toEqual([]);
  });

  it.each<[string, readonly RawFrame[]]>([
    ['data before headers', [frames.data(1, 'xxxxx')]],
    ['no status', [frames.headers(1, [['a', 'b']])]],
    ['an end without an answer', [frames.headers(1, [[':status', '100']], true)]],
    ['trailers that do not end', [frames.headers(1, [[':status', '200']]), frames.headers(1, [['a', 'b']])]],
  ])('resets the stream at a client: %s', (_, sent) => {
    const client = TestedHttp2.open('client');
    client.connection.openStream(POST, client.listenerOf({ id: 1 }), true);
    client.sent();
    client.send(...sent);
    expect(client.sent()).toEqual(['RST_STREAM 1 PROTOCOL_ERROR']);
    expect(client.told().at(-1)).toBe('close 1 PROTOCOL_ERROR');
  });

  it('takes the length of an answer without a body for what it is', () => {
    const client = TestedHttp2.open('client');
    client.connection.openStream(POST, client.listenerOf({ id: 1 }), true);
    client.send(
      frames.headers(
        1,
        [
          [':status', '304'],
          ['content-length', '5'],
        ],
        true,
      ),
    );
    expect(client.told().at(-1)).toBe('close 1 in order');
  });

  it('answers data on a stream that has ended', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1), frames.reset(1, 8), frames.data(1, 'xxxxx'));
    expect(server.sent()).toEqual(['RST_STREAM 1 STREAM_CLOSED']);
    server.send(frames.reset(1, 8), frames.windowUpdate(1, 1));
    expect(server.sent()).toEqual([]);
  });
});

describe('a reset', () => {
  it('by the peer is told with its code', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1), frames.reset(1, 8), frames.request(3, true), frames.reset(3, 999));
    expect(server.told()).toEqual([
      'stream 1 /p',
      'close 1 CANCEL',
      'stream 3 /p END_STREAM',
      'end 3',
      'close 3 INTERNAL_ERROR',
    ]);
    server.streams.get(1)!.sendMessage(HEAD, [], TRAILERS);
    expect(server.sent()).toEqual([]);
  });

  it('by the user drops what waits, and its listener hears no more', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1));
    const stream = server.streams.get(1)!;
    stream.sendHeaders(HEAD);
    stream.sendData(Buffer.alloc(100_000));
    server.sent();
    expect(stream.queuedBytes).toBe(100_000 - 65_535);
    stream.reset('CANCEL');
    expect(server.connection.queuedBytes).toBe(0);
    server.send(frames.windowUpdate(0, 1000), frames.windowUpdate(1, 1000), frames.data(1, 'abcde'));
    expect(server.sent()).toEqual(['RST_STREAM 1 CANCEL']);
    expect(server.told()).toEqual(['stream 1 /p']);
    stream.reset('CANCEL');
    expect(server.sent()).toEqual([]);
  });

  it('of a request that was never sent is not sent either', () => {
    const client = TestedHttp2.open('client');
    client.connection.sender.isCongested = true;
    const first = client.connection.openStream(POST, client.listenerOf({ id: 1 }), true);
    client.connection.openStream(POST, client.listenerOf({ id: 3 }), true);
    first.reset('CANCEL');
    client.connection.sender.isCongested = false;
    expect(client.sent()).toEqual(['HEADERS 3 END_STREAM :method=POST :scheme=http :path=/p']);
  });
});

describe('a listener that throws', () => {
  it.each(['onData', 'onEnd', 'onHeaders'] as const)('in %s ends its stream alone', (method) => {
    const server = TestedHttp2.open('server', {
      streamListener: ({ id }) => ({
        [method]: () => {
          if (id === 1) throw new Error('not mine');
        },
      }),
    });
    const trailers = frames.headers(1, [['a', 'b']], true);
    server.send(frames.request(1), frames.data(1, 'abcde'), trailers, frames.request(3), frames.data(3, 'abc', true));
    expect(server.told()).toContain('thrown 1 not mine');
    expect(server.sent()).toEqual(['RST_STREAM 1 INTERNAL_ERROR']);
    expect(server.connection.streams.size).toBe(1);
  });

  it('when a stream begins ends that stream alone', () => {
    const server = TestedHttp2.open('server', {
      listener: {
        onStream: () => {
          throw new Error('no');
        },
      },
    });
    server.send(frames.request(1, true));
    expect(server.told()).toEqual(['thrown 1 no']);
    expect(server.sent()).toEqual(['RST_STREAM 1 INTERNAL_ERROR']);
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

describe('streams that may be open at once', () => {
  it('are limited by a server, which refuses more', () => {
    const server = TestedHttp2.open('server', { options: { maxConcurrentStreams: 2 } });
    server.send(frames.request(1), frames.request(3, true), frames.request(5, true));
    expect(server.sent()).toEqual(['RST_STREAM 5 REFUSED_STREAM']);
    server.streams.get(3)!.sendHeaders(HEAD, true);
    server.send(frames.request(7, true), frames.data(5, 'xxxxx'));
    expect(server.sent()).toEqual(['HEADERS 3 END_STREAM :status=200']);
    expect([...server.streams.keys()]).toEqual([1, 3, 7]);
  });

  it('are limited for a client, which is told when there is room', () => {
    const client = TestedHttp2.open('client', {}, [setting(3, 1)]);
    client.connection.openStream(POST, client.listenerOf({ id: 1 }), true);
    expect(client.connection.canOpenStream).toBe(false);
    expect(() => client.connection.openStream(POST, client.listenerOf({ id: 3 }))).toThrow(
      expect.objectContaining({ code: 'REFUSED_STREAM' }),
    );
    client.send(frames.headers(1, [[':status', '200']], true));
    expect(client.told().at(-1)).toBe('available');
    client.connection.openStream(POST, client.listenerOf({ id: 3 }), true);
    client.send(frames.settings(setting(3, 2)));
    expect(client.told()).toEqual(['available']);
    client.send(frames.settings(setting(3, 0)));
    expect(client.connection.canOpenStream).toBe(false);
    expect(client.connection.takesStreams).toBe(true);
  });

  it('are no more than a hundred before a client knows better', () => {
    const client = new TestedHttp2('client');
    for (let i = 0; i < 100; i++) client.connection.openStream(POST, client.listenerOf({ id: 2 * i + 1 }), true);
    expect(client.connection.canOpenStream).toBe(false);
    client.send(frames.settings());
    expect(client.told()).toEqual(['ready', 'available']);
  });

  it('end with the last id', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(0x7fffffff, true));
    expect(server.told()).toEqual(['stream 2147483647 /p END_STREAM', 'end 2147483647']);
    server.send(frames.request(1, true));
    expect(lastFrame(server)).toBe('GOAWAY 2147483647 PROTOCOL_ERROR');
  });
});

describe('fields that are too many', () => {
  it('are answered with 431, and the connection goes on', () => {
    const server = TestedHttp2.open('server', { options: { maxHeaderListSize: 300 } });
    server.send(frames.request(1, false, [...REQUEST, ['x', 'v'.repeat(300)]]), frames.request(3, true));
    expect(server.sent()).toEqual(['HEADERS 1 END_STREAM :status=431', 'RST_STREAM 1 NO_ERROR']);
    expect(server.told()).toEqual(['stream 3 /p END_STREAM', 'end 3']);
  });

  it('end the connection when they are far too many', () => {
    const server = TestedHttp2.open('server', { options: { maxHeaderListSize: 300 } });
    server.send(frames.request(1, true, [...REQUEST, ['x', 'v'.repeat(2000)]]));
    expect(server.sent()).toEqual(['GOAWAY 0 ENHANCE_YOUR_CALM']);
    const other = TestedHttp2.open('server', { options: { maxHeaderListSize: 300 } });
    other.send({ ...frames.request(1, true), flags: 0 });
    for (let i = 0; i < 5; i++) other.send({ type: FRAME.CONTINUATION, stream: 1, payload: Buffer.alloc(250) });
    expect(other.sent()).toEqual(['GOAWAY 0 ENHANCE_YOUR_CALM']);
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
  it('are answered, and counted as long as nothing else is sent', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.ping('12345678'), frames.ping());
    expect(server.sent()).toEqual(['PING ACK 3132333435363738', 'PING ACK 70696e67706f6e67']);
    server.send(frames.request(1, true), frames.ping());
    server.streams.get(1)!.sendHeaders(HEAD, true);
    server.send(frames.ping());
    expect(server.told().filter((event) => event.startsWith('ping'))).toEqual(['ping 1', 'ping 2', 'ping 3', 'ping 1']);
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
