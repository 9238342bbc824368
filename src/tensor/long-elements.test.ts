// Elements of BYTES that are read and written in pieces: the pieces make what one call makes, wherever they end.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { ElementReader, ElementWriter, elementsByteLength, encodeRaw, textByteLength } from './raw.js';

const PIECE = 256 * 1024;

/** Characters of one to four bytes, and halves of characters. */
const parts = fc.constantFrom('a', 'é', '€', '🙂', '\ud83d', '\ude42', 'ж\0', 'ascii text');
const text = fc
  .record({ unit: fc.array(parts, { minLength: 1, maxLength: 8 }), extra: fc.array(parts, { maxLength: 3 }), size: fc.integer({ min: 0, max: 3 * PIECE }) })
  .map(({ unit, extra, size }) => {
    const part = unit.join('');
    return extra.join('') + part.repeat(Math.ceil(size / part.length));
  }); // prettier-ignore

function read(bytes: Uint8Array): { texts: string[]; steps: number; most: number } {
  const reader = new ElementReader('string', bytes);
  let [steps, most] = [1, 0];
  for (let offset = 0; !reader.advance(256); steps++) {
    most = Math.max(most, reader.offset - offset);
    ({ offset } = reader);
  }
  return { texts: reader.elements, steps, most };
}

function write(elements: readonly string[] | readonly Uint8Array[]): { bytes: Buffer; most: number } {
  const bytes = Buffer.alloc(elementsByteLength(elements, 0, elements.length) + 3);
  const writer = new ElementWriter(elements, bytes, 3);
  let most = 0;
  for (let offset = 3; !writer.advance(256);) {
    most = Math.max(most, writer.offset - offset);
    ({ offset } = writer);
  }
  expect(writer.offset).toBe(bytes.byteLength);
  return { bytes: bytes.subarray(3), most };
}

function framed(...elements: readonly Uint8Array[]): Buffer {
  return Buffer.concat(elements.flatMap((element) => [Buffer.from(Uint32Array.of(element.length).buffer), element]));
}

describe('long elements', () => {
  it('of text are written as Buffer writes them, a piece at a time', () => {
    const property = fc.property(fc.array(text, { maxLength: 3 }), (texts) => {
      const { bytes, most } = write(texts);
      expect(bytes.equals(framed(...texts.map((each) => Buffer.from(each, 'utf8'))))).toBe(true);
      // Three bytes for each unit, and an element that is just not long.
      expect(most).toBeLessThanOrEqual(6 * PIECE + 8);
      expect(encodeRaw('string', texts).equals(bytes)).toBe(true);
      for (const each of texts) {
        const lengths = [...textByteLength(each)];
        expect(lengths.reduce((sum, length) => sum + length, 0)).toBe(Buffer.byteLength(each));
        expect(lengths.length - Math.ceil(each.length / PIECE)).toBeOneOf([0, 1]);
      }
    }); // prettier-ignore
    fc.assert(property, { numRuns: 60 });
  });

  it('of text are read as Buffer reads them, valid or not, a piece at a time', () => {
    const bytes = fc.oneof(
      text.map((each) => Buffer.from(each, 'utf8')),
      fc
        .record({ unit: fc.uint8Array({ minLength: 1, maxLength: 9 }), size: fc.integer({ min: 0, max: 3 * PIECE }) })
        .map(({ unit, size }) => Buffer.alloc(size, unit)),
    );
    const property = fc.property(fc.array(bytes, { maxLength: 3 }), (elements) => {
      const { texts, most } = read(framed(...elements));
      expect(texts.map((each, index) => each === elements[index]!.toString('utf8'))).toEqual(elements.map(() => true));
      expect(most).toBeLessThanOrEqual(2 * PIECE + 8);
    });
    fc.assert(property, { numRuns: 100 });
  });

  it('of bytes are written a piece at a time', () => {
    const elements = [Uint8Array.of(1, 2), new Uint8Array(5 * PIECE + 1).fill(7), new Uint8Array(0)];
    const { bytes, most } = write(elements);
    expect(bytes.equals(framed(...elements))).toBe(true);
    expect(most).toBeLessThanOrEqual(PIECE + 16);
  });

  it('are not the only ones: many that are not long take several steps too', () => {
    const texts = Array.from({ length: 40 }, (_, index) => 'é'.repeat(60_000) + index);
    const { texts: got, steps, most } = read(write(texts).bytes);
    expect(got).toEqual(texts);
    expect(steps).toBeGreaterThan(10);
    expect(most).toBeLessThan(2 * PIECE);
  });
});

describe('ElementReader', () => {
  it.each([0, 5, 150_000, 150_001, 200_000])(
    'makes the same list when it is told of %i elements beforehand',
    (count) => {
      const elements = Array.from({ length: 150_001 }, (_, index) => String(index % 1000));
      const reader = new ElementReader('string', encodeRaw('string', elements), count);
      while (!reader.advance(256));
      expect(reader.count).toBe(elements.length);
      expect(reader.elements).toStrictEqual(elements);
    },
  );
});
