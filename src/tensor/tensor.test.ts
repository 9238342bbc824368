import { describe, expect, it } from 'vitest';

import { Float16Array } from '../../test/support/float16-array.js';
import { DTYPES, parseDtype, type DataOf, type Dtype } from './dtype.js';
import { Tensor } from './tensor.js';

const DTYPE_NAMES = Object.keys(DTYPES) as Dtype[];

/** Zeroed, false or empty data of a dtype. */
function blank(dtype: Dtype, length: number): DataOf[Dtype] {
  const { array } = DTYPES[dtype];
  if (array !== undefined) return new array(length);
  return dtype === 'string' ? Array<string>(length).fill('') : Array<Uint8Array>(length).fill(new Uint8Array(0));
}

function invalid(message: unknown) {
  return expect.objectContaining({
    name: 'TritonError',
    code: 'INVALID_ARG',
    message,
  });
}

/** The numbers from 0 in a shape. */
function counting(...shape: number[]): Tensor<'float32'> {
  const length = shape.reduce((product, dim) => product * dim, 1);
  return new Tensor(
    'float32',
    Float32Array.from({ length }, (_, i) => i),
    shape,
  );
}

describe('the constructor', () => {
  it.each(DTYPE_NAMES)('takes data of %s as it is', (dtype) => {
    const data = blank(dtype, 6);
    const tensor = new Tensor(dtype, data, [2, 3]);
    expect(tensor.dtype).toBe(dtype);
    expect(tensor.data).toBe(data);
    expect(tensor.shape).toEqual([2, 3]);
  });

  it('makes a vector when no shape is given', () => {
    expect(new Tensor('float32', new Float32Array(3)).shape).toEqual([3]);
    expect(new Tensor('string', ['a', 'b']).shape).toEqual([2]);
  });

  it.each([
    [[], 1],
    [[0], 0],
    [[3, 0, 2], 0],
    [[0, 2 ** 40], 0],
    [[2 ** 53 - 1, 0], 0],
    [[1, 1, 1], 1],
    [[-0], 0],
  ])('takes shape %j for %i elements', (shape, length) => {
    expect(new Tensor('float32', new Float32Array(length), shape).shape).toBe(shape);
  });

  it.each<[string, unknown, string]>([
    ['FP32', Float32Array.of(1), "unknown dtype FP32: use 'float32', expected one of bool, uint8, "],
    ['toString', Float32Array.of(1), 'unknown dtype toString, expected one of bool, '],
    ['float32', Float64Array.of(1), 'unexpected data for a float32 tensor. Expected Float32Array, got Float64Array'],
    ['float32', [1], 'unexpected data for a float32 tensor. Expected Float32Array, got Array'],
    ['float32', undefined, 'unexpected data for a float32 tensor. Expected Float32Array, got Undefined'],
    ['float32', new ArrayBuffer(4), 'unexpected data for a float32 tensor. Expected Float32Array, got ArrayBuffer'],
    ['float16', Float32Array.of(1), 'unexpected data for a float16 tensor. Expected Uint16Array, got Float32Array'],
    ['bool', [true], 'unexpected data for a bool tensor. Expected Uint8Array, got Array'],
    ['bytes', Uint8Array.of(1), 'unexpected data for a bytes tensor. Expected Uint8Array[], got Uint8Array'],
    ['string', 'a', 'unexpected data for a string tensor. Expected string[], got String'],
    ['int64', Int32Array.of(1), 'unexpected data for an int64 tensor. Expected BigInt64Array, got Int32Array'],
  ])('refuses dtype %s with %o', (dtype, data, message) => {
    expect(() => new Tensor(dtype as 'float32', data as Float32Array, [1])).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: expect.stringContaining(message) }),
    );
    expect(() => new Tensor(dtype as 'float32', data as Float32Array)).toThrow(message);
  });

  it.each<[unknown, string]>([
    [[3], 'unexpected number of elements for a tensor of shape [3]. Expected 3, got 4'],
    [[2, 3], 'unexpected number of elements for a tensor of shape [2,3]. Expected 6, got 4'],
    [[], 'unexpected number of elements for a tensor of shape []. Expected 1, got 4'],
    [[0], 'unexpected number of elements for a tensor of shape [0]. Expected 0, got 4'],
    [
      [2 ** 40, 2],
      'unexpected number of elements for a tensor of shape [1099511627776,2]. Expected 2199023255552, got 4',
    ],
    [[-1], 'unexpected shape [-1] of a tensor: dimensions are integers >= 0'],
    [[-2, -2], 'unexpected shape [-2,-2] of a tensor: dimensions are integers >= 0'],
    [[0.5, 8], 'unexpected shape [0.5,8] of a tensor: dimensions are integers >= 0'],
    [[NaN], 'unexpected shape [NaN] of a tensor: dimensions are integers >= 0'],
    [['4'], 'unexpected shape [4] of a tensor: dimensions are integers >= 0'],
    [[4n], 'unexpected shape [4] of a tensor: dimensions are integers >= 0'],
    [4, 'the shape of a tensor must be a list of integers, got number'],
    [Int32Array.of(4), 'the shape of a tensor must be a list of integers, got object'],
    [null, 'the shape of a tensor must be a list of integers, got null'],
  ])('refuses shape %o for four elements', (shape, message) => {
    expect(() => new Tensor('float32', new Float32Array(4), shape as number[])).toThrow(invalid(message));
  });
});

