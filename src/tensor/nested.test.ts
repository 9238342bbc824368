import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import type { DataOf, Dtype } from './dtype.js';
import { convertElements, flattenNested, nest, type Nested } from './nested.js';
import { Tensor } from './tensor.js';

function refusal(message: unknown) {
  return expect.objectContaining({
    code: 'INVALID_ARG',
    message,
  });
}

describe('flattenNested', () => {
  it.each<[string, Dtype, Nested, unknown, number[]]>([
    ['a value', 'float32', 5, Float32Array.of(5), []],
    ['a list', 'int32', [1, 2, 3], Int32Array.of(1, 2, 3), [3]],
    [
      'lists of lists',
      'int8',
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
      Int8Array.of(1, 2, 3, 4, 5, 6),
      [3, 2],
    ],
    [
      'three levels',
      'uint8',
      [
        [[1], [2]],
        [[3], [4]],
      ],
      Uint8Array.of(1, 2, 3, 4),
      [2, 2, 1],
    ],
    ['nothing', 'float64', [], new Float64Array(0), [0]],
    ['lists of nothing', 'float64', [[], []], new Float64Array(0), [2, 0]],
    ['a typed array', 'float64', Float32Array.of(1, 2), Float64Array.of(1, 2), [2]],
    [
      'a list of typed arrays',
      'int64',
      [Int32Array.of(1, 2), Int32Array.of(3, 4)],
      BigInt64Array.of(1n, 2n, 3n, 4n),
      [2, 2],
    ],
    ['bytes as one element', 'bytes', Uint8Array.of(1, 2), [Uint8Array.of(1, 2)], []],
    ['bytes in lists', 'bytes', [[Uint8Array.of(1)], [Uint8Array.of(2)]], [Uint8Array.of(1), Uint8Array.of(2)], [2, 1]],
    ['text for bytes', 'bytes', ['aü'], [Uint8Array.of(0x61, 0xc3, 0xbc)], [1]],
    ['strings', 'string', [['a', 'b']], ['a', 'b'], [1, 2]],
  ])('takes %s', (_, dtype, values, data, shape) => {
    expect(flattenNested(dtype, values)).toEqual({ data, shape });
  });

  it.each<[string, Nested, string]>([
    ['a shorter list', [[1, 2], [3]], '[2,2]'],
    ['a longer list', [[1], [2, 3]], '[2,1]'],
    ['a value among lists', [[1], 2], '[2,1]'],
    ['a list among values', [1, [2]], '[2]'],
    ['a list where there was nothing', [[], [1]], '[2,0]'],
  ])('refuses %s as ragged', (_, values, shape) => {
    expect(() => flattenNested('float32', values)).toThrow(
      refusal(`nested arrays must be rectangular, expected shape ${shape} throughout`),
    );
  });

  it('refuses lists that hold themselves', () => {
    const endless: Nested[] = [];
    endless.push(endless);
    expect(() => flattenNested('float32', endless)).toThrow(refusal('nested arrays are nested more than 100 deep'));
  });

  it('names the element that does not fit', () => {
    expect(() =>
      flattenNested('int8', [
        [1, 2],
        [3, 300],
      ]),
    ).toThrow(refusal('element 3 does not fit int8: expected an integer from -128 to 127, got 300'));
    expect(() => flattenNested('string', [['a', Buffer.from('b')]])).toThrow(
      refusal('element 1 does not fit string: expected a string, got Uint8Array'),
    );
  });
});

