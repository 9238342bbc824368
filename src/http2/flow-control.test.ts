// Windows in both directions (RFC 9113, section 5.2), queues at streams, and sockets that take no more.
import { describe, expect, it } from 'vitest';
import type { Http2Stream } from './http2-stream.js';
import { HeaderTemplate } from './outgoing-headers.js';
import { FLAG, FRAME, setting } from '../../test/support/raw-http2.js';
import { frames, TestedHttp2 } from '../../test/support/tested-http2.js';
import { writtenBy } from '../../test/support/written-by.js';

const HEAD = new HeaderTemplate([':status', '200']);
const TRAILERS = new HeaderTemplate(['grpc-status', '0']);
const LARGE = 1 << 20;

/** A server with open requests, whose answers may be as large as the settings say. */
function serverWith(ids: readonly number[], ...settings: readonly Buffer[]): TestedHttp2 {
  const server = TestedHttp2.open('server', {}, settings);
  server.send(...ids.map((id) => frames.request(id, true)));
  server.told();
  return server;
}

function dataOf(sent: readonly string[]): string {
  return sent
    .filter((frame) => frame.startsWith('DATA'))
    .map((frame) => frame.slice(5))
    .join(', ');
}

describe('what the peer lets us send', () => {
  it('on a stream comes in frames as large as its window is', () => {
    const server = serverWith([1], setting(4, 10));
    const stream = server.streams.get(1)!;
    stream.sendMessage(HEAD, [Buffer.from('0123456789abcde')], TRAILERS);
    expect(server.sent()).toEqual(['HEADERS 1 :status=200', 'DATA 1 0123456789']);
    server.send(frames.windowUpdate(1, 2));
    expect(server.sent()).toEqual(['DATA 1 ab']);
    server.send(frames.windowUpdate(0, 100));
    expect(server.sent()).toEqual([]);
    server.send(frames.windowUpdate(1, 100));
    expect(server.sent()).toEqual(['DATA 1 cde', 'HEADERS 1 END_STREAM grpc-status=0']);
    expect(server.told()).toEqual(['close 1 in order']);
  });

  it('ends its stream when the memory of it was given away, and no other', () => {
    const server = serverWith([1, 3], setting(4, 10));
    const given = new Uint8Array(15).fill(65);
    server.streams.get(1)!.sendMessage(HEAD, [given], TRAILERS);
    server.streams.get(3)!.sendMessage(HEAD, [Buffer.from('0123456789abcde')], TRAILERS);
    server.sent();
    structuredClone(given, { transfer: [given.buffer] });
    server.send(frames.windowUpdate(1, 100), frames.windowUpdate(3, 100));
    expect(server.sent()).toEqual([
      'RST_STREAM 1 INTERNAL_ERROR',
      'DATA 3 abcde',
      'HEADERS 3 END_STREAM grpc-status=0',
    ]);
    expect(server.told()).toEqual(['close 1 INTERNAL_ERROR', 'close 3 in order']);
    expect(server.connection.queuedBytes).toBe(0);
  });

  it('on the connection is shared by its streams, which take turns', () => {
    const server = serverWith([1, 3], setting(4, LARGE));
    for (const stream of server.streams.values()) stream.sendMessage(HEAD, [Buffer.alloc(300_000)], TRAILERS);
    expect(dataOf(server.sent())).toBe('1 16384, 1 16384, 1 16384, 1 16383');
    server.send(frames.windowUpdate(0, 400_000));
    const bytes = (sent: readonly string[], id: number) =>
      sent.reduce((sum, frame) => sum + (frame.startsWith(`DATA ${id} `) ? Number(frame.split(' ')[2]) : 0), 0);
    const sent = server.sent();
    expect(bytes(sent, 1) + bytes(sent, 3)).toBe(400_000);
    expect(Math.abs(bytes(sent, 1) - bytes(sent, 3))).toBeLessThanOrEqual(1 << 17);
    server.send(frames.windowUpdate(0, 400_000));
    expect([...sent, ...server.sent()].filter((frame) => frame.includes('END_STREAM'))).toHaveLength(2);
  });

  it('holds back data, and no headers of others', () => {
    const server = serverWith([1, 3, 5], setting(4, LARGE));
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.alloc(70_000)], TRAILERS);
    server.sent();
    server.streams.get(3)!.sendHeaders(HEAD, true);
    server.streams.get(5)!.sendMessage(HEAD, [Buffer.from('x')], TRAILERS);
    expect(server.sent()).toEqual(['HEADERS 3 END_STREAM :status=200', 'HEADERS 5 :status=200']);
    // Who waited longest is served first, and then stands behind the others.
    server.send(frames.windowUpdate(0, 10));
    expect(dataOf(server.sent())).toBe(`1 ${'\0'.repeat(10)}`);
    server.send(frames.windowUpdate(0, LARGE));
    expect(server.sent().map((frame) => frame.slice(0, 9))).toEqual([
      'DATA 5 x',
      'HEADERS 5',
      'DATA 1 44',
      'HEADERS 1',
    ]);
  });

  it('may become negative by a change of settings', () => {
    const server = serverWith([1], setting(4, 10));
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.from('0123456789abcde')], TRAILERS);
    server.sent();
    server.send(frames.settings(setting(4, 3)), frames.windowUpdate(1, 7));
    expect(server.sent()).toEqual(['SETTINGS ACK']);
    server.send(frames.windowUpdate(1, 1));
    expect(server.sent()).toEqual(['DATA 1 a']);
    server.send(frames.settings(setting(4, 5)));
    expect(server.sent()).toEqual(['SETTINGS ACK', 'DATA 1 bc']);
  });

  it('of nothing still lets an empty end go', () => {
    const server = serverWith([1], setting(4, 0));
    const stream = server.streams.get(1)!;
    stream.sendHeaders(HEAD);
    stream.sendData(Buffer.alloc(0));
    stream.sendData(Buffer.alloc(0), true);
    expect(server.sent()).toEqual(['HEADERS 1 :status=200', 'DATA 1  END_STREAM']);
  });

  it('ends the message with the last of its data', () => {
    const server = serverWith([1], setting(4, 4));
    const stream = server.streams.get(1)!;
    stream.sendHeaders(HEAD);
    stream.sendData(Buffer.from('abcdef'), true);
    expect(server.sent()).toEqual(['HEADERS 1 :status=200', 'DATA 1 abcd']);
    server.send(frames.windowUpdate(1, 10));
    expect(server.sent()).toEqual(['DATA 1 ef END_STREAM']);
  });

  it('is told to who writes a lot, once it has gone', () => {
    const server = serverWith([1]);
    const stream = server.streams.get(1)!;
    stream.sendHeaders(HEAD);
    expect(stream.sendData(Buffer.alloc(65_535 + 65_536))).toBe(true);
    expect(stream.sendData(Buffer.from('x'))).toBe(false);
    expect(stream.queuedBytes).toBe(65_537);
    server.send(frames.windowUpdate(1, LARGE), frames.windowUpdate(0, 65_536));
    server.sent();
    expect(server.told()).toEqual([]);
    server.send(frames.windowUpdate(0, 1));
    server.sent();
    expect(server.told()).toEqual(['drain 1']);
    expect(server.connection.queuedBytes).toBe(0);
  });

  it('may be written from the very event', () => {
    let left = 5;
    const server = TestedHttp2.open('server', {
      streamListener: (stream: Http2Stream) => ({
        onDrain: () => {
          if (left-- > 0) stream.sendData(Buffer.alloc(100_000));
          else stream.sendHeaders(TRAILERS, true);
        },
      }),
    });
    server.send(frames.request(1, true));
    const stream = server.streams.get(1)!;
    stream.sendHeaders(HEAD);
    stream.sendData(Buffer.alloc(200_000));
    let bytes = 0;
    for (let i = 0; i < 100 && !stream.isClosed; i++) {
      server.send(frames.windowUpdate(1, 50_000), frames.windowUpdate(0, 50_000));
      for (const frame of server.sent()) if (frame.startsWith('DATA')) bytes += Number(frame.split(' ')[2]);
    }
    expect(bytes).toBe(700_000);
  });

  it('of more than may wait ends the connection', () => {
    const server = TestedHttp2.open('server', { options: { maxQueuedBytes: 1000 } }, [setting(4, 0)]);
    server.send(frames.request(1, true), frames.request(3, true));
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.alloc(1000)], TRAILERS);
    expect(server.connection.isFinished).toBe(false);
    server.streams.get(3)!.sendMessage(HEAD, [Buffer.alloc(1)], TRAILERS);
    expect(server.sent().at(-1)).toBe('GOAWAY 3 ENHANCE_YOUR_CALM');
    expect(server.told().slice(-3)).toEqual([
      'close 1 ENHANCE_YOUR_CALM',
      'close 3 ENHANCE_YOUR_CALM',
      'closed ENHANCE_YOUR_CALM',
    ]);
  });
});