describe.runIf(Float16Array !== undefined)('a Float16Array', () => {
  const halves = () => new Float16Array!([1, -2, 0.5]);

  it('is taken as the bits of float16, in its own memory', () => {
    const values = halves();
    const tensor = new Tensor('float16', values as never, [3, 1]);
    expect(tensor).toEqual(new Tensor('float16', Uint16Array.of(0x3c00, 0xc000, 0x3800), [3, 1]));
    expect([tensor.data.buffer, tensor.data.byteOffset]).toEqual([values.buffer, values.byteOffset]);
    expect(new Tensor('float16', values as never).shape).toEqual([3]);
    const part = new Float16Array!(values.buffer, 2, 2);
    expect(new Tensor('float16', part as never).toFloat32()).toEqual(Float32Array.of(-2, 0.5));
    expect(() => new Tensor('float16', values as never, [2])).toThrow('Expected 2, got 3');
  });

  it.each(['bfloat16', 'uint16', 'float32', 'string'] as const)('is no data of %s', (dtype) => {
    expect(() => new Tensor(dtype, halves() as never)).toThrow('got Float16Array');
  });

  it('names the dtype float16', () => {
    expect(parseDtype(Float16Array)).toBe('float16');
  });

  it('is a list of numbers where values are asked for', () => {
    expect(Tensor.from('float16', [halves(), halves()]).shape).toEqual([2, 3]);
    expect(Tensor.from('bfloat16', halves()).toFloat32()).toEqual(Float32Array.of(1, -2, 0.5));
    expect(Tensor.fromFloat32('float16', halves()).data).toEqual(Uint16Array.of(0x3c00, 0xc000, 0x3800));
  });
});

it('without a Float16Array undefined names no dtype', () => {
  expect(() => parseDtype(undefined)).toThrow('unknown dtype undefined');
});

describe('Tensor.is', () => {
  it('knows tensors, those of another copy of the package too', () => {
    class Foreign {}
    Object.defineProperty(Foreign.prototype, Symbol.for('tstriton.Tensor'), { value: true });
    expect(Tensor.is(counting(2))).toBe(true);
    expect(Tensor.is(new Foreign())).toBe(true);
  });

  it.each([
    [null],
    [undefined],
    ['float32'],
    [Float32Array.of(1)],
    [{ dtype: 'float32', data: Float32Array.of(1), shape: [1] }],
  ])('is false for %o', (value) => {
    expect(Tensor.is(value)).toBe(false);
  });

  it('leaves no trace of the brand on a tensor', () => {
    expect(Object.keys(counting(1))).toEqual(['dtype', 'data', 'shape']);
    expect(Object.getOwnPropertySymbols(counting(1))).toEqual([]);
  });
});

