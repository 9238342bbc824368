import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { decodeBfloat16, decodeFloat16, encodeBfloat16, encodeFloat16, toBfloat16, toBinary16 } from './float16.js';

const ALL_PATTERNS = Uint16Array.from({ length: 65_536 }, (_, bits) => bits);

/** One format: what its bits stand for, written from the definition, and the module's two directions. */
interface Format {
  readonly name: string;
  readonly exponentBits: number;
  readonly fractionBits: number;
  readonly decode: (bits: Uint16Array) => Float32Array;
  readonly encode: (values: ArrayLike<number>) => Uint16Array;
  readonly encodeOne: (value: number) => number;
}

const FORMATS: Format[] = [
  {
    name: 'float16',
    exponentBits: 5,
    fractionBits: 10,
    decode: decodeFloat16,
    encode: encodeFloat16,
    encodeOne: toBinary16,
  },
  {
    name: 'bfloat16',
    exponentBits: 8,
    fractionBits: 7,
    decode: decodeBfloat16,
    encode: encodeBfloat16,
    encodeOne: toBfloat16,
  },
];

/** IEEE 754's definition of the value of a bit pattern. */
function valueOf(bits: number, { exponentBits, fractionBits }: Format): number {
  const bias = 2 ** (exponentBits - 1) - 1;
  const sign = bits >> 15 ? -1 : 1;
  const exponent = (bits >> fractionBits) & (2 ** exponentBits - 1);
  const fraction = bits & (2 ** fractionBits - 1);
  if (exponent === 2 ** exponentBits - 1) return fraction === 0 ? sign * Infinity : NaN;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - fractionBits);
  return sign * (1 + fraction / 2 ** fractionBits) * 2 ** (exponent - bias);
}

describe.each(FORMATS)('$name', (format) => {
  const { decode, encode, encodeOne, fractionBits, exponentBits } = format;
  const infinity = (2 ** exponentBits - 1) << fractionBits;
  const largest = valueOf(infinity - 1, format);
  const step = 2 ** (2 - 2 ** (exponentBits - 1) - fractionBits);

  it('decodes each of the 65 536 patterns to the value that it stands for', () => {
    const decoded = decode(ALL_PATTERNS);
    const wrong = ALL_PATTERNS.filter((bits) => !Object.is(decoded[bits], valueOf(bits, format)));
    expect([...wrong]).toEqual([]);
  });

  it('encodes each decoded pattern to itself, and NaNs to NaNs', () => {
    const encoded = encode(decode(ALL_PATTERNS));
    const wrong = ALL_PATTERNS.filter((bits) =>
      Number.isNaN(valueOf(bits, format)) ? !Number.isNaN(valueOf(encoded[bits]!, format)) : encoded[bits] !== bits,
    );
    expect([...wrong]).toEqual([]);
  });

  it('rounds the middle of each two neighbours to the even one, and what lies beside it to the nearer one', () => {
    const wrong: number[] = [];
    for (let bits = 0; bits < infinity; bits++) {
      // Above the largest value, the power of two that would come next.
      const above = bits + 1 === infinity ? largest + (largest - valueOf(bits - 1, format)) : valueOf(bits + 1, format);
      const middle = (valueOf(bits, format) + above) / 2;
      const even = bits % 2 === 0 ? bits : bits + 1;
      // As near to the middle as a double can be: rounded to float32 first, both would be taken for the middle.
      const near = middle * 2 ** -52;
      const expected = [even, bits, bits + 1];
      const got = [encodeOne(middle), encodeOne(middle - near), encodeOne(middle + near)];
      const mirrored = [encodeOne(-middle), encodeOne(-middle + near), encodeOne(-middle - near)];
      if (expected.some((want, i) => got[i] !== want || mirrored[i] !== want + 0x8000)) wrong.push(bits);
    }
    expect(wrong).toEqual([]);
  });

  it('keeps the sign of zero', () => {
    expect([...encode([0, -0])]).toEqual([0, 0x8000]);
    expect(Object.is(decode(Uint16Array.of(0x8000))[0], -0)).toBe(true);
  });

  it('gives zero below half of the smallest subnormal, and the smallest above it', () => {
    expect([...encode([step / 2, step * 0.5000001, step, -step / 2, Number.MIN_VALUE])]).toEqual([0, 1, 1, 0x8000, 0]);
  });

  it('gives infinity for what rounds beyond the largest value', () => {
    const half = (largest - valueOf(infinity - 2, format)) / 2;
    expect(encodeOne(largest + half * 0.999999)).toBe(infinity - 1);
    expect([...encode([largest + half, 4 * largest, Number.MAX_VALUE, Infinity])]).toEqual(Array(4).fill(infinity));
    expect([...encode([-largest - half, -Infinity])]).toEqual([infinity | 0x8000, infinity | 0x8000]);
  });

  it('encodes NaN as a quiet NaN', () => {
    const bits = encode([NaN])[0]!;
    expect(bits & infinity).toBe(infinity);
    expect(bits & (1 << (fractionBits - 1))).not.toBe(0);
  });

  it('always gives one of the nearest values', () => {
    const anyValue = fc.double({ min: -largest, max: largest, noNaN: true });
    const isNearest = (value: number) => {
      const bits = encodeOne(value);
      const error = Math.abs(valueOf(bits, format) - value);
      const others = [bits - 1, bits + 1].map((neighbour) => valueOf(neighbour & 0xffff, format));
      return others.every((other) => !Number.isFinite(other) || error <= Math.abs(other - value));
    };
    expect(fc.check(fc.property(anyValue, isNearest)).counterexample).toBeNull();
  });

  it('takes any array of numbers and gives as many bits', () => {
    expect([...encode(new Float64Array(3))]).toEqual([0, 0, 0]);
    expect(encode([])).toHaveLength(0);
    expect(decode(new Uint16Array(0))).toHaveLength(0);
  });
});

describe('known values', () => {
  it.each([
    [1, 0x3c00, 0x3f80],
    [-2, 0xc000, 0xc000],
    [65_504, 0x7bff, 0x4780],
    [0.333251953125, 0x3555, 0x3eab],
    [2 ** -14, 0x0400, 0x3880],
    [2 ** -24, 0x0001, 0x3380],
  ])('%d is %i in float16 and %i in bfloat16', (value, float16, bfloat16) => {
    expect(toBinary16(value)).toBe(float16);
    expect(toBfloat16(value)).toBe(bfloat16);
  });

  it('keeps what fits of the payload of a NaN', () => {
    const nan = new Float32Array(Uint32Array.of(0x7fd5_0000).buffer)[0]!;
    expect(toBinary16(nan) & 0x7e00).toBe(0x7e00);
    expect(toBfloat16(nan) & 0x7fc0).toBe(0x7fc0);
  });
});
