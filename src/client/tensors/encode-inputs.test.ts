import { Tensor as OrtTensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';

import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { ModelSignature } from '../../protocol/model-signature.js';
import { DTYPES, type Dtype } from '../../tensor/dtype.js';
import { Tensor } from '../../tensor/tensor.js';
import { encodeInputs } from './encode-inputs.js';

function spec(name: string, dtype: Dtype, shape: readonly number[], optional = false): CompleteTensorSpec {
  return { name, dtype, datatype: DTYPES[dtype].datatype, shape, optional };
}

function modelOf(inputs: readonly CompleteTensorSpec[], maxBatchSize = 4): ModelSignature {
  return { name: 'M', inputs, outputs: [], maxBatchSize, decoupled: false };
}

const PAIR = modelOf([spec('a', 'float32', [-1]), spec('b', 'int32', [2, 2]), spec('c', 'string', [1], true)]);
const B = Int32Array.of(1, 2, 3, 4);

function givenAway(): Float32Array {
  const data = Float32Array.of(1);
  structuredClone(data, { transfer: [data.buffer] });
  return data;
}

function shapes(inputs: unknown, model: ModelSignature, kind: 'sample' | 'batch' = 'sample') {
  return encodeInputs(inputs, model, kind).map(({ name, shape }) => [name, shape]);
}

describe('encodeInputs', () => {
  it('sends inputs in declaration order, whatever the order of the record', () => {
    expect(shapes({ b: B, a: Float32Array.of(1) }, PAIR)).toEqual([
      ['a', [1, 1]],
      ['b', [1, 2, 2]],
    ]);
  });

  it('takes what a module exports as a record', async () => {
    const source = 'export const b = [[1, 2], [3, 4]], a = [1];';
    const exported: unknown = await import(`data:text/javascript,${source}`);
    expect(shapes(exported, PAIR)).toEqual([
      ['a', [1, 1]],
      ['b', [1, 2, 2]],
    ]);
  });

  it.each<[string, Dtype, readonly number[], unknown, readonly number[]]>([
    ['a typed array for one open dimension', 'float32', [2, -1], new Float32Array(6), [1, 2, 3]],
    ['a typed array for a fixed shape', 'float32', [2, 3], new Float32Array(6), [1, 2, 3]],
    ['a Buffer for uint8', 'uint8', [-1], Buffer.from('abc'), [1, 3]],
    [
      'lists nested as deep as the shape',
      'int64',
      [2, 2],
      [
        [1, 2n],
        [3, 4],
      ],
      [1, 2, 2],
    ],
    ['nested lists', 'float64', [-1, -1], [[1, 2, 3]], [1, 1, 3]],
    ['a Tensor', 'float16', [-1, -1], Tensor.fromFloat32('float16', [1, 2], [2, 1]), [1, 2, 1]],
    ["onnxruntime's tensor", 'int64', [-1, 1], new OrtTensor('int64', BigInt64Array.of(1n, 2n), [2, 1]), [1, 2, 1]],
    ['an object like a tensor', 'int8', [-1], { data: Int8Array.of(1), shape: [1], dtype: 'int8' }, [1, 1]],
    ['a string', 'string', [1], 'x', [1, 1]],
    ['a Uint8Array as one element of bytes', 'bytes', [-1], Uint8Array.of(1, 2), [1, 1]],
    ['a list of Uint8Arrays', 'bytes', [-1], [Uint8Array.of(1), 'x'], [1, 2]],
    ['a bytes tensor for string', 'string', [1], new Tensor('bytes', [Uint8Array.of(0xff)]), [1, 1]],
    ['a boolean', 'bool', [1], true, [1, 1]],
    ['a value for the rank-0 shape', 'int32', [], 5, [1]],
    ['an empty list', 'float32', [-1], [], [1, 0]],
  ])('takes %s', (_, dtype, shape, value, expected) => {
    expect(shapes({ x: value }, modelOf([spec('x', dtype, shape)]))).toEqual([['x', expected]]);
  });

  // A list says itself how many rows it has; the memory of a typed array does not.
  it.each<[readonly number[], unknown, unknown]>([
    [[2], [1, 2], [[1, 2]]],
    [[1], [1], [[1], [2]]],
    [[], 1, [1, 2]],
    [[2, 1], [[1], [2]], [[[1], [2]]]],
  ])('takes rows of shape %j in one form each: %j for a sample, %j for a batch', (shape, sample, rows) => {
    const model = modelOf([spec('x', 'float32', shape)]);
    const count = (rows as unknown[]).length;
    expect(shapes({ x: sample }, model)).toEqual([['x', [1, ...shape]]]);
    expect(shapes({ x: rows }, model, 'batch')).toEqual([['x', [count, ...shape]]]);
    expect(() => shapes({ x: rows }, model)).toThrow('inferSample takes tensors without the batch axis');
    expect(() => shapes({ x: sample }, model, 'batch')).toThrow('inferBatch takes tensors with the batch axis first');
    const size = shape.reduce((product, dim) => product * dim, 1);
    expect(shapes({ x: new Float32Array(size) }, model)).toEqual([['x', [1, ...shape]]]);
    expect(shapes({ x: new Float32Array(3 * size) }, model, 'batch')).toEqual([['x', [3, ...shape]]]);
  });

  it('views the memory of typed arrays, at their offset', () => {
    const data = new Float32Array(8).subarray(2, 4);
    const [a] = encodeInputs({ a: data }, modelOf([spec('a', 'float32', [-1])]), 'sample');
    expect(a!.bytes).toMatchObject({ buffer: data.buffer, byteOffset: 8, byteLength: 8 });
  });

  it('takes tensors with the batch axis for a batch', () => {
    const a = new Tensor('float32', new Float32Array(6), [2, 3]);
    expect(shapes({ a, b: new Int32Array(8) }, PAIR, 'batch')).toEqual([
      ['a', [2, 3]],
      ['b', [2, 2, 2]],
    ]);
    const rows = [
      [
        [1, 2],
        [3, 4],
      ],
      [
        [5, 6],
        [7, 8],
      ],
    ];
    expect(shapes([a, rows], PAIR, 'batch')[1]).toEqual(['b', [2, 2, 2]]);
  });

  it.each<[string, unknown, string]>([
    [
      'nothing',
      undefined,
      "inputs of model 'M' must be a record by input name or a list in declaration order, got undefined",
    ],
    ['a bare typed array', Float32Array.of(1), 'or a list in declaration order, got a Float32Array'],
    ['a bare typed array of integers', Int32Array.of(1), 'or a list in declaration order, got an Int32Array'],
    ['a promise', Promise.resolve({ a: [1], b: B }), 'or a list in declaration order, got a Promise'],
    ['a Map', new Map([['a', [1]]]), 'or a list in declaration order, got a Map'],
    ['a bare Tensor', new Tensor('float32', Float32Array.of(1)), 'or a list in declaration order, got a Tensor'],
    ['an unknown name', { a: [1], b: B, aa: [1] }, "unexpected inference input 'aa' for model 'M'; did you mean 'a'?"],
    [
      'a very unknown name',
      { something: 1 },
      "unexpected inference input 'something' for model 'M'; its inputs are 'a', 'b', 'c'",
    ],
    ['too many values', [[1], B, ['x'], 1], "model 'M' has 3 inputs ('a', 'b', 'c'), got a list of 4"],
    [
      'too few values',
      [[1]],
      "expected number of inputs between 2 and 3 but got 1 inputs for model 'M'. Got input(s) ['a'], but missing required input(s) ['b']. Please provide all required input(s).",
    ],
    [
      'names that are inherited',
      Object.create({ a: [1], b: B }),
      "Got input(s) [], but missing required input(s) ['a','b']",
    ],
    [
      'null',
      { a: null, b: B },
      "input 'a' of model 'M' is null, expected a Tensor, a typed array, a value or nested arrays of values",
    ],
    [
      'a tensor without its sizes',
      { a: { data: Float32Array.of(1), type: 'float32' }, b: B },
      "input 'a' of model 'M': an object with data and type is no tensor: it lacks dims (or shape)",
    ],
    ['memory that is gone', { a: givenAway(), b: B }, "input 'a' of model 'M' lies in memory that was given away"],
    ['an object', { a: new Date(0), b: B }, "input 'a' of model 'M' is a Date, expected a Tensor"],
    ['a function', { a: () => 1, b: B }, "input 'a' of model 'M' is function, expected a Tensor"],
    [
      'another typed array',
      { a: Float64Array.of(1), b: B },
      "input 'a' of model 'M' is a Float64Array, expected Float32Array for float32",
    ],
    [
      'a typed array for strings',
      { a: [1], b: B, c: Float64Array.of(1) },
      "input 'c' of model 'M' is a Float64Array, expected strings for string",
    ],
    [
      'a Tensor of another dtype',
      { a: new Tensor('float64', Float64Array.of(1)), b: B },
      "input 'a' of model 'M' is a float64 tensor, expected float32",
    ],
    [
      'a Tensor of text with a number in it',
      { a: [1], b: B, c: new Tensor('string', [5 as unknown as string]) },
      "input 'c' of model 'M' has element 0 that is a number, expected a string",
    ],
    [
      'a value that does not fit',
      { a: [1], b: [1, 2, 3, 0.5] },
      "input 'b' of model 'M': element 3 does not fit int32",
    ],
    ['ragged lists', { a: [1], b: [[1, 2], [3]] }, "input 'b' of model 'M': nested arrays must be rectangular"],
    [
      'a flat list for two dimensions',
      { a: [1], b: [1, 2, 3, 4] },
      "unexpected shape for input 'b' for model 'M'. Expected [2,2], got [4]. inferSample takes tensors without the batch axis.",
    ],
    [
      'a row in a list',
      { a: [[1, 2]], b: B },
      "unexpected shape for input 'a' for model 'M'. Expected [-1], got [1,2]. inferSample takes tensors without the batch axis.",
    ],
    [
      'a typed array of another length',
      { a: [1], b: Int32Array.of(1) },
      "input 'b' of model 'M' is an Int32Array of 1 elements, expected 4 for shape [2,2]",
    ],
    [
      'a single value for many',
      { a: [1], b: 5 },
      "input 'b' of model 'M' is a single value, expected 4 for shape [2,2]",
    ],
    [
      'a Tensor with the batch axis',
      { a: new Tensor('float32', Float32Array.of(1), [1, 1]), b: B },
      "unexpected shape for input 'a' for model 'M'. Expected [-1], got [1,1]. inferSample takes tensors without the batch axis.",
    ],
  ])('refuses %s for a sample', (_, inputs, message) => {
    expect(() => encodeInputs(inputs, PAIR, 'sample')).toThrow(message);
    expect(() => encodeInputs(inputs, PAIR, 'sample')).toThrow(expect.objectContaining({ code: 'INVALID_ARG' }));
  });

  it.each<[string, unknown, string]>([
    [
      'a typed array when two dimensions are open',
      { a: Float32Array.of(1, 2), b: B },
      "input 'a' of model 'M' is a Float32Array of 2 elements, but 2 dimensions of the shape [-1,-1] are open: pass a Tensor, which has its own shape",
    ],
    [
      'tensors without the batch axis',
      { a: new Tensor('float32', Float32Array.of(1)), b: B },
      "unexpected shape for input 'a' for model 'M'. Expected [-1,-1], got [1]. inferBatch takes tensors with the batch axis first.",
    ],
    [
      'different numbers of rows',
      { a: [[1], [2]], b: B },
      "input 'b' batch size does not match other inputs for 'M': it has 1 rows, input 'a' has 2",
    ],
    [
      'a row without its list',
      {
        a: [1, 2],
        b: [
          [1, 2],
          [3, 4],
        ],
      },
      "unexpected shape for input 'a' for model 'M'. Expected [-1,-1], got [2]. inferBatch takes tensors with the batch axis first.",
    ],
    [
      'a row without its list, where it would fill one',
      {
        a: [[1]],
        b: [
          [1, 2],
          [3, 4],
        ],
      },
      "unexpected shape for input 'b' for model 'M'. Expected [-1,2,2], got [2,2]. inferBatch takes tensors with the batch axis first.",
    ],
    [
      'a flat list that would fill rows',
      { a: [[1]], b: [1, 2, 3, 4] },
      "unexpected shape for input 'b' for model 'M'. Expected [-1,2,2], got [4]. inferBatch takes tensors with the batch axis first.",
    ],
    [
      'a single value',
      { a: [[1]], b: B, c: 'x' },
      "input 'c' of model 'M' is a single value, expected rows of shape [1]: inferBatch takes tensors with the batch axis first",
    ],
    ['half a row', { a: [[1]], b: new Int32Array(6) }, 'expected a multiple of 4 for shape [-1,2,2]'],
  ])('refuses %s for a batch', (_, inputs, message) => {
    expect(() => encodeInputs(inputs, PAIR, 'batch')).toThrow(message);
  });

  it('says how many inputs are expected when none is optional', () => {
    const model = modelOf([spec('a', 'float32', [-1]), spec('b', 'float32', [-1])]);
    expect(() => encodeInputs({ a: [1] }, model, 'sample')).toThrow("expected 2 inputs but got 1 inputs for model 'M'");
  });
});
