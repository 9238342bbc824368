import { promisify } from 'node:util';
import { deflateSync, gunzip, gunzipSync, gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it, vi } from 'vitest';

import { READING, standStill } from '../../../test/support/standstill.js';
import { StreamClient, type StreamClientOptions } from '../../../test/support/stream-client.js';
import { TritonError } from '../../errors.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import type { AnswerStream, StreamHandler, StreamMethod } from './stream-call.js';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A stream whose events are kept, and whose server side a test drives. */
function begin(options: StreamClientOptions = {}, method: Partial<StreamMethod> = {}) {
  const events: string[] = [];
  let stream!: AnswerStream;
  const handler: StreamHandler = {
    message: (bytes) => void events.push(bytes.toString()),
    halfClosed: () => void events.push('half-close'),
    cancel: () => void events.push('cancel'),
    drain: () => void events.push('drain'),
  };
  const client = new StreamClient(
    {
      open(opened) {
        stream = opened;
        return handler;
      },
      ...method,
    },
    options,
  );
  return { client, events, stream, handler };
}

const text = (value: string) => Buffer.from(value);

function compressedFrame(bytes: Buffer): Buffer {
  const frame = frameMessage(bytes);
  frame[0] = 1;
  return frame;
}

describe('the messages of a stream', () => {
  it('are given one by one, then the half-close', () => {
    const { client, events } = begin();
    client.send(text('a'), text('b'));
    client.send(text('c'));
    client.halfClose();
    expect(events).toEqual(['a', 'b', 'c', 'half-close']);
  });

  it('wait while the method holds them, and the client with them', () => {
    const { client, events, stream } = begin();
    stream.hold();
    client.send(text('a'), text('b'));
    expect(events).toEqual([]);
    expect(client.call.paused).toBe(true);
    stream.resume();
    expect(events).toEqual(['a', 'b']);
    expect(client.call.paused).toBe(false);
    client.halfClose();
    expect(events).toEqual(['a', 'b', 'half-close']);
  });

  it('may be held by the method while it takes one', () => {
    const { client, events, stream, handler } = begin();
    handler.message = (bytes) => {
      events.push(bytes.toString());
      stream.hold();
    };
    client.send(text('a'), text('b'), text('c'));
    expect(events).toEqual(['a']);
    stream.resume();
    expect(events).toEqual(['a', 'b']);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('are inflated in order, large ones too (%s)', async (encoding, compress) => {
    const { client, events } = begin({ headers: { 'grpc-encoding': encoding } });
    const large = 'x'.repeat(500_000);
    client.listener.onData(
      Buffer.concat([
        compressedFrame(compress('first')),
        compressedFrame(compress(large)),
        frameMessage(text('plain')),
        compressedFrame(compress('last')),
      ]),
    );
    client.halfClose();
    expect(events).toEqual(['first']);
    await vi.waitFor(() => expect(events).toHaveLength(5));
    expect(events).toEqual(['first', large, 'plain', 'last', 'half-close']);
  });

  it.each([
    ['larger than allowed', frameMessage(Buffer.alloc(2000)), [8, 'Received message larger than max (2000 vs. 1000)']],
    [
      'larger than allowed once inflated',
      compressedFrame(gzipSync(Buffer.alloc(2000))),
      [8, 'Received message larger than max after decompression (max 1000)'],
    ],
    [
      'not what their encoding says',
      compressedFrame(text('plain')),
      [13, 'Unexpected error decompressing data for algorithm gzip'],
    ],
  ])('that are %s end the stream', async (_, frame, end) => {
    const { client, events } = begin({ headers: { 'grpc-encoding': 'gzip' }, maxMessageSize: 1000 });
    client.listener.onData(frame);
    await vi.waitFor(() => expect(client.call.ends).toEqual([end]));
    expect(events).toEqual(['cancel']);
    expect(client.ended).toBe(1);
  });

  it('that the half-close cuts end the stream', () => {
    const { client, events } = begin();
    client.listener.onData(frameMessage(text('whole')));
    client.listener.onData(frameMessage(text('cut')).subarray(0, 6));
    client.halfClose();
    expect(client.call.ends).toEqual([[13, 'Unable to parse request']]);
    expect(events).toEqual(['whole', 'cancel']);
  });

  it('that the method throws at end the stream', () => {
    const { client, events, handler } = begin();
    handler.message = () => {
      throw new TritonError('NOT_FOUND', 'nothing there');
    };
    client.send(text('a'), text('b'));
    expect(client.call.ends).toEqual([[5, 'nothing there']]);
    expect(events).toEqual(['cancel']);
  });
});

describe('the answers of a stream', () => {
  it('are sent together at the end of the turn, large ones at once', async () => {
    const { client, stream } = begin();
    void stream.send([frameMessage(text('a'))]);
    void stream.send([frameMessage(text('b'))]);
    expect(client.call.writes).toEqual([]);
    await Promise.resolve();
    void stream.send([frameMessage(Buffer.alloc(20_000))]);
    expect(client.call.writes).toHaveLength(1);
    expect((await client.receivedBytes()).map(({ length }) => length)).toEqual([1, 1, 20_000]);
  });

  it('are compressed for clients that accept it, in order, unless that makes them no smaller', async () => {
    const headers = { 'grpc-accept-encoding': 'identity, deflate, gzip' };
    const { client, stream } = begin({ headers }, { compression: 'medium' });
    const large = Buffer.alloc(300_000, 'large ');
    void stream.send([frameMessage(Buffer.alloc(1000, 'a'))]);
    const room = stream.send([frameMessage(large)]);
    void stream.send([frameMessage(text('b'))]);
    stream.finish();
    await room;
    await vi.waitFor(() => expect(client.call.ends).toEqual(['OK']));
    expect(client.call.headers).toEqual({ 'grpc-encoding': 'gzip' });
    const bytes = Buffer.concat(client.call.writes);
    const messages: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 5 + bytes.readUInt32BE(at + 1)) {
      const message = bytes.subarray(at + 5, at + 5 + bytes.readUInt32BE(at + 1));
      messages.push(bytes[at] === 1 ? gunzipSync(message) : message);
    }
    expect(messages.map(({ length }) => length)).toEqual([1000, large.length, 1]);
    expect(bytes.length).toBeLessThan(10_000);
  });

  it.each([
    ['none', 'gzip'],
    ['high', 'br'],
    ['high', undefined],
  ] as const)('are not compressed at level %s for clients that accept %s', async (compression, accepted) => {
    const headers = accepted === undefined ? {} : { 'grpc-accept-encoding': accepted };
    const { client, stream } = begin({ headers }, { compression });
    void stream.send([frameMessage(Buffer.alloc(1000))]);
    expect((await client.receivedBytes())[0]).toHaveLength(1000);
    expect(client.call.headers).toBeUndefined();
  });

  it('come before the end, whatever that is', () => {
    const { client, stream } = begin();
    void stream.send([frameMessage(text('a'))]);
    stream.fail(new TritonError('INTERNAL', 'no more'));
    expect(client.call.writes).toHaveLength(1);
    expect(client.call.ends).toEqual([[13, 'no more']]);
    void stream.send([frameMessage(text('b'))]);
    stream.finish();
    expect(client.call.writes).toHaveLength(1);
    expect(client.call.ends).toHaveLength(1);
  });

  it('wait for a slow reader, and nobody waits after the end', async () => {
    const { client, stream } = begin();
    client.call.readerReady = false;
    void stream.send([frameMessage(Buffer.alloc(20_000))]);
    expect(stream.room).toBeInstanceOf(Promise);
    const room = stream.send([frameMessage(text('b'))]);
    stream.finish();
    await room;
    expect(await client.receivedBytes()).toHaveLength(2);
    expect(client.call.ends).toEqual(['OK']);
  });
});

describe('a stream that comes while the server stops', () => {
  it('drains after its first message', () => {
    const { client, events } = begin();
    client.listener.drainAfterFirst();
    expect(events).toEqual([]);
    client.send(text('a'), text('b'));
    expect(events).toEqual(['a', 'drain', 'b']);
  });

  it('is not waited for long', () => {
    vi.useFakeTimers();
    const { client, events } = begin();
    client.listener.drainAfterFirst();
    vi.advanceTimersByTime(999);
    expect(events).toEqual([]);
    vi.advanceTimersByTime(1 + READING);
    expect(events).toEqual(['drain']);
  });

  it('is waited for anew after a standstill of the server', () => {
    vi.useFakeTimers();
    const { client, events } = begin();
    client.listener.drainAfterFirst();
    standStill(60_000);
    vi.advanceTimersByTime(1000 + READING);
    expect(events).toEqual([]);
    client.send(text('a'));
    expect(events).toEqual(['a', 'drain']);
  });

  it('may end before', () => {
    vi.useFakeTimers();
    const { client, stream, events } = begin();
    client.listener.drainAfterFirst();
    stream.finish();
    expect([events, vi.getTimerCount()]).toEqual([[], 0]);
  });
});

describe('the deadline of a stream', () => {
  it('ends it and cancels', () => {
    vi.useFakeTimers();
    const { client, events } = begin({ headers: { 'grpc-timeout': '100m' } });
    vi.advanceTimersByTime(99);
    expect(client.call.ends).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(client.call.ends).toEqual([[4, 'Deadline Exceeded']]);
    expect(events).toEqual(['cancel']);
  });

  it('does not matter after the end', () => {
    vi.useFakeTimers();
    const { client, stream } = begin({ headers: { 'grpc-timeout': '100m' } });
    stream.finish();
    vi.advanceTimersByTime(200);
    expect(client.call.ends).toEqual(['OK']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('that cannot be understood ends it at once', () => {
    const { client } = begin({ headers: { 'grpc-timeout': 'soon' } });
    expect(client.call.ends).toEqual([
      [13, "malformed grpc-timeout 'soon', expected digits and one of H, M, S, m, u, n"],
    ]);
    expect(client.listener.ended).toBe(true);
  });
});

it('a cancellation while a message is inflated is the end', async () => {
  const { client, events } = begin({ headers: { 'grpc-encoding': 'gzip' } });
  const compressed = gzipSync(Buffer.alloc(500_000));
  client.listener.onData(compressedFrame(compressed));
  client.listener.onClose();
  // As long as it takes.
  await promisify(gunzip)(gzipSync(Buffer.alloc(5_000_000)));
  expect(events).toEqual(['cancel']);
});
