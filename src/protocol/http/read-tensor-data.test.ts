import { describe, expect, it } from 'vitest';

import type { Datatype } from '../../tensor/dtype.js';
import { parseJson } from '../json/json-parser.js';
import type { JsonArray } from '../json/json-value.js';
import { readTensorData, tensorDataReader } from './read-tensor-data.js';

const NONE = Buffer.alloc(0);

/** The elements, or what is thrown; alike in one go and in steps of any size. */
function read(datatype: Datatype, text: string, count: number): Uint8Array {
  const data = parseJson(Buffer.from(text)) as JsonArray;
  const wanted = { datatype, count, name: 'x' };
  const outcome = (run: () => Uint8Array): { readonly values?: Buffer; readonly error?: unknown } => {
    try {
      return { values: Buffer.from(run()) };
    } catch (error) {
      return { error };
    }
  };
  const whole = outcome(() => readTensorData(data, wanted));
  for (const step of text.length < 1000 ? [1, 2, 3, 7] : [1000]) {
    const inSteps = outcome(() => {
      const reader = tensorDataReader(data, wanted);
      while (!reader.advance(step));
      return reader.values;
    });
    expect(inSteps.error).toEqual(whole.error);
    expect(Buffer.compare(inSteps.values ?? NONE, whole.values ?? NONE)).toBe(0);
  }
  if (whole.values === undefined) throw whole.error;
  return whole.values;
}

const bytesOf = (array: ArrayBufferView) => Buffer.from(array.buffer, array.byteOffset, array.byteLength);
/** Whose words of Triton are these, whatever stands behind them. */
const beginsWith = (reason: string) => {
  const message = expect.toSatisfy(
    (text: string) => text === reason || text.startsWith(`${reason}: expected `),
  ) as string;
  return expect.objectContaining({ code: 'INVALID_ARG', message });
};
const WRONG_COUNT = "Unable to parse 'data': Shape does not match true shape of 'data' field";
const wrongType = (got: string) => `Unable to parse 'data': attempt to access JSON ${got}`;

describe('values', () => {
  it.each<[Datatype, string, ArrayBufferView]>([
    ['BOOL', '[true,false,true]', Uint8Array.of(1, 0, 1)],
    ['INT8', '[-128,127,-0]', Int8Array.of(-128, 127, 0)],
    ['UINT8', '[0,255]', Uint8Array.of(0, 255)],
    ['INT16', '[-32768,32767]', Int16Array.of(-32768, 32767)],
    ['UINT16', '[65535]', Uint16Array.of(65535)],
    ['INT32', '[-2147483648,2147483647]', Int32Array.of(-2147483648, 2147483647)],
    ['UINT32', '[4294967295]', Uint32Array.of(4294967295)],
    [
      'INT64',
      '[-9223372036854775808,9223372036854775807,-1,4294967296,-4294967297,9007199254740993]',
      BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n, -1n, 4294967296n, -4294967297n, 9007199254740993n),
    ],
    ['UINT64', '[18446744073709551615,0,9007199254740993]', BigUint64Array.of(2n ** 64n - 1n, 0n, 9007199254740993n)],
    ['FP32', '[0.1,-0.0,-0,1e2,3.5e38,16777217]', Float32Array.of(0.1, -0, 0, 100, Infinity, 16777216)],
    ['FP64', '[0.1,-0.0,-0,1e-7,1.7976931348623157e308]', Float64Array.of(0.1, -0, 0, 1e-7, 1.7976931348623157e308)],
    ['FP32', '[NaN,Infinity,-Infinity,Inf,-Inf]', Float32Array.of(NaN, Infinity, -Infinity, Infinity, -Infinity)],
    [
      'FP64',
      '[18446744073709551616,9007199254740993,123456789012345678901234567890]',
      Float64Array.of(2 ** 64, 9007199254740992, 1.2345678901234568e29),
    ],
  ])('%s %s', (datatype, text, expected) => {
    const count = text.split(',').length;
    expect(bytesOf(read(datatype, text, count))).toEqual(bytesOf(expected));
  });

  it.each(['[1,2,3,4]', '[[1,2],[3,4]]', '[[[1]],2,[[3],4]]', '[ 1,[ 2 ,[3,[4]]]\n]', '[[],[1,2,3,4],[[]]]'])(
    'of any nesting: %s',
    (text) => {
      expect(read('UINT8', text, 4)).toEqual(Buffer.of(1, 2, 3, 4));
    },
  );

  it('of BYTES get their lengths before them', () => {
    expect(read('BYTES', String.raw`["ab","",["é\u0000\n","\ud83d\ude00\u4e16\u00e9/\/"]]`, 4)).toEqual(
      Buffer.concat(
        ['ab', '', 'é\u0000\n', '😀世é//'].flatMap((text) => [
          Buffer.of(Buffer.byteLength(text), 0, 0, 0),
          Buffer.from(text),
        ]),
      ),
    );
  });

  it('of floating point are the nearest ones', () => {
    let seed = 7;
    const random = () => (seed = (seed * 48271) % 2147483647) / 2147483647;
    const texts: string[] = [];
    for (let i = 0; i < 10_000; i++) {
      const value = (random() - 0.3) * 10 ** Math.floor(random() * 80 - 40);
      texts.push(
        i % 3 === 0 ? String(Math.fround(value)) : i % 3 === 1 ? String(value) : value.toPrecision(1 + (i % 21)),
      );
    }
    // Around the borders between two floats, where rounding twice would show.
    for (let i = 0; i < 2000; i++) {
      const float = Math.fround(random() * 1000);
      const next = Math.fround(float * (1 + 2 ** -23));
      texts.push(((float + next) / 2).toPrecision(21), ((float + next) / 2).toPrecision(16));
    }
    const text = `[${texts.join(',')}]`;
    const numbers = texts.map(Number);
    expect(bytesOf(Float64Array.from(numbers)).equals(read('FP64', text, texts.length))).toBe(true);
    expect(bytesOf(Float32Array.from(numbers)).equals(read('FP32', text, texts.length))).toBe(true);
  });
});

