// Peers that make work for nothing, and peers that do not take what they asked for: each is told to calm down after a bounded
// number of frames, and what waits for it is bounded. The attacks are those of CVE-2019-9511 to 9518, CVE-2023-44487 (rapid
// reset) and CVE-2024-27316 (CONTINUATION).
import { describe, expect, it } from 'vitest';
import { HeaderTemplate } from './outgoing-headers.js';
import { FLAG, FRAME, setting, type RawFrame } from '../../test/support/raw-http2.js';
import { frames, REQUEST, TestedHttp2 } from '../../test/support/tested-http2.js';

const HEAD = new HeaderTemplate([':status', '200']);
const TRAILERS = new HeaderTemplate(['grpc-status', '0']);

const CREDIT = 2000;

describe('a flood of', () => {
  it.each<[string, (i: number) => readonly RawFrame[]]>([
    ['PING', () => [frames.ping()]],
    ['answers to no PING', () => [frames.ping('abcdefgh', FLAG.ACK)]],
    ['SETTINGS', () => [frames.settings()]],
    ['acknowledgements of SETTINGS', () => [{ type: FRAME.SETTINGS, flags: FLAG.ACK }]],
    ['PRIORITY', () => [{ type: FRAME.PRIORITY, stream: 1, payload: Buffer.alloc(5) }]],
    [
      'PRIORITY on streams that do not exist',
      (i) => [{ type: FRAME.PRIORITY, stream: 99 + i, payload: Buffer.alloc(5) }],
    ],
    ['streams that are reset at once', (i) => [frames.request(2 * i + 3), frames.reset(2 * i + 3, 8)]],
    ['resets of closed streams', (i) => [...(i === 0 ? [frames.request(3, true)] : []), frames.reset(3, 8)]],
    ['empty DATA', () => [frames.data(1, '')]],
    ['DATA of one byte', () => [frames.data(1, 'x')]],
    [
      'DATA on closed streams',
      (i) => [...(i === 0 ? [frames.request(3), frames.reset(3, 8)] : []), frames.data(3, 'xxxxx'), frames.reset(3, 8)],
    ],
    [
      'headers for a stream that was reset',
      (i) => [
        ...(i === 0 ? [frames.request(3), frames.data(3, 'x', true), frames.headers(3, [['a', 'b']])] : []),
        frames.headers(3, [['a', 'b']], true),
      ],
    ],
    ['WINDOW_UPDATE on the connection', () => [frames.windowUpdate(0, 1)]],
    ['WINDOW_UPDATE on a stream', () => [frames.windowUpdate(1, 1)]],
    [
      'WINDOW_UPDATE on a closed stream',
      (i) => [...(i === 0 ? [frames.request(3), frames.reset(3, 8)] : []), frames.windowUpdate(3, 1)],
    ],
    ['unknown frames', () => [{ type: 99 }]],
    ['GOAWAY', () => [frames.goaway(0, 0)]],
    ['changes of every window', (i) => [frames.settings(setting(4, i % 2))]],
  ])('%s ends the connection', (_, flood) => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1));
    let sent = 0;
    for (; !server.connection.isFinished && sent <= CREDIT; sent++) {
      server.send(...flood(sent));
      if (sent % 100 === 0) server.sentBytes();
    }
    expect(server.connection.isFinished).toBe(true);
    expect(sent).toBeGreaterThan(CREDIT / 3);
    expect(server.events.at(-1)).toBe('closed ENHANCE_YOUR_CALM');
    expect(server.connection.streams.size).toBe(0);
  });

  it('small DATA, on average, ends the connection, padded or not', () => {
    const padded = (data: number, padding: number): RawFrame => {
      const payload = Buffer.concat([Buffer.of(padding), Buffer.alloc(data + padding)]);
      return { type: FRAME.DATA, flags: FLAG.PADDED, stream: 1, payload };
    };
    const floods: [string, number, (i: number) => RawFrame][] = [
      ['eight bytes', 3 * 4096, () => frames.data(1, 'x'.repeat(8))],
      ['two and fifteen bytes', 3 * 4096, (i) => frames.data(1, 'x'.repeat(i % 2 === 0 ? 5 : 12))],
      ['one byte and padding', CREDIT + 1, () => padded(1, 200)],
    ];
    for (const [, most, flood] of floods) {
      const server = TestedHttp2.open('server');
      server.send(frames.request(1));
      let sent = 0;
      for (; !server.connection.isFinished && sent < most; sent++) server.send(flood(sent));
      expect(server.sent().filter((frame) => frame.startsWith('GOAWAY'))).toEqual(['GOAWAY 1 ENHANCE_YOUR_CALM']);
    }
  });

  it('none, when messages are as small as those that ask for something, with or without their prefixes in the same frames', () => {
    for (const sizes of [[25], [5, 20]]) {
      const server = TestedHttp2.open('server');
      server.send(frames.request(1));
      for (let i = 0; i < 50_000; i++) server.send(frames.data(1, 'x'.repeat(sizes[i % sizes.length]!)));
      expect(server.connection.isFinished).toBe(false);
    }
  });

  it('PING in one read is answered with one GOAWAY, and so is what comes after it', () => {
    const server = TestedHttp2.open('server');
    server.send(...Array.from({ length: 3 * CREDIT }, () => frames.ping()));
    server.send(frames.ping(), frames.ping());
    expect(server.sent().filter((frame) => frame.startsWith('GOAWAY'))).toEqual(['GOAWAY 0 ENHANCE_YOUR_CALM']);
  });

  it('none, when small messages are acknowledged one by one for long, and measured by pings', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1));
    const stream = server.streams.get(1)!;
    stream.sendHeaders(HEAD);
    for (let i = 0; i < 5 * CREDIT; i++) {
      // Some share a frame.
      stream.sendData(Buffer.alloc(100));
      if (i % 2 === 0) stream.sendData(Buffer.alloc(100));
      server.sentBytes();
      server.send(frames.data(1, 'request'), frames.ping());
      for (let update = 0; update < 2; update++) server.send(frames.windowUpdate(1, 50), frames.windowUpdate(0, 50));
      if (i % 2 === 0) server.send(frames.windowUpdate(1, 100), frames.windowUpdate(0, 100));
    }
    expect(server.connection.isFinished).toBe(false);
    expect(stream.queuedBytes).toBe(0);
  });

  it('CONTINUATION ends the connection, whether it has bytes or not', () => {
    for (const [bytes, most] of [
      [0, CREDIT],
      [1000, 300],
    ] as const) {
      const server = TestedHttp2.open('server');
      server.send({ ...frames.request(1), flags: 0 });
      let sent = 0;
      for (; !server.connection.isFinished && sent <= most; sent++) {
        server.send({ type: FRAME.CONTINUATION, stream: 1, payload: Buffer.alloc(bytes) });
      }
      expect(server.sent()).toEqual(['GOAWAY 0 ENHANCE_YOUR_CALM']);
    }
  });

  it('streams beyond the limit ends the connection', () => {
    const server = TestedHttp2.open('server', { options: { maxConcurrentStreams: 10, floodCredit: 100 } });
    for (let id = 1; id < 1000 && !server.connection.isFinished; id += 2) server.send(frames.request(id));
    const sent = server.sent();
    expect(sent.filter((frame) => frame.startsWith('RST_STREAM')).length).toBeLessThanOrEqual(100);
    expect(sent.at(-1)).toMatch(/^GOAWAY \d+ ENHANCE_YOUR_CALM$/);
  });

  it('fields that refer to a large one is no large list', () => {
    const server = TestedHttp2.open('server', { options: { maxHeaderListSize: 16_384 } });
    const large = Buffer.concat([
      Buffer.from('40016', 'hex').subarray(0, 1),
      Buffer.from('0161', 'hex'),
      Buffer.from('7fb11e', 'hex'),
      Buffer.alloc(4016, 'v'),
    ]);
    const references = Buffer.alloc(20_000, 0xbe);
    const block = Buffer.concat([Buffer.from('838684', 'hex'), large, references]);
    server.send({ type: FRAME.HEADERS, flags: FLAG.END_HEADERS | FLAG.END_STREAM, stream: 1, payload: block });
    expect(server.sent()).toEqual(['HEADERS 1 END_STREAM :status=431']);
    expect(server.headers.size).toBe(0);
  });
});