describe('Tensor.from', () => {
  it('takes nested arrays, whose nesting is the shape', () => {
    expect(Tensor.from('int64', [[1, 2n]])).toEqual(new Tensor('int64', BigInt64Array.of(1n, 2n), [1, 2]));
    expect(Tensor.from('bool', true)).toEqual(new Tensor('bool', Uint8Array.of(1), []));
    expect(Tensor.from('string', [['a'], ['b']])).toEqual(new Tensor('string', ['a', 'b'], [2, 1]));
  });

  it('takes another shape of as many elements', () => {
    expect(Tensor.from('uint8', [1, 2, 3, 4], [2, 2])).toEqual(new Tensor('uint8', Uint8Array.of(1, 2, 3, 4), [2, 2]));
    expect(() => Tensor.from('uint8', [1, 2, 3], [2, 2])).toThrow(invalid(expect.stringMatching(/Expected 4, got 3$/)));
  });

  it('refuses ragged nesting and values that do not fit', () => {
    expect(() => Tensor.from('float32', [[1], [2, 3]])).toThrow(
      invalid(expect.stringMatching(/^nested arrays must be rectangular/)),
    );
    expect(() => Tensor.from('uint8', [1, 256])).toThrow(
      invalid(expect.stringMatching(/^element 1 does not fit uint8/)),
    );
    expect(() => Tensor.from('int32', ['1'])).toThrow(invalid(expect.stringMatching(/^element 0 does not fit int32/)));
  });

  it('copies typed arrays', () => {
    const values = Float32Array.of(1, 2);
    const tensor = Tensor.from('float32', values);
    values[0] = 9;
    expect([...tensor.data]).toEqual([1, 2]);
  });
});

describe('Tensor.fromFloat32', () => {
  it('is for 16-bit floats alone', () => {
    expect(() => Tensor.fromFloat32('float32' as 'float16', [1])).toThrow(
      invalid('Tensor.fromFloat32 takes float16 or bfloat16, got float32'),
    );
  });

  it('rounds to float16 and bfloat16', () => {
    expect(Tensor.fromFloat32('float16', [1, -2])).toEqual(new Tensor('float16', Uint16Array.of(0x3c00, 0xc000), [2]));
    expect(Tensor.fromFloat32('bfloat16', Float32Array.of(1, 2), [2, 1])).toEqual(
      new Tensor('bfloat16', Uint16Array.of(0x3f80, 0x4000), [2, 1]),
    );
  });

  it('comes back by toFloat32', () => {
    for (const dtype of ['float16', 'bfloat16'] as const) {
      expect(Tensor.fromFloat32(dtype, [0.5, -1.25, Infinity]).toFloat32()).toEqual(
        Float32Array.of(0.5, -1.25, Infinity),
      );
    }
  });
});