describe('a reader', () => {
  it.each<[Datatype, string]>([
    ['FP32', '12.5,'],
    ['INT64', '-7,'],
    ['UINT8', '200,'],
    ['BOOL', 'true,'],
    ['BYTES', '"ab",'],
    ['BYTES', String.raw`"\u00e9\n",`],
  ])('of %s takes as many steps as there are bytes for them: %s', (datatype, element) => {
    const count = 10_000;
    const text = `[${element.repeat(count).slice(0, -1)}]`;
    const reader = tensorDataReader(parseJson(Buffer.from(text)) as JsonArray, { datatype, count, name: 'x' });
    let steps = 1;
    while (!reader.advance(1000)) steps++;
    expect(steps).toBeGreaterThan(text.length / 1000 / 1.02);
    expect(steps).toBeLessThanOrEqual(text.length / 1000 + 1);
  });

  it('goes over a long string in steps', () => {
    const text = `["${'x'.repeat(50_000)}${String.raw`\t`.repeat(25_000)}"]`;
    const reader = tensorDataReader(parseJson(Buffer.from(text)) as JsonArray, {
      datatype: 'BYTES',
      count: 1,
      name: '',
    });
    let steps = 1;
    while (!reader.advance(1000)) steps++;
    expect(steps).toBe(101);
    expect(Buffer.from(reader.values).subarray(4).toString()).toBe('x'.repeat(50_000) + '\t'.repeat(25_000));
  });
});