describe('a peer that takes an answer byte by byte', () => {
  it('is told to calm down', () => {
    const server = TestedHttp2.open('server', {}, [setting(4, 0)]);
    server.send(frames.request(1, true));
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.alloc(10_000)], TRAILERS);
    server.sent();
    let bytes = 0;
    while (!server.connection.isFinished && bytes < 10_000) {
      server.send(frames.windowUpdate(1, 1));
      bytes += server.sent().filter((frame) => frame.startsWith('DATA')).length;
    }
    expect(server.told().at(-1)).toBe('closed ENHANCE_YOUR_CALM');
    expect(bytes).toBeLessThan(CREDIT + 10);
  });
});

describe('a busy peer', () => {
  it('may reset as many streams as it lets finish, for ever', () => {
    const server = TestedHttp2.open('server', { options: { floodCredit: 10 } });
    for (let id = 1; id < 4000; id += 4) {
      server.send(frames.request(id, true), frames.request(id + 2, true), frames.reset(id + 2, 8));
      server.streams.get(id)!.sendMessage(HEAD, [Buffer.from('x')], TRAILERS);
      server.sentBytes();
    }
    expect(server.connection.isFinished).toBe(false);
  });

  it('may enlarge two windows for every frame that it gets, for ever', () => {
    const server = TestedHttp2.open('server', { options: { floodCredit: 10 } }, [setting(4, 1000)]);
    server.send(frames.request(1, true));
    const stream = server.streams.get(1)!;
    stream.sendHeaders(HEAD);
    for (let i = 0; i < 1000; i++) {
      stream.sendData(Buffer.alloc(1000));
      server.sentBytes();
      server.send(frames.windowUpdate(0, 1000), frames.windowUpdate(1, 1000));
    }
    expect(server.connection.isFinished).toBe(false);
  });

  it('may send small messages, for ever', () => {
    const server = TestedHttp2.open('server', { options: { floodCredit: 10 } });
    server.send(frames.request(1));
    for (let i = 0; i < 1000; i++) server.send(frames.data(1, '12345'));
    server.send(frames.data(1, '', true));
    expect(server.connection.isFinished).toBe(false);
  });

  it('gets credit back with time', () => {
    const server = TestedHttp2.open('server', { options: { floodCredit: 20, floodCreditPerSecond: 10 } });
    for (let second = 0; second < 10; second++) {
      server.connection.tick(second * 1000);
      for (let i = 0; i < 10; i++) server.send(frames.ping());
    }
    expect(server.connection.isFinished).toBe(false);
    for (let i = 0; i < 20; i++) server.send(frames.ping());
    expect(server.connection.isFinished).toBe(true);
  });
});