describe('concat', () => {
  it('joins rows into memory of its own', () => {
    const parts = [counting(1, 2), counting(2, 2)];
    const joined = Tensor.concat(parts);
    expect(joined).toEqual(new Tensor('float32', Float32Array.of(0, 1, 0, 1, 2, 3), [3, 2]));
    parts[0]!.data[0] = 9;
    expect(joined.data[0]).toBe(0);
  });

  it('joins bytes, strings and 64-bit integers', () => {
    const bytes = new Tensor('bytes', [Uint8Array.of(1)], [1]);
    expect(Tensor.concat([bytes, bytes])).toEqual(new Tensor('bytes', [Uint8Array.of(1), Uint8Array.of(1)], [2]));
    expect(Tensor.concat([new Tensor('string', ['a', 'b'], [1, 2]), new Tensor('string', ['c', 'd'], [1, 2])])).toEqual(
      new Tensor('string', ['a', 'b', 'c', 'd'], [2, 2]),
    );
    expect(Tensor.concat([Tensor.from('uint64', [1]), Tensor.from('uint64', [2])])).toEqual(
      Tensor.from('uint64', [1, 2]),
    );
  });

  it('joins tensors without rows or elements', () => {
    expect(Tensor.concat([counting(0, 2), counting(1, 2)])).toEqual(counting(1, 2));
    expect(Tensor.concat([counting(2, 0), counting(3, 0)]).shape).toEqual([5, 0]);
  });

  it('gives a single tensor back as it is', () => {
    const only = counting(2);
    expect(Tensor.concat([only])).toBe(only);
  });

  it.each([
    [null, /^expected a list of tensors to concatenate, got Null$/],
    [counting(2), /^expected a list of tensors to concatenate, got /],
    [[counting(2), 3], /^cannot concatenate \[1\]: expected a Tensor, got Number$/],
    [[null], /^cannot concatenate \[0\]: expected a Tensor, got Null$/],
  ])('refuses what is no list of tensors: %#', (given, text) => {
    expect(() => Tensor.concat(given as never)).toThrow(invalid(expect.stringMatching(text)));
    const stacked = new RegExp(text.source.replace('concatenate', 'stack'));
    expect(() => Tensor.stack(given as never)).toThrow(invalid(expect.stringMatching(stacked)));
  });

  it('refuses what does not join', () => {
    const suffix = ': dtypes and the shapes of rows must be equal';
    expect(() => Tensor.concat([])).toThrow(invalid('cannot concatenate an empty list of tensors'));
    expect(() => Tensor.concat([counting(1, 2), counting(1, 3)])).toThrow(
      invalid(`cannot concatenate float32 [1,3] with float32 [1,2]${suffix}`),
    );
    expect(() => Tensor.concat([counting(2), counting(1, 2)])).toThrow(
      invalid(`cannot concatenate float32 [1,2] with float32 [2]${suffix}`),
    );
    expect(() => Tensor.concat<Dtype>([counting(1), Tensor.from('float64', [1])])).toThrow(
      invalid(`cannot concatenate float64 [1] with float32 [1]${suffix}`),
    );
    expect(() => Tensor.concat([counting(), counting()])).toThrow(
      invalid(`cannot concatenate float32 [] with float32 []${suffix}`),
    );
  });
});

describe('stack', () => {
  it('joins along a new first axis', () => {
    expect(Tensor.stack([counting(2), counting(2)])).toEqual(
      new Tensor('float32', Float32Array.of(0, 1, 0, 1), [2, 2]),
    );
    expect(Tensor.stack([counting(), counting()])).toEqual(new Tensor('float32', Float32Array.of(0, 0), [2]));
    expect(Tensor.stack([counting(2)]).shape).toEqual([1, 2]);
  });

  it('undoes rows', () => {
    const tensor = counting(3, 2, 2);
    expect(Tensor.stack(tensor.rows())).toEqual(tensor);
  });

  it('refuses what does not stack', () => {
    expect(() => Tensor.stack([])).toThrow(invalid('cannot stack an empty list of tensors'));
    expect(() => Tensor.stack([counting(2), counting(3)])).toThrow(
      invalid(expect.stringMatching(/^cannot concatenate float32 \[1,3\]/)),
    );
  });
});

