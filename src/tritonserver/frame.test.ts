import { describe, expect, it } from 'vitest';

import { BATCH, encodeFrame, type Frame, FrameReader, HeadReader, type OutgoingFrame, RESULTS } from './frame.js';

const bytesOf = (frame: OutgoingFrame): Buffer => Buffer.concat(encodeFrame(frame));

function framesIn(chunks: readonly Buffer[], most = 1e9): Frame[] {
  const frames: Frame[] = [];
  const reader = new FrameReader(most);
  for (const chunk of chunks)
    reader.push(chunk, (frame) => frames.push({ ...frame, tensors: Uint8Array.from(frame.tensors) }));
  return frames;
}

const tensor = (length: number, salt: number): Uint8Array =>
  Uint8Array.from({ length }, (_, i) => (i * 7 + salt) & 255);

describe('frames', () => {
  const FRAMES: readonly OutgoingFrame[] = [
    {
      kind: BATCH,
      id: 1,
      count: 2,
      head: [1, 2, 3],
      extras: { ids: ['ä', null] },
      tensors: [tensor(3, 1), tensor(8, 2)],
    },
    { kind: RESULTS, id: 2 ** 32 - 1, count: 0, head: [] },
    {
      kind: RESULTS,
      id: 3,
      count: 1,
      head: [2 ** 32 - 1, 0],
      tensors: [tensor(70_001, 3), tensor(0, 0), tensor(5, 4)],
    },
    { kind: BATCH, id: 4, count: 1, head: [9], tensors: [tensor(200_000, 5)] },
  ];

  it.each([1, 7, 32, 33, 4096, 65_536, 1e6])('come whole, however they are cut: %i bytes at once', (size) => {
    const all = Buffer.concat(FRAMES.map(bytesOf));
    const chunks = Array.from({ length: Math.ceil(all.length / size) }, (_, i) =>
      Buffer.from(all.subarray(i * size, (i + 1) * size)),
    );
    const frames = framesIn(chunks);
    expect(frames.map(({ kind, id, count, extras }) => ({ kind, id, count, extras }))).toEqual(
      FRAMES.map(({ kind, id, count, extras }) => ({ kind, id, count, extras })),
    );
    expect([...frames[0]!.head]).toEqual([1, 2, 3, 0]);
    expect([...frames[0]!.tensors.subarray(0, 3), ...frames[0]!.tensors.subarray(8)]).toEqual([
      ...tensor(3, 1),
      ...tensor(8, 2),
    ]);
    expect(Buffer.compare(frames[2]!.tensors.subarray(0, 70_001), tensor(70_001, 3))).toBe(0);
    expect(Buffer.compare(frames[2]!.tensors.subarray(70_008, 70_013), tensor(5, 4))).toBe(0);
    expect(Buffer.compare(frames[3]!.tensors, tensor(200_000, 5))).toBe(0);
  });

  it('are read to where they belong when they are large', () => {
    const bytes = bytesOf(FRAMES[3]!);
    const reader = new FrameReader(1e9);
    const frames: Frame[] = [];
    reader.push(bytes.subarray(0, 100), (frame) => frames.push(frame));
    const target = reader.target!;
    bytes.copy(target, 0, 100);
    reader.push(target, (frame) => frames.push(frame));
    expect(Buffer.compare(frames[0]!.tensors, tensor(200_000, 5))).toBe(0);
    expect(frames[0]!.memory).toBe(target.buffer);
    expect(reader.target).toBeUndefined();
  });

  it.each([
    [
      'is longer than allowed',
      bytesOf(FRAMES[3]!),
      'malformed frame of model.py: it has 200040 bytes, expected at most 1000',
    ],
    ['has parts that are not aligned', Buffer.alloc(32, 1), 'malformed frame of model.py: its parts are not aligned'],
    [
      'has extras that are not JSON',
      (() => {
        const bytes = bytesOf({ kind: 1, id: 0, count: 0, head: [], extras: {} });
        bytes.fill('x', 32);
        return bytes;
      })(),
      'malformed frame of model.py: its extras are not JSON',
    ],
  ])('are refused when one %s', (_, bytes, message) => {
    expect(() => framesIn([bytes], 1000)).toThrow(expect.objectContaining({ code: 'INVALID_ARG', message }));
  });
});

describe('the head of a frame', () => {
  it('has lengths beyond 32 bits', () => {
    expect(new HeadReader(Uint32Array.of(5, 2)).length()).toBe(5 + 2 * 2 ** 32);
  });

  it('is not read beyond its end', () => {
    const tooShort = expect.objectContaining({ message: 'malformed frame of model.py: its head is too short' });
    const reader = new HeadReader(Uint32Array.of(1));
    expect(() => reader.dimensions(2 ** 31)).toThrow(tooShort);
    reader.next();
    expect(() => reader.next()).toThrow(tooShort);
  });
});
