import { describe, expect, it } from 'vitest';

import { JsonWriter } from './json-writer.js';

const write = (fill: (writer: JsonWriter) => void) => {
  const writer = new JsonWriter();
  fill(writer);
  return writer.take().toString();
};

describe('doubles', () => {
  it.each<[number, string]>([
    [0, '0.0'],
    [-0, '-0.0'],
    [1, '1.0'],
    [-2, '-2.0'],
    [2.5, '2.5'],
    [0.25, '0.25'],
    [-0.125, '-0.125'],
    [0.001, '0.001'],
    [0.1, '0.1'],
    [0.10000000149011612, '0.10000000149011612'],
    [1234567.891, '1234567.891'],
    [4294967295, '4294967295.0'],
    [4294967296, '4294967296.0'],
    [999999986991104, '999999986991104.0'],
    [1e15, '1000000000000000.0'],
    [1e20, '100000000000000000000.0'],
    [1e21, '1e21'],
    [1e30, '1e30'],
    [1.0000000150474662e30, '1.0000000150474662e30'],
    [0.000001, '0.000001'],
    [1e-7, '1e-7'],
    [5e-324, '5e-324'],
    [-1.7976931348623157e308, '-1.7976931348623157e308'],
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [-Infinity, '-Infinity'],
  ])('%d is %s', (value, text) => {
    expect(write((writer) => writer.double(value))).toBe(text);
  });

  it('read back as they were, in the shortest form', () => {
    let seed = 1;
    const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    for (let i = 0; i < 5_000; i++) {
      const value = (random() - 0.5) * 10 ** Math.floor(random() * 40 - 20);
      const rounded = i % 2 === 0 ? value : Number(value.toPrecision(1 + (i % 6)));
      const text = write((writer) => writer.double(rounded));
      expect(Number(text)).toBe(rounded);
      expect(text.replace(/\.0$/, '')).toBe(String(rounded).replace('e+', 'e'));
    }
  });

  it('in lists have commas between them', () => {
    expect(write((writer) => writer.doubles(Float32Array.of(0.5, -1, NaN)))).toBe('0.5,-1.0,NaN');
    expect(write((writer) => writer.doubles(Float64Array.of()))).toBe('');
  });
});

describe('integers', () => {
  it('of 8 to 32 bits', () => {
    expect(write((writer) => writer.integers(Int8Array.of(-128, 0, 127)))).toBe('-128,0,127');
    expect(write((writer) => writer.integers(Uint32Array.of(4294967295, 9, 10, 99, 100)))).toBe(
      '4294967295,9,10,99,100',
    );
    expect(write((writer) => writer.integers(Int32Array.of(-2147483648)))).toBe('-2147483648');
  });

  it('of 64 bits are exact', () => {
    expect(write((writer) => writer.bigIntegers(BigInt64Array.of(-(2n ** 63n), 2n ** 53n + 1n)))).toBe(
      '-9223372036854775808,9007199254740993',
    );
    expect(write((writer) => writer.integer(18446744073709551615n))).toBe('18446744073709551615');
    expect(write((writer) => writer.integer(7).raw(',').integer(-7).raw(',').integer(700))).toBe('7,-7,700');
  });
});

describe('strings', () => {
  it.each<[string, string]>([
    ['', '""'],
    ['plain', '"plain"'],
    ['"\\/', String.raw`"\"\\/"`],
    ['\b\f\n\r\t', String.raw`"\b\f\n\r\t"`],
    ['\u0000\u001f', String.raw`"\u0000\u001F"`],
    ['\\u001f', String.raw`"\\u001f"`],
    ['\u007f</script>&', '"\u007f</script>&"'],
    ['é 世 😀 \u2028', '"é 世 😀 \u2028"'],
  ])('%j', (value, text) => {
    expect(write((writer) => writer.string(value))).toBe(text);
  });
});

describe('the buffer', () => {
  it('grows with the text and starts anew after each', () => {
    const writer = new JsonWriter();
    const long = 'x'.repeat(3_000_000);
    const first = writer.string(long).take();
    const second = writer.boolean(true).raw(',').boolean(false).take();
    expect(first.toString()).toBe(`"${long}"`);
    expect(second.toString()).toBe('true,false');
    const many = new Float64Array(300_000).fill(0.1);
    expect(writer.doubles(many).take().length).toBe(many.length * 4 - 1);
  });

  it('is handed out as memory of its own', () => {
    const writer = new JsonWriter();
    const first = writer.raw('first').take();
    writer.raw('other').take();
    expect(first.toString()).toBe('first');
  });

  it('forgets what is discarded', () => {
    const writer = new JsonWriter();
    writer.raw('half an answer').discard();
    expect(writer.raw('{}').take().toString()).toBe('{}');
  });
});