describe('a peer that does not read', () => {
  it.each<[string, RawFrame]>([
    ['answers to its pings', frames.ping()],
    ['acknowledgements of its settings', frames.settings()],
  ])('%s is cut off', (_, frame) => {
    const server = TestedHttp2.open('server', { options: { floodCredit: 1e6 } });
    server.connection.sender.isCongested = true;
    for (let i = 0; i < 10_000 && !server.connection.isFinished; i++) server.send(frame);
    expect(server.connection.isFinished).toBe(true);
    expect(server.connection.output.bytes).toBeLessThan(70_000);
  });

  it('its answers keeps its streams, so that it cannot open more than it may', () => {
    const server = TestedHttp2.open('server', { options: { maxConcurrentStreams: 10, floodCredit: 100 } });
    server.connection.sender.isCongested = true;
    for (let id = 1; id < 1000 && !server.connection.isFinished; id += 2) {
      server.send(frames.request(id, true));
      server.streams.get(id)?.sendMessage(HEAD, [Buffer.alloc(1000)], TRAILERS);
      expect(server.connection.streams.size).toBeLessThanOrEqual(10);
    }
    expect(server.connection.isFinished).toBe(true);
    expect(server.streams.size).toBe(10);
  });

  it('and resets what it opened leaves nothing behind', () => {
    const server = TestedHttp2.open('server', { options: { floodCredit: 1e6 } });
    server.connection.sender.isCongested = true;
    for (let id = 1; id < 10_000; id += 2) {
      server.send(frames.request(id, true));
      server.streams.get(id)!.sendMessage(HEAD, [Buffer.alloc(1000)], TRAILERS);
      server.send(frames.reset(id, 8));
    }
    expect(server.connection.queuedBytes).toBe(0);
    expect(server.connection.streams.size).toBe(0);
    expect(server.connection.output.bytes).toBe(0);
  });
});

describe('a server that makes its client work for nothing', () => {
  it('is left', () => {
    const client = TestedHttp2.open('client');
    for (let i = 0; i <= CREDIT; i++) client.send(frames.ping());
    expect(client.told().at(-1)).toBe('closed ENHANCE_YOUR_CALM');
  });

  it('but it may refuse streams as it likes', () => {
    const client = TestedHttp2.open('client', { options: { floodCredit: 10 } });
    const post = new HeaderTemplate(REQUEST.flat());
    for (let id = 1; id < 1000; id += 2) {
      client.connection.openStream(post, client.listenerOf({ id }), true);
      client.sentBytes();
      client.send(frames.reset(id, 7));
    }
    expect(client.connection.isFinished).toBe(false);
    expect(client.told().filter((event) => event.includes('REFUSED_STREAM'))).toHaveLength(500);
  });
});
