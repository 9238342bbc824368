import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FrameReader, PAYLOAD, type FrameSink, type Payload } from './frame-reader.js';
import type { FrameHead } from './frame.js';
import { encodeFrame, type RawFrame } from '../../test/support/raw-http2.js';

interface Seen {
  readonly type: number;
  readonly flags: number;
  readonly streamId: number;
  readonly length: number;
  payload: string;
}

/** Wants frames of type 0 in pieces, of type 1 whole, and no others. */
class Recorder implements FrameSink {
  readonly seen: Seen[] = [];
  pieces = 0;
  readonly reader = new FrameReader(this);

  frameBegins({ type, flags, streamId, length }: FrameHead): Payload {
    this.seen.push({ type, flags, streamId, length, payload: '' });
    return type === 0 ? PAYLOAD.PIECES : type === 1 ? PAYLOAD.WHOLE : PAYLOAD.SKIPPED;
  }

  framePayload(bytes: Buffer, start: number, end: number): void {
    const seen = this.seen.at(-1)!;
    if (seen.payload !== '' || end - start !== seen.length) throw new Error('not the whole payload');
    seen.payload = bytes.toString('hex', start, end);
  }

  framePiece(bytes: Buffer, start: number, end: number): void {
    const seen = this.seen.at(-1)!;
    seen.payload += bytes.toString('hex', start, end);
    this.pieces++;
    if (this.reader.left !== seen.length - seen.payload.length / 2) throw new Error('another length is left');
  }
}

const FRAMES: readonly RawFrame[] = [
  { type: 0, flags: 1, stream: 3, payload: Buffer.from('abcdef') },
  { type: 1, flags: 4, stream: 0x7fffffff, payload: Buffer.from('0123456789') },
  { type: 7, payload: Buffer.from('skipped') },
  { type: 0, stream: 1 },
  { type: 1, stream: 5 },
  { type: 200, flags: 255, stream: 1 },
  { type: 1, stream: 7, payload: Buffer.from('z') },
];
const BYTES = Buffer.concat(FRAMES.map((frame) => encodeFrame(frame)));
const EXPECTED = FRAMES.map(({ type, flags = 0, stream = 0, payload = Buffer.alloc(0) }) => ({
  type,
  flags,
  streamId: stream,
  length: payload.length,
  payload: type > 1 ? '' : payload.toString('hex'),
}));

describe('FrameReader', () => {
  it('reads frames that come in one piece', () => {
    const recorder = new Recorder();
    recorder.reader.read(BYTES, 0, BYTES.length);
    expect(recorder.seen).toEqual(EXPECTED);
  });

  it('reads frames that come byte by byte', () => {
    const recorder = new Recorder();
    for (let at = 0; at < BYTES.length; at++) recorder.reader.read(BYTES, at, at + 1);
    expect(recorder.seen).toEqual(EXPECTED);
  });

  it('reads the same frames however they are cut', () => {
    const cuts = fc.array(fc.nat({ max: BYTES.length }), { maxLength: 8 });
    fc.assert(
      fc.property(cuts, (places) => {
        const recorder = new Recorder();
        const edges = [0, ...places.toSorted((a, b) => a - b), BYTES.length];
        for (let i = 1; i < edges.length; i++) {
          // Memory that is overwritten afterwards, as a socket's is.
          const memory = Buffer.from(BYTES.subarray(edges[i - 1]!, edges[i]!));
          recorder.reader.read(memory, 0, memory.length);
          memory.fill(0xee);
        }
        expect(recorder.seen).toEqual(EXPECTED);
      }),
      { seed: 9113 },
    );
  });

  it('tells of a frame as soon as its head is there, and of an empty one at once', () => {
    const recorder = new Recorder();
    const head = encodeFrame({ type: 0, stream: 9, length: 100 });
    recorder.reader.read(head, 0, 9);
    expect(recorder.seen).toHaveLength(1);
    expect(recorder.pieces).toBe(0);
    recorder.reader.read(Buffer.alloc(100), 0, 100);
    recorder.reader.read(encodeFrame({ type: 0, stream: 9 }), 0, 9);
    expect(recorder.pieces).toBe(2);
  });

  it('ignores the reserved bit of a stream id', () => {
    const recorder = new Recorder();
    recorder.reader.read(encodeFrame({ type: 1, stream: 0xffffffff }), 0, 9);
    expect(recorder.seen[0]?.streamId).toBe(0x7fffffff);
  });

  it('reads nothing more when it is stopped, even in the middle of a read', () => {
    const recorder = new Recorder();
    const begins = recorder.frameBegins.bind(recorder);
    recorder.frameBegins = (head) => {
      if (recorder.seen.length === 1) recorder.reader.stop();
      return begins(head);
    };
    recorder.reader.read(BYTES, 0, BYTES.length);
    recorder.reader.read(BYTES, 0, BYTES.length);
    expect(recorder.seen.map(({ payload }) => payload)).toEqual([EXPECTED[0]?.payload, '']);
  });
});