describe('errors', () => {
  it.each<[Datatype, string, number, string]>([
    ['FP32', '[1,2]', 3, WRONG_COUNT],
    ['FP32', '[1,2]', 1, WRONG_COUNT],
    ['FP32', '[]', 1, WRONG_COUNT],
    ['INT64', '[1]', 2, WRONG_COUNT],
    ['INT64', '[1,1]', 1, WRONG_COUNT],
    ['INT8', '[1]', 2, WRONG_COUNT],
    ['INT8', '[1,1]', 1, WRONG_COUNT],
    ['BOOL', '[true]', 2, WRONG_COUNT],
    ['BOOL', '[true,true]', 1, WRONG_COUNT],
    ['FP32', '[1]', 9e15, WRONG_COUNT],
    ['FP32', '["1"]', 1, wrongType('non-number as double')],
    ['FP32', '[true]', 1, wrongType('non-number as double')],
    ['FP64', '[1,{}]', 2, wrongType('non-number as double')],
    ['FP64', '[{"a":1}]', 1, wrongType('non-number as double')],
    ['FP64', '[null]', 1, wrongType('non-number as double')],
    ['BOOL', '[1]', 1, wrongType('non-boolean as boolean')],
    ['BOOL', '["true"]', 1, wrongType('non-boolean as boolean')],
    ['INT32', '[1.0]', 1, wrongType('non-signed-integer as signed-integer')],
    ['INT32', '[1e2]', 1, wrongType('non-signed-integer as signed-integer')],
    ['INT32', '[NaN]', 1, wrongType('non-signed-integer as signed-integer')],
    ['INT32', '[-Inf]', 1, wrongType('non-signed-integer as signed-integer')],
    ['INT32', '["1"]', 1, wrongType('non-signed-integer as signed-integer')],
    ['INT32', '[9223372036854775808]', 1, wrongType('non-signed-integer as signed-integer')],
    ['INT64', '[9223372036854775808]', 1, wrongType('non-signed-integer as signed-integer')],
    ['INT64', '[-9223372036854775809]', 1, wrongType('non-signed-integer as signed-integer')],
    ['UINT8', '[-1]', 1, wrongType('non-unsigned-integer as unsigned-integer')],
    ['UINT8', '[1.5]', 1, wrongType('non-unsigned-integer as unsigned-integer')],
    ['UINT8', '[-9223372036854775808]', 1, wrongType('non-unsigned-integer as unsigned-integer')],
    ['UINT64', '[-1]', 1, wrongType('non-unsigned-integer as unsigned-integer')],
    ['UINT64', '[18446744073709551616]', 1, wrongType('non-unsigned-integer as unsigned-integer')],
    ['UINT8', '[256]', 1, "Unable to parse 'data': UINT8 values must be in range [ 0, 255 ], got: 256"],
    ['INT8', '[-129]', 1, "Unable to parse 'data': INT8 values must be in range [ -128, 127 ], got: -129"],
    [
      'INT32',
      '[9007199254740993]',
      1,
      "Unable to parse 'data': INT32 values must be in range [ -2147483648, 2147483647 ], got: 9007199254740993",
    ],
    ['BYTES', '["a",1]', 2, 'Unable to parse JSON bytes array: attempt to access JSON non-string as string'],
    ['FP16', '[1]', 1, 'receiving FP16 data via JSON is not supported. Please use the binary data format for input x'],
    ['BF16', '[1]', 1, 'receiving BF16 data via JSON is not supported. Please use the binary data format for input x'],
  ])('%s %s for %d elements', (datatype, text, count, reason) => {
    expect(() => read(datatype, text, count)).toThrow(beginsWith(reason));
  });

  it.each<[Datatype, string, number, string]>([
    ['FP32', '[1,2]', 3, "3 elements for the shape of 'x', got 2"],
    ['FP32', '[[1,2] , [3]]', 1, "1 element for the shape of 'x', got 3"],
    ['FP32', '[]', 1, "1 element for the shape of 'x', got 0"],
    ['INT64', '[1,{}]', 1, "1 element for the shape of 'x', got more than 1"],
    ['BOOL', `[${'true,'.repeat(20_000)}true]`, 2, "2 elements for the shape of 'x', got more than 2"],
    ['FP32', '[1, true ]', 2, "FP32 for 'x', got true at index 1"],
    ['FP64', '[1,2,"é\\"]"]', 3, 'FP64 for \'x\', got "é\\"]" at index 2'],
    ['FP64', '[{"a":1}]', 1, 'FP64 for \'x\', got {"a":1}]… at index 0'],
    ['BOOL', `["${'x'.repeat(60)}"]`, 1, `BOOL for 'x', got "${'x'.repeat(39)}… at index 0`],
    ['INT32', '[1,2.5]', 2, "INT32 for 'x', got 2.5 at index 1"],
    ['UINT8', '[0,-1]', 2, "UINT8 for 'x', got -1 at index 1"],
    ['UINT64', '[18446744073709551616]', 1, "UINT64 for 'x', got 18446744073709551616 at index 0"],
    ['BYTES', '["a",null]', 2, "strings for 'x', got null"],
  ])('say behind the words of Triton what was expected, and what came: %s %j', (datatype, text, count, expected) => {
    expect(() => read(datatype, text, count)).toThrow(`: expected ${expected}`);
  });

  it('tell of the first mistake in the text', () => {
    expect(() => read('UINT8', '[1,"a",300]', 3)).toThrow(wrongType('non-unsigned-integer'));
    expect(() => read('UINT8', '[300,"a"]', 2)).toThrow('got: 300');
    expect(() => read('UINT8', '[1,"a"]', 1)).toThrow(WRONG_COUNT);
  });
});
