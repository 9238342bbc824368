import { Tensor as OrtTensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';

import { isForeignTensor, isTensorLike } from './foreign-tensor.js';
import { Tensor } from './tensor.js';

function refused(message: string) {
  return expect.objectContaining({ name: 'TritonError', code: 'INVALID_ARG', message });
}

/** As transformers.js has it: a proxy of an object whose members are accessors, and which is iterable. */
function transformersTensor(inner: OrtTensor): object {
  class HubTensor {
    readonly #inner = inner;
    get type() {
      return this.#inner.type;
    }
    get data() {
      return this.#inner.data;
    }
    get dims() {
      return this.#inner.dims;
    }
    *[Symbol.iterator]() {
      yield this.data;
    }
  }
  const tensor = new HubTensor();
  return new Proxy(tensor, { get: (target, member) => Reflect.get(target, member, target) as unknown });
}

describe('Tensor.from a tensor of another library', () => {
  it.each([
    new OrtTensor('float32', Float32Array.of(1, 2, 3, 4), [2, 2]),
    new OrtTensor('int64', BigInt64Array.of(1n, -1n), [2]),
    new OrtTensor('bool', Uint8Array.of(1, 0), [1, 2]),
    new OrtTensor('string', ['a', 'b'], [2]),
    new OrtTensor('float64', Float64Array.of(7), []),
  ])('takes the data of onnxruntime without a copy: $type', (theirs) => {
    for (const given of [theirs, transformersTensor(theirs)]) {
      const ours = Tensor.from(given as OrtTensor);
      expect(Tensor.is(ours)).toBe(true);
      expect([ours.dtype, ours.shape]).toEqual([theirs.type, theirs.dims]);
      expect(ours.data).toBe(theirs.data);
    }
  });

  it.each([
    { data: Int8Array.of(1, 2), dims: [2], type: 'int8' },
    { data: Int8Array.of(1, 2), dims: [2], dtype: 'int8' },
    { data: Int8Array.of(1, 2), shape: [2], type: 'int8' },
    { data: Int8Array.of(1, 2), shape: [2], dtype: 'int8' },
  ])('takes any object with $type$dtype and $dims$shape', (given) => {
    const ours = Tensor.from(given as { data: Int8Array; dims: number[]; type: string });
    expect(ours.toNested()).toEqual([1, 2]);
    expect(ours.data).toBe(given.data);
  });

  it('gives a Tensor back as it is', () => {
    const ours = Tensor.from('int8', [1]);
    expect(Tensor.from(ours)).toBe(ours);
  });

  const data = Float32Array.of(1, 2);
  it.each<[string, unknown, string]>([
    ['no dims', { data, type: 'float32' }, 'an object with data and type is no tensor: it lacks dims (or shape)'],
    ['no type', { data, dims: [2] }, 'an object with data and dims is no tensor: it lacks type (or dtype)'],
    ['data alone', { data }, 'an object with data is no tensor: it lacks dims (or shape) and type (or dtype)'],
    ['no data', { shape: [2], dtype: 'float32' }, 'an object with shape and dtype is no tensor: it lacks data'],
    [
      'data that is a method, as in tfjs',
      { data: async () => data, shape: [2], dtype: 'float32' },
      'the data of a tensor is a function, expected a typed array or a list of strings',
    ],
    [
      'an unknown type',
      { data: Uint8Array.of(1), dims: [2], type: 'int4' },
      'a tensor has the type "int4", expected one of bool, uint8, uint16, uint32, uint64, int8, int16, int32, int64, ' +
        'float16, float32, float64, bytes, string, bfloat16',
    ],
    [
      "numpy's other name",
      { data, dims: [2], type: 'float_' },
      `a tensor has the type "float_": use 'float64', expected one of bool, uint8, uint16, uint32, uint64, int8, int16, ` +
        'int32, int64, float16, float32, float64, bytes, string, bfloat16',
    ],
    [
      'another kind of data',
      { data, dims: [2], type: 'float64' },
      'unexpected data for a float64 tensor. Expected Float64Array, got Float32Array',
    ],
    [
      'too little data',
      { data, dims: [2, 2], type: 'float32' },
      'unexpected number of elements for a tensor of shape [2,2]. Expected 4, got 2',
    ],
    [
      'dims that are no list',
      { data, dims: 2, type: 'float32' },
      'the shape of a tensor must be a list of integers, got number',
    ],
    [
      'a record',
      { x: 1 },
      'expected a tensor: an object with data, dims (or shape) and type (or dtype), got an Object',
    ],
    ['null', null, 'expected a tensor: an object with data, dims (or shape) and type (or dtype), got null'],
    ['a list', [1], 'expected a tensor: an object with data, dims (or shape) and type (or dtype), got a list'],
  ])('refuses %s', (_, given, message) => {
    expect(() => Tensor.from(given as Tensor)).toThrow(refused(message));
  });

  it('says why data on a GPU cannot be read', () => {
    const given = {
      dims: [1],
      type: 'float32',
      get data(): Float32Array {
        throw new Error('The data is not on CPU. Use `getData()`.');
      },
    };
    expect(() => Tensor.from(given)).toThrow(
      refused('the data of a tensor cannot be read: The data is not on CPU. Use `getData()`.'),
    );
  });
});

describe('a tensor of another library', () => {
  it('is told from what is none without reading its data', () => {
    const lazy = {
      dims: [1],
      type: 'float32',
      get data(): Float32Array {
        throw new Error('not now');
      },
    };
    expect([isForeignTensor(lazy), isTensorLike(lazy)]).toEqual([true, true]);
    expect([isForeignTensor({ data: [1] }), isTensorLike({ data: [1] })]).toEqual([false, true]);
    // Outputs of these names are no tensor.
    const outputs = { data: Float32Array.of(1), shape: Float32Array.of(1), type: ['a'] };
    expect([isForeignTensor(outputs), isTensorLike(outputs)]).toEqual([false, true]);
    for (const other of [{}, { x: 1 }, [1], Float32Array.of(1), null, undefined, 'data', () => 0]) {
      expect([isForeignTensor(other), isTensorLike(other)]).toEqual([false, false]);
    }
  });
});