describe('rows', () => {
  it('are counted along the first axis', () => {
    expect(counting(3, 2).rowCount).toBe(3);
    expect(counting(0, 2).rowCount).toBe(0);
    expect(() => counting().rowCount).toThrow(invalid('a tensor of shape [] has no rows'));
  });

  it('are views without the first axis', () => {
    const tensor = counting(3, 2);
    const row = tensor.row(1);
    expect(row).toEqual(new Tensor('float32', Float32Array.of(2, 3), [2]));
    tensor.data[2] = 20;
    expect(row.data[0]).toBe(20);
    expect(counting(2).row(1)).toEqual(new Tensor('float32', Float32Array.of(1), []));
  });

  it('of bytes and strings have lists of their own', () => {
    const tensor = new Tensor('string', ['a', 'b', 'c', 'd'], [2, 2]);
    const row = tensor.row(1);
    expect(row).toEqual(new Tensor('string', ['c', 'd'], [2]));
    tensor.data[2] = 'x';
    expect(row.data).toEqual(['c', 'd']);
  });

  it('are all there', () => {
    expect(counting(3, 2).rows()).toEqual([0, 1, 2].map((row) => counting(3, 2).row(row)));
    expect(counting(0, 2).rows()).toEqual([]);
    expect(counting(2, 0).rows()).toEqual([counting(0), counting(0)]);
    expect(() => counting().rows()).toThrow(invalid('a tensor of shape [] has no rows'));
  });

  it.each([-1, 3, 0.5, NaN])('do not include row %d of three', (index) => {
    expect(() => counting(3, 2).row(index)).toThrow(
      invalid(`row ${index} is out of range for a tensor of shape [3,2]`),
    );
  });
});

describe('slice', () => {
  it('is a view that keeps the first axis', () => {
    const tensor = counting(4, 2);
    const part = tensor.slice(1, 3);
    expect(part).toEqual(new Tensor('float32', Float32Array.of(2, 3, 4, 5), [2, 2]));
    expect(part.data.buffer).toBe(tensor.data.buffer);
  });

  it('goes to the end unless told otherwise, and no further than that', () => {
    expect(counting(3).slice(1).shape).toEqual([2]);
    expect(counting(3).slice(1, 9).shape).toEqual([2]);
    expect(counting(3).slice(5).shape).toEqual([0]);
    expect(counting(3).slice(2, 1).shape).toEqual([0]);
    expect(counting(3).slice(-2, 1)).toEqual(counting(1));
    expect(counting(3, 2).slice(0, -1).shape).toEqual([0, 2]);
  });

  it('of everything shares its data', () => {
    const tensor = new Tensor('bytes', [Uint8Array.of(1)], [1]);
    expect(tensor.slice(0).data).toBe(tensor.data);
  });

  it('needs rows', () => {
    expect(() => counting().slice(0)).toThrow(invalid('a tensor of shape [] has no rows'));
    expect(() => counting(3).slice(undefined as never)).toThrow(
      invalid('slice starts at the number of a row, got undefined'),
    );
  });
});

describe('split', () => {
  it('cuts consecutive pieces, which are views', () => {
    const tensor = counting(4, 1);
    const pieces = tensor.split([1, 0, 3]);
    expect(pieces.map(({ shape, data }) => [shape, [...data]])).toEqual([
      [[1, 1], [0]],
      [[0, 1], []],
      [
        [3, 1],
        [1, 2, 3],
      ],
    ]);
    for (const piece of pieces) expect(piece.data.buffer).toBe(tensor.data.buffer);
  });

  it('undoes concat', () => {
    const parts = [counting(2, 3), counting(1, 3)];
    expect(Tensor.concat(parts).split([2, 1])).toEqual(parts);
  });

  it.each([
    [[1, 1], 'cannot split 3 rows into pieces of 1 + 1 = 2 rows'],
    [[4], 'cannot split 3 rows into pieces of 4 = 4 rows'],
    [[], 'cannot split 3 rows into pieces of  = 0 rows'],
    [[-1, 4], 'cannot split 3 rows into pieces of -1 + 4 = 3 rows'],
    [[1.5, 1.5], 'cannot split 3 rows into pieces of 1.5 + 1.5 = 3 rows'],
    [' ' as never, 'a tensor splits into a list of row counts, got String; strings() gives its texts'],
  ])('refuses %j for three rows', (rowCounts, message) => {
    expect(() => counting(3).split(rowCounts)).toThrow(invalid(message));
  });
});

