import { deflateSync, gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { TritonError } from '../../errors.js';
import { RecordedCall } from '../../../test/support/recorded-call.js';
import { frameMessage } from '../../protocol/grpc/message-frame.js';
import { UnaryCall, type UnaryAnswer, type UnaryMethod } from './unary-call.js';

const echo: UnaryMethod = {
  waits: false,
  serve(message, answer) {
    answer.succeed([message]);
    return undefined;
  },
};

/** A method that keeps its request waiting. */
function waiting() {
  const started: { readonly message: string; readonly answer: UnaryAnswer }[] = [];
  const cancel = vi.fn<() => void>();
  const method: UnaryMethod = {
    waits: true,
    serve(message, answer) {
      started.push({ message: message.toString(), answer });
      return { cancel };
    },
  };
  return { started, cancel, method };
}

function begin(method: UnaryMethod, headers?: Readonly<Record<string, string>>, maxMessageSize = 1000) {
  const call = new RecordedCall(headers);
  return { call, listener: new UnaryCall(call, method, maxMessageSize) };
}

const frame = (text: string) => frameMessage(Buffer.from(text));

describe('the message of a unary call', () => {
  it('is served when it is complete, before the half-close', () => {
    const { call, listener } = begin(echo);
    listener.onData(frame('hello'));
    expect(call.ends).toEqual(['hello']);
    listener.onEnd();
    expect(call.ends).toEqual(['hello']);
  });

  it('may come byte by byte', () => {
    const { call, listener } = begin(echo);
    for (const byte of frame('slow')) listener.onData(Buffer.from([byte]));
    listener.onEnd();
    expect(call.ends).toEqual(['slow']);
  });

  it.each([
    ['none', []],
    ['an empty chunk', [Buffer.alloc(0)]],
    ['a cut prefix', [Buffer.from([0, 0, 0])]],
    ['a cut message', [frame('abc').subarray(0, 7)]],
    ['a message followed by bytes that are none', [Buffer.concat([frame('abc'), Buffer.from([0, 0])])]],
  ])('cannot be parsed: %s', (_, chunks) => {
    const { call, listener } = begin(echo);
    for (const chunk of chunks) listener.onData(chunk);
    expect(call.ends).toEqual([]);
    listener.onEnd();
    expect(call.ends).toEqual([[13, 'Unable to parse request']]);
  });

  it('must be the only one', () => {
    const { call, listener } = begin(echo);
    listener.onData(Buffer.concat([frame('one'), frame('two')]));
    expect(call.ends).toEqual([[13, 'expected one request message in a call of /test.Service/Method, got more']]);
  });

  it('may not be followed by a byte of another one, which would lie here uncounted', () => {
    const { method, cancel } = waiting();
    const { call, listener } = begin(method);
    listener.onData(frame('one'));
    listener.onData(frame('two').subarray(0, 1));
    expect(call.ends).toEqual([[13, 'expected one request message in a call of /test.Service/Method, got more']]);
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('is refused as soon as its length is beyond the limit', () => {
    const { call, listener } = begin(echo, {}, 4);
    listener.onData(frame('12345').subarray(0, 5));
    expect(call.ends).toEqual([[8, 'Received message larger than max (5 vs. 4)']]);
    listener.onData(frame('12345').subarray(5));
    expect(call.ends).toHaveLength(1);
  });

  it.each([
    ['gzip', gzipSync],
    ['deflate', deflateSync],
  ] as const)('is inflated when it is compressed by %s', (encoding, compress) => {
    const { call, listener } = begin(echo, { 'grpc-encoding': encoding });
    const compressed = frameMessage(compress('text'));
    compressed[0] = 1;
    listener.onData(compressed);
    expect(call.ends).toEqual(['text']);
  });

  it('is inflated in the background when it is large, and no further than it may be', async () => {
    const { call, listener } = begin(echo, { 'grpc-encoding': 'gzip' }, 1 << 20);
    const fits = frameMessage(gzipSync(Buffer.alloc(1 << 20)));
    fits[0] = 1;
    listener.onData(fits);
    expect(call.ends).toEqual([]);
    await vi.waitFor(() => expect(call.ends).toHaveLength(1));
    expect((call.ends[0] as string).length).toBe(1 << 20);
    const other = begin(echo, { 'grpc-encoding': 'gzip' }, 1 << 20);
    const tooLarge = frameMessage(gzipSync(Buffer.alloc((1 << 20) + 1)));
    tooLarge[0] = 1;
    other.listener.onData(tooLarge);
    await vi.waitFor(() => expect(other.call.ends).toHaveLength(1));
    expect(other.call.ends).toEqual([[8, 'Received message larger than max after decompression (max 1048576)']]);
  });

  it.each([
    ['is not compressed at all', Buffer.from('text')],
    ['is cut', gzipSync('text').subarray(0, 12)],
    ['is of the other form', deflateSync('text')],
    ['has something behind it', Buffer.concat([gzipSync('text'), Buffer.from([1])])],
  ])('is refused when what should be gzip %s', (_, bytes) => {
    const { call, listener } = begin(echo, { 'grpc-encoding': 'gzip' });
    const compressed = frameMessage(bytes);
    compressed[0] = 1;
    listener.onData(compressed);
    expect(call.ends).toEqual([[13, 'Unexpected error decompressing data for algorithm gzip']]);
  });

  it('is what the method throws', () => {
    const { call, listener } = begin({
      waits: false,
      serve() {
        throw new TritonError('NOT_FOUND', 'no such thing');
      },
    });
    listener.onData(frame('x'));
    expect(call.ends).toEqual([[5, 'no such thing']]);
  });

  it('is INTERNAL for an error that is none of ours', () => {
    const { call, listener } = begin({
      waits: false,
      serve() {
        throw new RangeError('out of range');
      },
    });
    listener.onData(frame('x'));
    expect(call.ends).toEqual([[13, 'out of range']]);
  });

  it('comes once', () => {
    const { method, started } = waiting();
    const { call, listener } = begin(method);
    listener.onData(frame('x'));
    const { answer } = started[0]!;
    answer.fail(new TritonError('UNAVAILABLE', 'busy'));
    answer.succeed([Buffer.from('late')]);
    answer.fail(new TritonError('INTERNAL', 'later'));
    expect(call.ends).toEqual([[14, 'busy']]);
  });

  it('goes nowhere when the client is gone, and the request is cancelled', () => {
    const { method, started, cancel } = waiting();
    const { call, listener } = begin(method);
    listener.onData(frame('x'));
    listener.onClose();
    expect(cancel).toHaveBeenCalledOnce();
    started[0]!.answer.succeed([Buffer.from('late')]);
    listener.onClose();
    expect(call.ends).toEqual([]);
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('cancels nothing once it was given', () => {
    const { method, started, cancel } = waiting();
    const { listener } = begin(method);
    listener.onData(frame('x'));
    started[0]!.answer.succeed([]);
    listener.onClose();
    expect(cancel).not.toHaveBeenCalled();
  });
});

describe('the deadline of a unary call', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
  afterEach(() => void vi.useRealTimers());

  it('cancels the request and answers DEADLINE_EXCEEDED, whatever the core says about that', () => {
    const { method, started, cancel } = waiting();
    const { call, listener } = begin(method, { 'grpc-timeout': '100m' });
    cancel.mockImplementation(() => started[0]!.answer.fail(new TritonError('CANCELLED', 'cancelled')));
    listener.onData(frame('x'));
    vi.advanceTimersByTime(99);
    expect(call.ends).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(call.ends).toEqual([[4, 'Deadline Exceeded']]);
    expect(cancel).toHaveBeenCalledOnce();
  });

  it('counts from the start of the call: a message that does not come is not waited for', () => {
    const { call, listener } = begin(echo, { 'grpc-timeout': '1S' });
    listener.onData(frame('x').subarray(0, 3));
    vi.advanceTimersByTime(1000);
    expect(call.ends).toEqual([[4, 'Deadline Exceeded']]);
  });

  it.each(['0S', '0n'])('is over at once with %s: the method is not called', (timeout) => {
    const { method, started } = waiting();
    const { call, listener } = begin(method, { 'grpc-timeout': timeout });
    listener.onData(frame('x'));
    expect(call.ends).toEqual([[4, 'Deadline Exceeded']]);
    expect(started).toEqual([]);
  });

  it('does not matter to methods that answer at once, as in Triton', () => {
    const { call, listener } = begin(echo, { 'grpc-timeout': '0n' });
    listener.onData(frame('x'));
    expect(call.ends).toEqual(['x']);
  });

  it('leaves no timer behind', () => {
    const { listener } = begin(echo, { 'grpc-timeout': '5S' });
    expect(vi.getTimerCount()).toBe(1);
    listener.onData(frame('x'));
    expect(vi.getTimerCount()).toBe(0);
  });

  it('takes no timer when there is none, or when it is weeks away', () => {
    begin(echo);
    begin(echo, { 'grpc-timeout': '99999999H' });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is refused in another form, and the call with it', () => {
    const { method, started } = waiting();
    const { call, listener } = begin(method, { 'grpc-timeout': '5' });
    expect(call.ends).toEqual([[13, "malformed grpc-timeout '5', expected digits and one of H, M, S, m, u, n"]]);
    listener.onData(frame('x'));
    listener.onEnd();
    expect(call.ends).toHaveLength(1);
    expect(started).toEqual([]);
  });
});
