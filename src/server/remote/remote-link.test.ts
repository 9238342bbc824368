import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import type { TritonError } from '../../errors.js';
import type { AnswerStream } from '../../frontend/grpc/stream-call.js';
import { CANCEL, CANCEL_CALL, type ToHost } from '../../link/messages.js';
import { LINK_PROTOCOL } from '../../link/stream/link-messages.js';
import { decodeMessage, encodeMessage } from '../../link/stream/stream-message.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { type LinkedModels, RemoteLink } from './remote-link.js';

const PREFIX_BYTES = 5;

/** A stream that keeps what is sent, as the values of messages. */
class SeenStream implements AnswerStream {
  readonly head = undefined as never;
  readonly room = undefined;
  readonly sent: unknown[] = [];
  end: 'open' | 'finished' | TritonError = 'open';

  send(pieces: readonly Uint8Array[]): void {
    this.sent.push(decodeMessage(Buffer.concat(pieces).subarray(PREFIX_BYTES)).value);
  }

  hold(): void {}
  resume(): void {}
  keep = () => true;

  finish(): void {
    this.end = 'finished';
  }

  fail(error: TritonError): void {
    this.end = error;
  }
}

const models: LinkedModels = {
  maxMessageSize: 1000,
  bind: async () => undefined,
  unbind: async () => undefined,
  attached: () => undefined,
  lost: () => undefined,
};

const CONFIG = completeModelConfig({ modelName: 'm', inputs: {}, outputs: {} }, 1);
const bytesOf = (channel: number, value: unknown) => Buffer.concat(encodeMessage({ channel, value }));
const MESSAGE: ToHost = [CANCEL, 7, 0];

function linked() {
  const stream = new SeenStream();
  const link = new RemoteLink(stream, models);
  link.message(bytesOf(0, { kind: 'hello', protocol: LINK_PROTOCOL, version: '1' }));
  stream.sent.length = 0;
  const own = new SeenStream();
  const direct = link.direct(1, own)!;
  const closed = vi.fn<() => void>();
  const open = () => {
    const channel = link.channel(1, CONFIG);
    const received: unknown[] = [];
    channel.onMessage((message) => received.push(message));
    channel.onClose(closed);
    return { channel, received };
  };
  return { stream, link, own, direct, open, closed };
}

