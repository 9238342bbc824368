import { describe, expect, it } from 'vitest';

import { Http2FrameReader } from '../../bench/load/http2-frame-reader.js';
import { FLAG, FRAME, frame, opening, requestTemplate, settings } from '../../bench/load/http2-frames.js';

type Seen = readonly [type: number, flags: number, streamId: number, payload: string];

function collector(): { readonly seen: Seen[]; readonly reader: Http2FrameReader } {
  const seen: Seen[] = [];
  const reader = new Http2FrameReader({
    frame: (head, bytes, { start, end }) =>
      seen.push([head.type, head.flags, head.streamId, bytes.toString('latin1', start, end)]),
  });
  return { seen, reader };
}

describe('Http2FrameReader', () => {
  const frames = [
    frame(FRAME.SETTINGS, 0, 0, Buffer.alloc(0)),
    frame(FRAME.DATA, FLAG.END_STREAM, 3, Buffer.from('hello')),
    frame(FRAME.HEADERS, FLAG.END_HEADERS, 0x7fffffff, Buffer.from('x')),
  ];
  const bytes = Buffer.concat(frames);
  const expected: Seen[] = [
    [4, 0, 0, ''],
    [0, 1, 3, 'hello'],
    [1, 4, 0x7fffffff, 'x'],
  ];

  it('hands out every frame of a read', () => {
    const { seen, reader } = collector();
    reader.read(bytes, 0, bytes.length);
    expect(seen).toEqual(expected);
  });

  it('hands out the same frames wherever two reads cut them', () => {
    for (let first = 0; first <= bytes.length; first++) {
      for (let second = first; second <= bytes.length; second++) {
        const { seen, reader } = collector();
        reader.read(bytes, 0, first);
        reader.read(bytes, first, second);
        reader.read(bytes, second, bytes.length);
        expect(seen).toEqual(expected);
      }
    }
  });

  it('ignores the reserved bit of a stream id', () => {
    const { seen, reader } = collector();
    const reserved = frame(FRAME.PING, 0, 5, Buffer.alloc(0));
    reserved[5]! |= 0x80;
    reader.read(reserved, 0, reserved.length);
    expect(seen).toEqual([[6, 0, 5, '']]);
  });

  it('takes the longest frame, cut anywhere, and refuses one a byte longer', () => {
    const { seen, reader } = collector();
    const longest = frame(FRAME.DATA, 0, 1, Buffer.alloc(16_384, 'a'));
    reader.read(longest, 0, 100);
    reader.read(longest, 100, longest.length);
    expect(seen[0]?.[3].length).toBe(16_384);
    const longer = frame(FRAME.DATA, 0, 1, Buffer.alloc(16_385));
    expect(() => reader.read(longer, 0, 9)).toThrow('a frame of 16385 bytes');
  });
});

describe('the frames of a request', () => {
  const call = { path: '/s/M', authority: 'h:1', message: Buffer.from('abc') };

  it('carry the message behind its gRPC prefix and end the stream', () => {
    const { seen, reader } = collector();
    const { bytes, dataAt } = requestTemplate(call, true);
    reader.read(bytes, 0, bytes.length);
    expect(seen.map(([type, flags]) => [type, flags])).toEqual([
      [FRAME.HEADERS, FLAG.END_HEADERS],
      [FRAME.DATA, FLAG.END_STREAM],
    ]);
    expect(seen[1]?.[3]).toBe('\0\0\0\0\x03abc');
    expect(bytes[dataAt + 3]).toBe(FRAME.DATA);
  });

  it('spell the header fields once and refer to them afterwards', () => {
    const first = requestTemplate(call, true).bytes.toString('latin1');
    const later = requestTemplate(call, false);
    expect(first).toContain('/s/M');
    expect(later.bytes.toString('latin1')).not.toContain('/s/M');
    // :method POST, :scheme http, then the six entries of the table, the oldest first.
    expect([...later.bytes.subarray(9, later.dataAt)]).toEqual([0x83, 0x86, 0xc3, 0xc2, 0xc1, 0xc0, 0xbf, 0xbe]);
  });

  it('refuses a message that does not fit one frame', () => {
    expect(() => requestTemplate({ ...call, message: Buffer.alloc(16_380) }, true)).toThrow('up to 16379 bytes');
  });

  it('follow an opening that begins with the preface', () => {
    expect(opening().toString('latin1').startsWith('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n')).toBe(true);
    expect([...settings([[4, 0x10000]])]).toEqual([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, 0, 1, 0, 0]);
  });
});
