// Messages on streams, and the rules of RFC 9113 about them, as a server and as a client of ours keep them.
import { describe, expect, it } from 'vitest';
import { HeaderTemplate } from './outgoing-headers.js';
import { encodeHeaders, FLAG, FRAME, PREFACE, setting, uint32, type RawFrame } from '../../test/support/raw-http2.js';
import { frames, REQUEST, TestedHttp2 } from '../../test/support/tested-http2.js';

const HEAD = new HeaderTemplate([':status', '200']);
const TRAILERS = new HeaderTemplate(['grpc-status', '0']);
const POST = new HeaderTemplate([':method', 'POST', ':scheme', 'http', ':path', '/p']);

function lastFrame(server: TestedHttp2): string | undefined {
  return server.sent().at(-1);
}

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
    stream.sendData(Buffer.alloc(100_000));
    client.sent();
    expect(client.connection.queuedBytes).toBeGreaterThan(30_000);
    client.send(frames.headers(1, [[':status', '200']], true), frames.reset(1, 0));
    expect(client.told()).toEqual(['headers 1 :status=200', 'end 1', 'close 1 in order']);
    expect([stream.isClosed, client.connection.queuedBytes]).toEqual([true, 0]);
    // Not every server asks for it.
    expect(client.sent()).toEqual(['RST_STREAM 1 CANCEL']);
  });

  it('are known from before by their bytes', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1, true), frames.request(3, true));
    expect(server.headers.get(3)).toBe(server.headers.get(1));
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

describe('an end that the server tells again', () => {
  const end = (id: number) => frames.headers(id, [[':status', '200'], ['grpc-status', '4']], true); // prettier-ignore

  // tritonserver 2.51 does so when a deadline passes: HEADERS and RST_STREAM, four times.
  it('is ignored by a client, whose other calls go on', () => {
    const client = TestedHttp2.open('client');
    for (const id of [1, 3, 5]) client.connection.openStream(POST, client.listenerOf({ id }), id < 5);
    client.sent();
    for (let i = 0; i < 4; i++) client.send(end(1), frames.reset(1, 0));
    client.send(frames.reset(3, 8), end(3));
    expect(client.told()).toEqual([
      'headers 1 :status=200 grpc-status=4',
      'end 1',
      'close 1 in order',
      'close 3 CANCEL',
    ]);
    expect(client.sent()).toEqual([]);
    client.send(end(5));
    expect(client.told().slice(0, 2)).toEqual(['headers 5 :status=200 grpc-status=4', 'end 5']);
  });

  it('may be that of thousands of calls together', () => {
    const client = TestedHttp2.open('client', { options: { floodCreditPerSecond: 0 } });
    for (let id = 1; id < 10_000; id += 2) {
      client.connection.openStream(POST, client.listenerOf({ id }), true);
      client.sentBytes();
      client.send(end(id), end(id), end(id), end(id));
    }
    expect(client.connection.isFinished).toBe(false);
  });

  it('is a flood when it comes for ever', () => {
    const client = TestedHttp2.open('client', { options: { floodCredit: 10, floodCreditPerSecond: 0 } });
    client.connection.openStream(POST, client.listenerOf({ id: 1 }), true);
    for (let i = 0; i < 200; i++) client.send(end(1));
    expect(client.told().at(-1)).toBe('closed ENHANCE_YOUR_CALM');
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