describe('a socket that takes no more', () => {
  it('holds back messages, and streams that have them stay open', () => {
    const server = serverWith([1]);
    server.connection.sender.isCongested = true;
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.from('x')], TRAILERS);
    server.send(frames.ping());
    expect(server.sent()).toEqual(['PING ACK 70696e67706f6e67']);
    expect(server.connection.streams.size).toBe(1);
    server.connection.sender.isCongested = false;
    expect(server.sent()).toEqual(['HEADERS 1 :status=200', 'DATA 1 x', 'HEADERS 1 END_STREAM grpc-status=0']);
  });

  it('gets a megabyte at a time', () => {
    const server = serverWith([1], setting(4, 0x7fffffff));
    server.send(frames.windowUpdate(0, 0x7fffffff - 65_535));
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.alloc(5 << 20)], TRAILERS);
    const { sender, output } = server.connection;
    let bytes = 0;
    let writes = 0;
    for (; ; writes++) {
      sender.fill();
      if (output.bytes === 0) break;
      expect(output.bytes).toBeLessThan((1 << 20) + (1 << 18));
      bytes += output.bytes;
      writtenBy(output);
    }
    expect(writes).toBeGreaterThan(3);
    expect(bytes - (5 << 20)).toBeLessThan(4096);
  });

  it('gets small chunks of one stream in few frames', () => {
    const server = serverWith([1, 3], setting(4, LARGE));
    const [one, other] = [server.streams.get(1)!, server.streams.get(3)!];
    one.sendHeaders(HEAD);
    other.sendHeaders(HEAD);
    for (const text of ['a', 'b', 'c']) one.sendData(Buffer.from(text));
    other.sendData(Buffer.from('d'));
    one.sendData(Buffer.from('e'));
    server.send(frames.ping());
    one.sendData(Buffer.from('f'));
    one.sendData(Buffer.from('g'), true);
    other.sendData(Buffer.alloc(16_384));
    other.sendData(Buffer.from('h'));
    expect(server.sent().filter((frame) => frame.startsWith('DATA'))).toEqual([
      'DATA 1 abc',
      'DATA 3 d',
      'DATA 1 e',
      'DATA 1 fg END_STREAM',
      'DATA 3 16384',
      'DATA 3 h',
    ]);
    // What was sent is out of reach.
    other.sendData(Buffer.from('i'));
    other.sendData(Buffer.from('j'));
    expect(server.sent()).toEqual(['DATA 3 ij']);
    other.sendData(Buffer.alloc(0), true);
    expect(server.sent()).toEqual(['DATA 3  END_STREAM']);
  });

  it('sends large chunks without copying them, and small ones beside their heads', () => {
    const server = serverWith([1], setting(5, 1 << 20), setting(4, LARGE));
    server.send(frames.windowUpdate(0, LARGE));
    server.sent();
    const large = Buffer.alloc(100_000, 1);
    server.streams.get(1)!.sendMessage(HEAD, [Buffer.from('small'), large], TRAILERS);
    const chunks = writtenBy(server.connection.output);
    expect(chunks).toHaveLength(3);
    expect(chunks[1]).toBe(large);
    expect(chunks[0]!.length).toBe(9 + 1 + 9 + 5);
  });
});

