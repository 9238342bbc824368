import { describe, expect, it } from 'vitest';

import { readFrames } from '../../../test/support/read-frames.js';
import { ownMemory } from '../../model/exchange.js';
import { copyWholeMessage, frameMessage, MessageFrameReader } from './message-frame.js';

const MAX = 1_000_000;

function frame(text: string, flag = 0): Buffer {
  const bytes = frameMessage(Buffer.from(text));
  bytes[0] = flag;
  return bytes;
}

function prefix(flag: number, length: number): Buffer {
  const bytes = Buffer.alloc(5);
  bytes[0] = flag;
  bytes.writeUInt32BE(length, 1);
  return bytes;
}

describe('many small chunks that nobody reads yet', () => {
  it('are put together, and read as they came', () => {
    const messages = Array.from({ length: 5000 }, (_, i) => Buffer.from(`message ${i}`));
    const stream = Buffer.concat([...messages.map(frameMessage), frameMessage(Buffer.alloc(20_000, 'l'))]);
    const reader = new MessageFrameReader(1_000_000, undefined);
    let at = 0;
    for (let i = 0; at < stream.length; i++) {
      const end = at + (i % 500 === 499 ? 10_000 : (i % 13) + 1);
      reader.add(Buffer.from(stream.subarray(at, end)));
      at = end;
    }
    const read: string[] = [];
    for (let next = reader.next(); next !== undefined; next = reader.next()) read.push(next.bytes.toString());
    expect(read).toEqual([...messages.map(String), 'l'.repeat(20_000)]);
  });

  it('take little more memory than their bytes', () => {
    const reader = new MessageFrameReader(1_000_000, undefined);
    const before = process.memoryUsage();
    for (let i = 0; i < 200_000; i++) reader.add(Buffer.alloc(8));
    const after = process.memoryUsage();
    // Kept one by one they would take some hundred bytes each.
    expect(after.arrayBuffers - before.arrayBuffers).toBeLessThan(8 * 1024 * 1024);
  });
});