describe('convertElements', () => {
  it.each<[Dtype, unknown[], DataOf[Dtype]]>([
    ['bool', [true, false, 1, 0, 1n, 0n, -0], Uint8Array.of(1, 0, 1, 0, 1, 0, 0)],
    ['uint8', [0, 255, 7n, true], Uint8Array.of(0, 255, 7, 1)],
    ['uint16', [0, 65_535, 7n], Uint16Array.of(0, 65_535, 7)],
    ['uint32', [0, 4_294_967_295, 7n], Uint32Array.of(0, 4_294_967_295, 7)],
    ['uint64', [0, 2 ** 53, 2n ** 64n - 1n, true], BigUint64Array.of(0n, 2n ** 53n, 2n ** 64n - 1n, 1n)],
    ['int8', [-128, 127, -1n], Int8Array.of(-128, 127, -1)],
    ['int16', [-32_768, 32_767, -1n, false], Int16Array.of(-32_768, 32_767, -1, 0)],
    ['int32', [-(2 ** 31), 2 ** 31 - 1, -1n], Int32Array.of(-(2 ** 31), 2 ** 31 - 1, -1)],
    ['int64', [-(2 ** 63), 2n ** 63n - 1n, -1], BigInt64Array.of(-(2n ** 63n), 2n ** 63n - 1n, -1n)],
    ['float32', [0.1, 1n, true, NaN, -Infinity, -0], Float32Array.of(0.1, 1, 1, NaN, -Infinity, -0)],
    [
      'float64',
      [0.1, 1n, false, NaN, Infinity, Number.MAX_VALUE],
      Float64Array.of(0.1, 1, 0, NaN, Infinity, Number.MAX_VALUE),
    ],
    ['float16', [1, 65_519.9, NaN, Infinity], Uint16Array.of(0x3c00, 0x7bff, 0x7e00, 0x7c00)],
    ['bfloat16', [1, 1.00390625, -Infinity], Uint16Array.of(0x3f80, 0x3f80, 0xff80)],
    ['bytes', ['a', Uint8Array.of(0)], [Uint8Array.of(0x61), Uint8Array.of(0)]],
    ['string', ['', 'ü\0'], ['', 'ü\0']],
  ])('gives %s from whatever fits', (dtype, elements, data) => {
    const converted = convertElements(
      dtype,
      elements.map((element) => element),
    );
    expect(converted).toEqual(data);
    expect(converted.constructor).toBe(data.constructor);
  });

  it.each<[Dtype, unknown, string, string]>([
    ['int8', 300, 'an integer from -128 to 127', '300'],
    ['int8', -129n, 'an integer from -128 to 127', '-129'],
    ['uint8', -1, 'an integer from 0 to 255', '-1'],
    ['uint16', 65_536, 'an integer from 0 to 65535', '65536'],
    ['uint32', 2 ** 32, 'an integer from 0 to 4294967295', '4294967296'],
    ['int16', 32_768, 'an integer from -32768 to 32767', '32768'],
    ['int32', 2.7, 'an integer from -2147483648 to 2147483647', '2.7'],
    ['int32', NaN, 'an integer from -2147483648 to 2147483647', 'NaN'],
    ['int32', Infinity, 'an integer from -2147483648 to 2147483647', 'Infinity'],
    ['int32', '1', 'an integer from -2147483648 to 2147483647', '"1"'],
    ['int64', 2 ** 63, 'an integer from -9223372036854775808 to 9223372036854775807', '9223372036854776000'],
    ['int64', 0.5, 'an integer from -9223372036854775808 to 9223372036854775807', '0.5'],
    ['uint64', -1n, 'an integer from 0 to 18446744073709551615', '-1'],
    ['uint64', NaN, 'an integer from 0 to 18446744073709551615', 'NaN'],
    ['bool', 2, 'true, false, 0 or 1', '2'],
    ['bool', 'true', 'true, false, 0 or 1', '"true"'],
    ['float32', '1', 'a number', '"1"'],
    ['float32', null, 'a number', 'null'],
    ['float32', undefined, 'a number', 'undefined'],
    ['float64', Symbol('x'), 'a number', 'Symbol(x)'],
    ['float64', Object.create(null), 'a number', 'Object'],
    ['float64', new Map(), 'a number', 'Map'],
    [
      'float32',
      new Tensor('float32', Float32Array.of(1)),
      'a number',
      'a Tensor; Tensor.stack joins the tensors of a list',
    ],
    ['float64', () => 1, 'a number', 'Function'],
    ['float32', 1e39, 'a number of magnitude below 3.4028235677973366e+38', '1e+39'],
    ['float16', -65_520, 'a number of magnitude below 65520', '-65520'],
    ['bfloat16', 3.4e38, `a number of magnitude below ${2 ** 128 * (1 - 2 ** -9)}`, '3.4e+38'],
    ['bytes', 1, 'a Uint8Array or a string', '1'],
    ['bytes', Float32Array.of(1), 'a Uint8Array or a string', 'Float32Array'],
    ['string', Uint8Array.of(1), 'a string', 'Uint8Array'],
    ['string', 7, 'a string', '7'],
    ['int8', 'x'.repeat(50), 'an integer from -128 to 127', `"${'x'.repeat(40)}…"`],
  ])('refuses for %s what is %o', (dtype, element, expected, got) => {
    expect(() => convertElements(dtype, [dtype === 'bytes' || dtype === 'string' ? '' : 1, element])).toThrow(
      refusal(`element 1 does not fit ${dtype}: expected ${expected}, got ${got}`),
    );
  });

  it('rounds to float32 as storing it does, up to the last value that does not overflow', () => {
    const last = 2 ** 128 * (1 - 2 ** -25) - 2 ** 75;
    expect([...convertElements('float32', [last])]).toEqual([Math.fround(last)]);
    expect(Math.fround(last)).toBeLessThan(Infinity);
    expect(() => convertElements('float32', [2 ** 128 * (1 - 2 ** -25)])).toThrow(
      refusal(expect.stringMatching(/magnitude below/)),
    );
  });
});

describe('nest', () => {
  it.each<[ArrayLike<number | string>, number[], Nested]>([
    [[7], [], 7],
    [[], [0], []],
    [[], [2, 0], [[], []]],
    [
      [1, 2, 3, 4, 5, 6],
      [3, 2],
      [
        [1, 2],
        [3, 4],
        [5, 6],
      ],
    ],
    [['a', 'b'], [1, 2, 1], [[['a'], ['b']]]],
  ])('puts %j into shape %j', (elements, shape, nested) => {
    expect(nest(elements, shape)).toEqual(nested);
  });

  it('undoes flattenNested', () => {
    const shapes = fc.array(fc.integer({ min: 1, max: 3 }), { maxLength: 4 });
    fc.assert(
      fc.property(shapes, fc.infiniteStream(fc.integer({ min: -1000, max: 1000 })), (shape, numbers) => {
        const count = shape.reduce((product, dim) => product * dim, 1);
        const nested = nest([...numbers.take(count)], shape);
        const flat = flattenNested('int32', nested);
        expect(flat.shape).toEqual(shape);
        expect(nest(flat.data, shape)).toEqual(nested);
      }),
    );
  });
});