describe('reshape', () => {
  it('shares the data', () => {
    const tensor = counting(2, 3);
    const other = tensor.reshape([6]);
    expect(other.shape).toEqual([6]);
    expect(other.data).toBe(tensor.data);
    expect(() => tensor.reshape([5])).toThrow(invalid(expect.stringMatching(/Expected 5, got 6$/)));
  });
});

describe('map', () => {
  it('makes a new tensor of the same dtype and shape', () => {
    const tensor = counting(2, 2);
    const doubled = tensor.map((value, index) => value + index);
    expect(doubled).toEqual(new Tensor('float32', Float32Array.of(0, 2, 4, 6), [2, 2]));
    expect([...tensor.data]).toEqual([0, 1, 2, 3]);
  });

  it('maps bigints, strings and bytes', () => {
    expect(Tensor.from('int64', [1, 2]).map((value) => -value)).toEqual(Tensor.from('int64', [-1, -2]));
    expect(Tensor.from('string', [['a']]).map((value) => value + value)).toEqual(Tensor.from('string', [['aa']]));
    expect(Tensor.from('bytes', ['ab']).map((value) => value.subarray(1))).toEqual(Tensor.from('bytes', ['b']));
  });
});

describe('toNested', () => {
  it.each<[Tensor, unknown]>([
    [counting(2, 2), [[0, 1], [2, 3]]], // prettier-ignore
    [counting(), 0],
    [counting(2, 0), [[], []]],
    [counting(0), []],
    [new Tensor('bool', Uint8Array.of(1, 0), [2]), [true, false]],
    [new Tensor('bool', Uint8Array.of(1), []), true],
    [Tensor.from('int64', [2n ** 60n]), [2n ** 60n]],
    [Tensor.fromFloat32('float16', [0.5]), [0.5]],
    [Tensor.fromFloat32('bfloat16', [[0.5]] as never, [1]).map(() => 0x3f00), [0.5]],
    [Tensor.from('string', [['a']]), [['a']]],
    [Tensor.from('bytes', ['a']), [Uint8Array.of(0x61)]],
  ])('gives plain nested arrays', (tensor, nested) => {
    expect(tensor.toNested()).toEqual(nested);
  });

  it('undoes Tensor.from', () => {
    const nested = [[[1, 2]], [[3, 4]]];
    expect(Tensor.from('uint8', nested).toNested()).toEqual(nested);
  });
});

describe('strings', () => {
  it('reads bytes as UTF-8', () => {
    const tensor = new Tensor('bytes', [Uint8Array.of(0xc3, 0xbc, 0), new Uint8Array(0), Uint8Array.of(0xff)], [3]);
    expect(tensor.strings()).toEqual(['ü\0', '', '\ufffd']);
  });

  it('keeps a byte order mark, as string tensors do', () => {
    expect(Tensor.from('bytes', ['\ufeffa']).strings()).toEqual(['\ufeffa']);
  });

  it('gives what a string tensor holds', () => {
    expect(Tensor.from('string', [['a'], ['b']]).strings()).toEqual(['a', 'b']);
  });

  it('refuses other dtypes', () => {
    expect(() => counting(1).strings()).toThrow(invalid('a float32 tensor has no strings, only bytes and string have'));
  });
});

describe('toFloat32', () => {
  it('shares the data of float32', () => {
    const tensor = counting(2);
    expect(tensor.toFloat32()).toBe(tensor.data);
  });

  it('rounds float64', () => {
    expect(Tensor.from('float64', [0.1]).toFloat32()).toEqual(Float32Array.of(0.1));
  });

  it.each(['int32', 'bool', 'uint16', 'string'] as const)('refuses %s', (dtype) => {
    expect(() => new Tensor(dtype, blank(dtype, 1) as never, [1]).toFloat32()).toThrow(
      invalid(`a ${dtype} tensor does not convert to float32, only floating-point tensors do`),
    );
  });
});