describe('MessageFrameReader', () => {
  it('says so when there is no memory for a message, at its beginning and while it grows', () => {
    for (const allocations of [0, 1]) {
      let left = allocations;
      const reader = new MessageFrameReader(100 << 20, undefined, true, {
        allocate: (size) => {
          if (left-- === 0) throw new RangeError('Array buffer allocation failed');
          return Buffer.allocUnsafeSlow(size);
        },
        tensorsAt: () => 0,
        spare: () => undefined,
      });
      reader.add(prefix(0, 90 << 20));
      for (let i = 0; i < 20 && reader.failure === undefined; i++) {
        reader.add(Buffer.alloc(1 << 20));
        expect(reader.next()).toBeUndefined();
      }
      expect(reader.failure).toEqual({
        status: 8,
        message: `there is no memory for a message of ${90 << 20} bytes`,
      });
    }
  });

  it('gives the same messages wherever the bytes are cut', () => {
    const bytes = Buffer.concat([frame('first'), frame(''), frame('second message'), frame('x')]);
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const reader = new MessageFrameReader(MAX, undefined);
        const chunks = [bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)];
        const messages = chunks.flatMap((chunk) => readFrames(reader, chunk)).map(String);
        expect(messages).toEqual(['first', '', 'second message', 'x']);
        expect(reader.idle).toBe(true);
      }
    }
  });

  it('gives messages byte by byte', () => {
    const reader = new MessageFrameReader(MAX, undefined);
    const bytes = frame('one by one');
    const messages = [...bytes].flatMap((byte, i) => {
      const given = readFrames(reader, Buffer.from([byte]));
      expect(reader.idle).toBe(i === bytes.length - 1);
      return given;
    });
    expect(messages.map(String)).toEqual(['one by one']);
  });

  it('says where the rest of a large message belongs, and asks again when that is full', () => {
    const reader = new MessageFrameReader(100 << 20, undefined);
    const body = Buffer.alloc(20 << 20, 'abcdefg');
    const bytes = frameMessage(body);
    expect(reader.target()).toBeUndefined();
    let at = 16_384;
    reader.add(bytes.subarray(0, at));
    expect(reader.next()).toBeUndefined();
    const sizes: number[] = [];
    for (let target = reader.target(); target !== undefined; target = reader.target()) {
      // While it is being filled there is no other.
      expect(reader.target()).toBeUndefined();
      sizes.push(target.length);
      at += bytes.copy(target, 0, at);
      reader.filled();
    }
    expect(at).toBe(bytes.length);
    // Memory for no more than a multiple of what has come.
    expect(sizes[0]).toBeLessThanOrEqual((1 << 20) + 16_384);
    const message = reader.next()!.bytes;
    expect(message.equals(body)).toBe(true);
    expect([reader.idle, reader.next(), reader.target()]).toEqual([true, undefined, undefined]);
  });

  it('lays large messages out as their beginning tells, in spare memory where there is some', () => {
    const body = Buffer.alloc(3 << 20, 'abcdefg');
    const bytes = frameMessage(body);
    for (const spare of [undefined, Buffer.allocUnsafeSlow(4 << 20)]) {
      const asked: string[] = [];
      const reader = new MessageFrameReader(100 << 20, undefined, true, {
        allocate: (size) => Buffer.allocUnsafeSlow(size + 100).subarray(0, size),
        spare: (size) => spare?.subarray(0, size),
        tensorsAt: (beginning) => {
          asked.push(String(beginning));
          return 11;
        },
      });
      // The prefix alone does not tell.
      reader.add(bytes.subarray(0, 5));
      expect([reader.next(), reader.target()]).toEqual([undefined, undefined]);
      reader.add(bytes.subarray(5, 25));
      expect(reader.next()).toBeUndefined();
      expect(asked).toEqual([String(body.subarray(0, 20))]);
      let at = 25 + 16_384;
      reader.add(bytes.subarray(25, at));
      expect(reader.next()).toBeUndefined();
      for (let target = reader.target(); target !== undefined; target = reader.target()) {
        at += bytes.copy(target, 0, at);
        reader.filled();
      }
      const message = reader.next()!.bytes;
      expect([message.equals(body), (message.byteOffset + 11) % 8, reader.idle]).toEqual([true, 0, true]);
      // Nothing else is in the memory, which is larger.
      expect(ownMemory(message)).toBe(message.buffer);
      expect(ownMemory(message.subarray(1))).toBeUndefined();
      expect(message.buffer === spare?.buffer).toBe(spare !== undefined);
    }
  });

  it('wants small messages added, and what comes behind others', () => {
    const reader = new MessageFrameReader(MAX, undefined);
    reader.add(frame('a small one').subarray(0, 6));
    expect([reader.next(), reader.target()]).toEqual([undefined, undefined]);
    const other = new MessageFrameReader(MAX, undefined);
    other.add(Buffer.concat([frame('first'), prefix(0, 500_000)]));
    expect(other.target()).toBeUndefined();
    expect(String(other.next()!.bytes)).toBe('first');
    expect(other.next()).toBeUndefined();
    // It only claims so much.
    expect(other.target()).toBeUndefined();
    other.add(Buffer.alloc(16_384));
    expect([other.next(), other.target()!.length]).toEqual([undefined, 500_000 - 16_384]);
  });

  it('gives a message that lies in one chunk as a view of it', () => {
    const chunk = frame('view');
    const [message] = readFrames(new MessageFrameReader(MAX, undefined), chunk);
    expect(message!.buffer).toBe(chunk.buffer);
  });

  it('joins a message of many chunks that is larger than its first memory', () => {
    const reader = new MessageFrameReader(100 << 20, undefined);
    const body = Buffer.alloc(20 << 20, 'abcdefg');
    const bytes = frameMessage(body);
    const messages: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 65_521)
      messages.push(...readFrames(reader, bytes.subarray(at, at + 65_521)));
    expect(messages).toHaveLength(1);
    expect(messages[0]!.equals(body)).toBe(true);
  });

  it('copies little at once when the message outgrows its memory', () => {
    const length = 256 << 20;
    const reader = new MessageFrameReader(length, undefined);
    let received = 10_000;
    expect(readFrames(reader, Buffer.concat([prefix(0, length), Buffer.alloc(received)]))).toEqual([]);
    for (let target = reader.target()!; received + target.length < length; target = reader.target()!) {
      received += target.length;
      reader.filled();
    }
    // So much was in the memory before the last, which has room for the rest.
    expect(received).toBeLessThanOrEqual(4 << 20);
  });

  it('takes memory as bytes come, and all at once for a megabyte whose first frame is here', () => {
    const sizes = (first: number) => {
      const taken: number[] = [];
      const reader = new MessageFrameReader(2 ** 31 - 1, undefined, true, {
        allocate: (size) => {
          taken.push(size);
          return Buffer.allocUnsafeSlow(size);
        },
        tensorsAt: () => 0,
        spare: () => undefined,
      });
      const message = Buffer.alloc((1 << 20) + 10_000, 'abcdefg');
      const given = [message.subarray(0, first), message.subarray(first)].flatMap((chunk, index) =>
        readFrames(reader, index === 0 ? Buffer.concat([prefix(0, message.length), chunk]) : chunk),
      );
      expect(given[0]!.equals(message)).toBe(true);
      return taken;
    };
    expect(sizes(1).map((size) => size <= 8192)).toEqual([true, false]);
    expect(sizes(16_379)).toHaveLength(1);
  });

  it('does not take the memory that a length only claims', () => {
    const before = process.memoryUsage().arrayBuffers;
    const readers = Array.from({ length: 10 }, () => {
      const reader = new MessageFrameReader(2 ** 31 - 1, undefined);
      readFrames(reader, prefix(0, 2 ** 31 - 1));
      readFrames(reader, Buffer.alloc(10));
      return reader;
    });
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(1 << 20);
    expect(readers.every((reader) => reader.failure === undefined)).toBe(true);
  });

  it('takes a message of exactly the limit and refuses the next larger one as soon as it sees its length', () => {
    const reader = new MessageFrameReader(5, undefined);
    expect(readFrames(reader, frame('12345'))).toHaveLength(1);
    expect(readFrames(reader, prefix(0, 6))).toEqual([]);
    expect(reader.failure).toEqual({ status: 8, message: 'Received message larger than max (6 vs. 5)' });
    expect(readFrames(reader, frame('x'))).toEqual([]);
  });

  it('refuses a compressed message without an encoding, as Triton does', () => {
    const reader = new MessageFrameReader(MAX, undefined);
    readFrames(reader, frame('x', 1));
    expect(reader.failure).toEqual({ status: 13, message: 'Unable to parse request' });
  });

  it('says which encoding it does not support', () => {
    const reader = new MessageFrameReader(MAX, 'gzip');
    readFrames(reader, frame('x', 1));
    expect(reader.failure?.status).toBe(12);
    expect(reader.failure?.message).toContain("'gzip'");
  });

  it('takes uncompressed messages of a call that could have compressed ones, and identity with the flag', () => {
    expect(readFrames(new MessageFrameReader(MAX, 'gzip'), frame('plain')).map(String)).toEqual(['plain']);
    expect(readFrames(new MessageFrameReader(MAX, 'identity'), frame('plain', 1)).map(String)).toEqual(['plain']);
  });

  it.each([2, 3, 128, 255])('refuses the flag %i', (flag) => {
    const reader = new MessageFrameReader(MAX, 'gzip');
    expect(readFrames(reader, frame('x', flag))).toEqual([]);
    expect(reader.failure?.status).toBe(13);
  });

  it('keeps the messages before the one that it refuses', () => {
    const reader = new MessageFrameReader(MAX, undefined);
    expect(readFrames(reader, Buffer.concat([frame('good'), frame('bad', 7), frame('late')])).map(String)).toEqual([
      'good',
    ]);
    expect(reader.failure).toBeDefined();
  });
});

describe('copyWholeMessage', () => {
  it('gives the message of a chunk that is exactly one frame', () => {
    expect(String(copyWholeMessage(frame('all'), MAX))).toBe('all');
    expect(copyWholeMessage(frame(''), MAX)?.length).toBe(0);
  });

  it('gives memory that nothing else writes to', () => {
    const chunk = frame('kept');
    const message = copyWholeMessage(chunk, MAX)!;
    chunk.fill(0);
    expect(String(message)).toBe('kept');
  });

  it.each([
    ['too short for a prefix', Buffer.alloc(4)],
    ['cut', frame('all').subarray(0, 7)],
    ['followed by more', Buffer.concat([frame('all'), Buffer.alloc(1)])],
    ['compressed', frame('all', 1)],
    ['too large', frame('x'.repeat(MAX + 1))],
  ])('leaves a chunk to the reader that is %s', (_, chunk) => {
    expect(copyWholeMessage(chunk, MAX)).toBeUndefined();
  });
});
