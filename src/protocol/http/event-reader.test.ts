import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';

import { EventReader } from './event-reader.js';

/** The data of the events in `text`, which comes in pieces of these lengths, over and over. */
function eventsOf(text: string, lengths: readonly number[] = [Infinity]): string[] {
  const reader = new EventReader();
  const bytes = Buffer.from(text);
  const events: string[] = [];
  for (let start = 0, i = 0; start < bytes.length; i++) {
    const end = Math.min(bytes.length, start + lengths[i % lengths.length]!);
    events.push(...reader.push(bytes.subarray(start, end)).map(String));
    start = end;
  }
  return events;
}

describe('EventReader', () => {
  it.each([
    ['an event', 'data: {"a":1}\n\n', ['{"a":1}']],
    ['an event behind a byte order mark, and none behind another', '\ufeffdata: x\n\n\ufeffdata: y\n\n', ['x']],
    ['an event without the space', 'data:x\n\n', ['x']],
    ['only the first space', 'data:  x\n\n', [' x']],
    ['lines that end with a carriage return', 'data: x\r\rdata: y\r\r', ['x', 'y']],
    ['lines that end with both', 'data: x\r\n\r\ndata: y\r\n\r\n', ['x', 'y']],
    ['lines of data that end with both', 'data: x\r\ndata: y\r\n\r\n', ['x\ny']],
    ['all ends of lines in turn', 'data: x\rdata: y\n\r\ndata: z\n\r', ['x\ny', 'z']],
    ['lines of data as one', 'data: x\ndata\ndata:\ndata: y\n\n', ['x\n\n\ny']],
    ['an empty event', 'data\n\n', ['']],
    ['nothing of names, ids, comments and other fields', ': hello\nevent: e\nid: 1\ndatabase: x\ndat: x\n\n', []],
    ['nothing of empty lines', '\n\r\n\r\n\n', []],
    ['nothing of an event that does not end', 'data: x\n', []],
  ])('gives %s, however it is cut', (_, text, expected) => {
    expect(eventsOf(text)).toEqual(expected);
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1 }), (lengths) => {
        expect(eventsOf(text, lengths)).toEqual(expected);
      }),
      { numRuns: 50 },
    );
  });

  it('says whether it is inside of an event', () => {
    const reader = new EventReader();
    expect(reader.isInside).toBe(false);
    reader.push(Buffer.from('da'));
    expect(reader.isInside).toBe(true);
    reader.push(Buffer.from('ta: x\n'));
    expect(reader.isInside).toBe(true);
    reader.push(Buffer.from('\n'));
    expect(reader.isInside).toBe(false);
  });

  it('holds what an event has of bytes, and nothing after it', () => {
    const reader = new EventReader();
    reader.push(Buffer.from(`data: ${'x'.repeat(10_000)}`));
    expect(reader.heldBytes).toBeGreaterThan(10_000);
    reader.push(Buffer.from(`${'x'.repeat(10_000)}\ndata: ${'y'.repeat(10_000)}`));
    expect(reader.heldBytes).toBeGreaterThan(30_000);
    expect(reader.heldBytes).toBeLessThan(31_000);
    reader.push(Buffer.from('\n\n'));
    expect(reader.heldBytes).toBe(0);
  });

  it('counts lines of data without a byte, and pieces of one byte, for they take memory', () => {
    const lines = new EventReader();
    lines.push(Buffer.from('data\n'.repeat(1000)));
    expect(lines.heldBytes).toBeGreaterThan(50_000);
    const pieces = new EventReader();
    for (let i = 0; i < 1000; i++) pieces.push(Buffer.from('x'));
    expect(pieces.heldBytes).toBeGreaterThan(50_000);
  });

  it('keeps no chunk for a few bytes of it', () => {
    const reader = new EventReader();
    const chunk = Buffer.from(`:${'-'.repeat(100_000)}\ndata: kept\n`);
    reader.push(chunk);
    chunk.fill(0x21);
    expect(reader.push(Buffer.from('\n')).map(String)).toEqual(['kept']);
  });

  it.each(['\r', '\n', '\r\n'])('searches a chunk of %j once for each kind of end', (ends) => {
    const chunk = Buffer.from(ends.repeat(1000));
    const search = vi.spyOn(chunk, 'indexOf');
    new EventReader().push(chunk);
    const searched = search.mock.calls.map(([, start], i) => {
      const found = search.mock.results[i]!.value as number;
      return (found < 0 ? chunk.length : found + 1) - Number(start);
    });
    expect(searched.reduce((sum, bytes) => sum + bytes, 0)).toBeLessThanOrEqual(2 * chunk.length);
  });
});