describe('what we let the peer send', () => {
  it('is given back in portions of half the window', () => {
    const server = TestedHttp2.open('server', { options: { streamWindow: 100_000, connectionWindow: 200_000 } });
    server.send(frames.request(1));
    const send = (bytes: number) => server.send(frames.data(1, Buffer.alloc(bytes)));
    send(49_999);
    expect(server.sent()).toEqual([]);
    send(1);
    expect(server.sent()).toEqual(['WINDOW_UPDATE 1 50000']);
    send(50_000);
    expect(server.sent()).toEqual(['WINDOW_UPDATE 0 100000', 'WINDOW_UPDATE 1 50000']);
  });

  it('is given back for padding, and for data that nobody wants', () => {
    const server = TestedHttp2.open('server', { options: { streamWindow: 70_000, connectionWindow: 70_000 } });
    server.send(frames.request(1), frames.request(3, true));
    const padded = Buffer.concat([Buffer.of(255), Buffer.alloc(1000)]);
    for (let i = 0; i < 40; i++) server.send({ type: FRAME.DATA, flags: FLAG.PADDED, stream: 1, payload: padded });
    expect(server.sent()).toEqual(['WINDOW_UPDATE 0 35035', 'WINDOW_UPDATE 1 35035']);
    server.streams.get(1)!.reset('CANCEL');
    for (let i = 0; i < 40; i++) server.send(frames.data(1, Buffer.alloc(1000)));
    expect(server.sent()).toEqual(['RST_STREAM 1 CANCEL', 'WINDOW_UPDATE 0 35005']);
  });

  it('is not given back on a stream that has ended', () => {
    const server = TestedHttp2.open('server', { options: { streamWindow: 65_535, connectionWindow: 1 << 20 } });
    server.send(frames.request(1), frames.data(1, Buffer.alloc(60_000), true));
    expect(server.sent()).toEqual([]);
  });

  it('is not given back until the user has consumed it', () => {
    const server = TestedHttp2.open('server', {
      options: { streamWindow: 65_536, connectionWindow: 131_072 },
      streamListener: (stream) => {
        stream.consumesAtOnce = false;
        return {};
      },
    });
    server.send(frames.request(1));
    const stream = server.streams.get(1)!;
    stream.consumesAtOnce = false;
    server.send(frames.data(1, Buffer.alloc(65_536)));
    expect(server.sent()).toEqual([]);
    stream.consume(40_000);
    expect(server.sent()).toEqual(['WINDOW_UPDATE 1 40000']);
    stream.consume(1e9);
    expect(server.sent()).toEqual(['WINDOW_UPDATE 0 65536']);
  });

  it('is given back on the connection when a stream ends with data that nobody will consume', () => {
    const server = TestedHttp2.open('server', { options: { streamWindow: 65_536, connectionWindow: 131_072 } });
    server.send(frames.request(1));
    server.streams.get(1)!.consumesAtOnce = false;
    server.send(frames.data(1, Buffer.alloc(65_536)), frames.reset(1, 8));
    expect(server.sent()).toEqual(['WINDOW_UPDATE 0 65536']);
  });

  it('is never less than the protocol begins with, on the connection', () => {
    const server = TestedHttp2.open('server', { options: { connectionWindow: 1000 } });
    server.send(frames.request(1));
    server.streams.get(1)!.consumesAtOnce = false;
    server.send(frames.data(1, Buffer.alloc(65_535)));
    expect(server.connection.isFinished).toBe(false);
    server.send(frames.data(1, 'xxxxx'));
    expect(server.sent()).toEqual(['GOAWAY 1 FLOW_CONTROL_ERROR']);
  });

  it.each([
    ['a stream', 1, 'RST_STREAM 1 FLOW_CONTROL_ERROR'],
    ['the connection', 5, 'GOAWAY 1 FLOW_CONTROL_ERROR'],
  ])('is no more than the window of %s', (_, factor, expected) => {
    const server = TestedHttp2.open('server', {
      options: { streamWindow: 70_000 * factor, connectionWindow: 100_000 },
    });
    server.send(frames.request(1));
    server.streams.get(1)!.consumesAtOnce = false;
    server.send(frames.data(1, Buffer.alloc(70_000)));
    expect(server.sent()).toEqual([]);
    server.send(frames.data(1, Buffer.alloc(40_000 - 5000 * (2 - Math.sign(factor - 1)))));
    expect(server.sent()).toContain(expected);
  });

  it('is the default until the peer has acknowledged a smaller window', () => {
    const server = new TestedHttp2('server', { options: { streamWindow: 10 } });
    server.receive(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
    server.send(frames.settings(), frames.request(1), frames.request(3));
    for (const stream of server.streams.values()) stream.consumesAtOnce = false;
    server.send(frames.data(1, Buffer.alloc(65_535)));
    server.send({ type: FRAME.SETTINGS, flags: FLAG.ACK });
    server.sent();
    server.send(frames.data(3, Buffer.alloc(10)));
    expect(server.sent()).toEqual([]);
    server.send(frames.data(3, Buffer.alloc(1), true));
    expect(server.sent()).toEqual(['RST_STREAM 3 FLOW_CONTROL_ERROR']);
    server.send(frames.request(5), frames.data(5, Buffer.alloc(11)));
    expect(server.sent()).toEqual(['RST_STREAM 5 FLOW_CONTROL_ERROR']);
  });
});

describe('a window that becomes smaller', () => {
  it('is given back what was too little before', () => {
    const server = new TestedHttp2('server', { options: { streamWindow: 1000 } });
    server.receive(Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'));
    server.send(frames.settings(), frames.request(1), frames.data(1, Buffer.alloc(20_000)));
    server.sent();
    server.send({ type: FRAME.SETTINGS, flags: FLAG.ACK });
    expect(server.sent()).toEqual(['WINDOW_UPDATE 1 20000']);
  });
});

describe('a target for data', () => {
  it('is filled however the data comes, and what follows is told as usual', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1));
    const stream = server.streams.get(1)!;
    const target = Buffer.alloc(10);
    stream.receiveInto(target);
    server.send(frames.data(1, 'abcd'), frames.data(1, 'efgh'));
    expect(server.told()).toEqual(['stream 1 /p']);
    server.send(frames.data(1, 'ijklm'), frames.data(1, 'n', true));
    expect(server.told()).toEqual(['filled 1', 'data 1 klm', 'data 1 n', 'end 1']);
    expect(target.toString()).toBe('abcdefghij');
  });

  it('may follow another within one frame', () => {
    const targets = [Buffer.alloc(3), Buffer.alloc(2)];
    const server = TestedHttp2.open('server', {
      streamListener: (stream) => ({
        onFilled: () => {
          const next = targets.find((target) => target.every((byte) => byte === 0));
          if (next !== undefined) stream.receiveInto(next);
        },
      }),
    });
    server.send(frames.request(1));
    server.streams.get(1)!.receiveInto(targets[0]!);
    server.send(frames.data(1, 'abcdefg', true));
    expect(targets.map(String)).toEqual(['abc', 'de']);
    expect(server.told()).toEqual(['stream 1 /p', 'filled 1', 'filled 1', 'data 1 fg', 'end 1']);
  });

  it('is where the next bytes are read to, when they are many', () => {
    const server = TestedHttp2.open('server', { options: { streamWindow: 1 << 21 } });
    const { connection } = server;
    server.send(frames.request(1));
    const stream = server.streams.get(1)!;
    const target = new Uint8Array(150_000);
    stream.receiveInto(target);
    expect(connection.data.directTarget()).toBeUndefined();
    server.send({ type: FRAME.DATA, stream: 1, length: 100_000, payload: Buffer.alloc(10, 1) });
    const direct = connection.data.directTarget()!;
    expect([direct.buffer, direct.byteOffset, direct.length]).toEqual([target.buffer, 10, 99_990]);
    direct.fill(2);
    server.connection.receive(direct, 0, 50_000);
    expect(target[50_009]).toBe(2);
    expect(connection.data.directTarget()?.byteOffset).toBe(50_010);
    connection.receive(direct.subarray(50_000), 0, 49_990);
    expect(connection.data.directTarget()).toBeUndefined();
    server.send({
      type: FRAME.DATA,
      flags: FLAG.END_STREAM,
      stream: 1,
      length: 50_000,
      payload: Buffer.alloc(50_000, 3),
    });
    expect(server.told()).toEqual(['stream 1 /p', 'filled 1', 'end 1']);
    expect([target[9], target[10], target[99_999], target[100_000]]).toEqual([1, 2, 2, 3]);
  });

  it('is left alone when its stream has ended', () => {
    const server = TestedHttp2.open('server');
    server.send(frames.request(1));
    const target = new Uint8Array(100_000);
    server.streams.get(1)!.receiveInto(target);
    server.send({ type: FRAME.DATA, stream: 1, length: 100_000, payload: Buffer.alloc(10, 1) });
    server.streams.get(1)!.reset('CANCEL');
    expect(server.connection.data.directTarget()).toBeUndefined();
    server.receive(Buffer.alloc(99_990, 9));
    expect(target[10]).toBe(0);
    server.send(frames.request(3, true));
    expect(server.told().at(-1)).toBe('end 3');
  });
});