describe("a callable's own connection", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is taken with an empty message, and carries the messages of its channel both ways', () => {
    const { stream, own, direct, open } = linked();
    expect(own.sent).toEqual([[]]);
    const { channel, received } = open();
    channel.post(MESSAGE);
    expect(own.sent).toEqual([[], MESSAGE]);
    expect(stream.sent).toEqual([]);
    direct.message(bytesOf(1, [CANCEL_CALL, 3]));
    expect(received).toEqual([[CANCEL_CALL, 3]]);
  });

  it('answers pings, before its channel is open too', () => {
    const { own, direct, open } = linked();
    direct.message(bytesOf(1, []));
    const { received } = open();
    direct.message(bytesOf(1, []));
    expect(own.sent).toEqual([[], [], []]);
    expect(received).toEqual([]);
  });

  it('is never idle, whatever its callable does, until the link ends', () => {
    const { link, own } = linked();
    own.sent.length = 0;
    vi.advanceTimersByTime(3500);
    expect(own.sent).toEqual([[], [], []]);
    link.end();
    vi.advanceTimersByTime(5000);
    expect(own.sent).toHaveLength(3);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('is not taken for a channel that is open, that has one, or that is none', () => {
    const { link, open } = linked();
    expect(link.direct(1, new SeenStream())).toBeUndefined();
    expect(link.direct(0, new SeenStream())).toBeUndefined();
    open();
    link.channel(2, CONFIG);
    expect(link.direct(2, new SeenStream())).toBeUndefined();
    link.end();
    expect(link.direct(3, new SeenStream())).toBeUndefined();
  });

  it('leaves the messages of other channels to the link', () => {
    const { stream, link, own } = linked();
    link.channel(2, CONFIG).post(MESSAGE);
    expect(stream.sent).toEqual([MESSAGE]);
    expect(own.sent).toEqual([[]]);
  });

  it.each([
    ['of another channel', bytesOf(2, [CANCEL_CALL, 3]), 'a message for channel 2 came by the connection of 1'],
    ['of no kind', bytesOf(1, [99]), "a link's message is of kind 99"],
    ['that is malformed', Buffer.of(1, 2, 3), 'a message of the link is malformed: it has 3 bytes'],
  ])('ends the whole link with a message %s', async (_, bytes, message) => {
    const { stream, direct, open, closed } = linked();
    open();
    expect(() => direct.message(bytes)).toThrow(message);
    expect(stream.end).toMatchObject({ code: 'INVALID_ARG', message });
    await Promise.resolve();
    expect(closed).toHaveBeenCalledOnce();
  });

  it('ends with its channel, whichever end closes it', () => {
    for (const close of [
      ({ open }: ReturnType<typeof linked>) => open().channel.close(),
      ({ open, link, direct }: ReturnType<typeof linked>) => {
        open();
        link.message(bytesOf(0, { kind: 'ended', channel: 1 }));
        direct.halfClosed();
      },
      ({ open, link }: ReturnType<typeof linked>) => {
        open();
        link.end();
      },
    ]) {
      const all = linked();
      close(all);
      expect(all.own.end).toBe('finished');
      expect(all.link.connections).toBe(1);
    }
  });

  it('brings what a callable had sent before its end, though the link tells of that end first', async () => {
    const { stream, link, own, direct, open, closed } = linked();
    const { channel, received } = open();
    link.message(bytesOf(0, { kind: 'ended', channel: 1 }));
    expect([channel.isEnding, channel.isClosed, link.connections]).toEqual([true, false, 2]);
    direct.message(bytesOf(1, [CANCEL_CALL, 3]));
    expect(received).toEqual([[CANCEL_CALL, 3]]);
    direct.cancel();
    await Promise.resolve();
    expect(closed).toHaveBeenCalledOnce();
    expect([own.end, link.connections]).toEqual(['open', 1]);
    vi.advanceTimersByTime(60_000);
    expect(stream.end).toBe('open');
  });

  it('holds up the end of its channel for five seconds at most', async () => {
    const { stream, link, own, open, closed } = linked();
    open();
    link.message(bytesOf(0, { kind: 'ended', channel: 1 }));
    await vi.advanceTimersByTimeAsync(4900);
    expect(closed).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(1000);
    expect(closed).toHaveBeenCalledOnce();
    expect([own.end, stream.end, link.connections]).toEqual(['finished', 'open', 1]);
  });

  it('may end before its channel does', () => {
    const { stream, link, direct, open } = linked();
    open();
    expect(link.connections).toBe(2);
    direct.cancel();
    expect(link.connections).toBe(1);
    link.message(bytesOf(0, { kind: 'ended', channel: 1 }));
    vi.advanceTimersByTime(60_000);
    expect(stream.end).toBe('open');
  });

  it('ends the link when its channel stays open without it', async () => {
    const { stream, direct, open } = linked();
    open();
    direct.halfClosed();
    await vi.advanceTimersByTimeAsync(4900);
    expect(stream.end).toBe('open');
    await vi.advanceTimersByTimeAsync(1000);
    expect(stream.end).toMatchObject({ code: 'UNAVAILABLE', message: 'the connection of a callable is lost' });
  });
});

const NEVER = new AbortController().signal;

it('answers the pings of a link', () => {
  const { stream, link } = linked();
  link.message(bytesOf(0, { kind: 'ping' }));
  expect(stream.sent).toEqual([{ kind: 'pong' }]);
  link.end();
});

it('closes the channel of an instance whose end comes in one read with the message that opens it', async () => {
  const { link, stream } = linked();
  const { number, instances } = link.open({ link, model: 1, instances: 1, unbound: NEVER });
  const opened = instances.then(([instance]) => link.channel(instance!.channel, CONFIG));
  link.message(bytesOf(0, { kind: 'opened', opening: number, instances: [{ channel: 2, hasThread: true }] }));
  link.message(bytesOf(0, { kind: 'ended', channel: 2 }));
  const channel = await opened;
  const closed = new Promise<void>((resolve) => channel.onClose(resolve));
  await closed;
  channel.post(MESSAGE);
  expect(stream.sent).toEqual([{ kind: 'open', model: 1, opening: number }]);
  link.end();
});

it('tells whoever waits for an opening that it has been closed', async () => {
  const { link } = linked();
  const { number, instances } = link.open({ link, model: 1, instances: 1, unbound: NEVER });
  link.close(number);
  await expect(instances).rejects.toMatchObject({ code: 'UNAVAILABLE' });
  link.end();
});
