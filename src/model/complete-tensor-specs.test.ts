import { describe, expect, it } from 'vitest';

import { DTYPES, type Dtype } from '../tensor/dtype.js';
import { completeTensorSpecs } from './complete-tensor-specs.js';
import type { TensorSpecs } from './tensor-spec.js';

function complete(specs: unknown, kind: 'input' | 'output' = 'input') {
  return completeTensorSpecs(specs as TensorSpecs, kind, "model 'm'");
}

function invalid(message: string) {
  return expect.objectContaining({ code: 'INVALID_ARG', message });
}

const FLOAT = { dtype: 'float32', shape: [-1] };

describe('a list of declarations', () => {
  it('names what has no name by its position, from 1', () => {
    const specs = [FLOAT, { ...FLOAT, name: 'scale' }, FLOAT];
    expect(complete(specs).map(({ name }) => name)).toEqual(['INPUT_1', 'scale', 'INPUT_3']);
    expect(complete(specs, 'output').map(({ name }) => name)).toEqual(['OUTPUT_1', 'scale', 'OUTPUT_3']);
  });

  it('may name a tensor like a number', () => {
    expect(complete([{ ...FLOAT, name: '1' }])[0]!.name).toBe('1');
  });

  it('may be empty', () => {
    expect(complete([])).toEqual([]);
  });

  it.each([
    [
      'the same name twice',
      [
        { ...FLOAT, name: 'x' },
        { ...FLOAT, name: 'x' },
      ],
      "input 'x' of model 'm' is declared twice",
    ],
    [
      'a default name that is taken',
      [{ ...FLOAT, name: 'INPUT_2' }, FLOAT],
      "input 'INPUT_2' of model 'm' is declared twice",
    ],
    ['an empty name', [{ ...FLOAT, name: '' }], "an input of model 'm' has an empty name"],
    ['a name that is no string', [{ ...FLOAT, name: 7 }], "name of input 1 of model 'm' must be a string, got number"],
    ['a declaration that is no object', [FLOAT, 'float32'], "input 2 of model 'm' must be an object, got string"],
    ['a declaration that is null', [null], "input 1 of model 'm' must be an object, got null"],
  ])('is refused with %s', (_, specs, message) => {
    expect(() => complete(specs)).toThrow(invalid(message));
  });
});

describe('a record of declarations', () => {
  it('keeps the order of declaration', () => {
    expect(complete({ b: FLOAT, a: FLOAT, c_1: FLOAT }).map(({ name }) => name)).toEqual(['b', 'a', 'c_1']);
  });

  it('may repeat the name inside', () => {
    expect(complete({ b: { ...FLOAT, name: 'b' } })[0]!.name).toBe('b');
  });

  it.each(['0', '1', '42'])('is refused with the name %s, which JavaScript would put first', (name) => {
    expect(() => complete({ x: FLOAT, [name]: FLOAT })).toThrow(
      invalid(
        `input '${name}' of model 'm' has an integer-like name, which a record cannot keep in order; declare the inputs as a list`,
      ),
    );
  });

  it.each(['01', '-1', '1.5', '1e3'])('takes the name %s, which is not integer-like', (name) => {
    expect(complete({ [name]: FLOAT })[0]!.name).toBe(name);
  });

  it.each([
    ['another name inside', { x: { ...FLOAT, name: 'y' } }, "input 'x' of model 'm' has another name 'y' inside"],
    ['a declaration that is no object', { x: 'float32' }, "input 'x' of model 'm' must be an object, got string"],
    ['an empty name', { '': FLOAT }, "an input of model 'm' has an empty name"],
  ])('is refused with %s', (_, specs, message) => {
    expect(() => complete(specs)).toThrow(invalid(message));
  });

  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    ['x', 'string'],
  ])('is refused when it is %o', (specs, got) => {
    expect(() => complete(specs)).toThrow(
      invalid(`inputs of model 'm' must be a record by name or a list, got ${got}`),
    );
    expect(() => complete(specs, 'output')).toThrow(
      invalid(`outputs of model 'm' must be a record by name or a list, got ${got}`),
    );
  });
});

describe('a declaration', () => {
  it.each(Object.keys(DTYPES) as Dtype[])('of %s is complete', (dtype) => {
    const { datatype } = DTYPES[dtype];
    const spec = { name: 'x', dtype, datatype, shape: [-1, 3], optional: false };
    expect(complete({ x: { dtype, shape: [-1, 3] } })).toEqual([spec]);
  });

  it.each([
    ['FP16', 'float16'],
    ['BYTES', 'bytes'],
    [Uint8Array, 'uint8'],
    [BigInt64Array, 'int64'],
  ])('of dtype %o has the dtype %s', (like, dtype) => {
    expect(complete({ x: { dtype: like, shape: [1] } })[0]!.dtype).toBe(dtype);
  });

  it('may have rank 0, and may be optional when it is an input', () => {
    expect(complete([{ dtype: 'bool', shape: [], optional: true }])).toEqual([
      { name: 'INPUT_1', dtype: 'bool', datatype: 'BOOL', shape: [], optional: true },
    ]);
  });

  it('of an output may have labels, which it does not share', () => {
    const labels = ['cat', '', 'dog'];
    const [spec] = complete({ x: { ...FLOAT, labels } }, 'output');
    labels[0] = 'cow';
    expect(spec!.labels).toEqual(['cat', '', 'dog']);
    expect(complete({ x: FLOAT }, 'output')[0]).not.toHaveProperty('labels');
  });

  it.each([
    ['input', { ...FLOAT, labels: [] }, "only outputs have labels, but input 'x' of model 'm' has some"],
    ['output', { ...FLOAT, labels: 'cat' }, "labels of output 'x' of model 'm' must be a list of strings, got string"],
    ['output', { ...FLOAT, labels: ['cat', 1] }, "labels of output 'x' of model 'm' must be strings, got number"],
    ['output', { ...FLOAT, labels: [undefined] }, "labels of output 'x' of model 'm' must be strings, got undefined"],
    [
      'output',
      { dtype: 'bool', shape: [1], labels: ['no'] },
      "labels of output 'x' of model 'm' are for classification, which bool has none of",
    ],
  ] as const)('of an %s is refused with labels %o', (kind, spec, message) => {
    expect(() => complete({ x: spec }, kind)).toThrow(invalid(message));
  });

  it('does not keep the shape that was given', () => {
    const shape = [1, 2];
    const [spec] = complete([{ dtype: 'bool', shape }]);
    shape[0] = 9;
    expect(spec!.shape).toEqual([1, 2]);
  });

  it.each([
    [
      'an unknown option',
      { ...FLOAT, optinal: true },
      "input 'x' of model 'm' has an unknown option 'optinal'; did you mean 'optional'?",
    ],
    ['no shape', { dtype: 'float32' }, "shape of input 'x' of model 'm' must be a list of integers, got undefined"],
    [
      'a shape that is no list',
      { dtype: 'float32', shape: 3 },
      "shape of input 'x' of model 'm' must be a list of integers, got number",
    ],
    [
      'a dimension of 0',
      { dtype: 'float32', shape: [2, 0] },
      "shape of input 'x' of model 'm' must hold integers >= 1, or -1 for any size, got 0 in [2,0]",
    ],
    [
      'a dimension of -2',
      { dtype: 'float32', shape: [-2] },
      "shape of input 'x' of model 'm' must hold integers >= 1, or -1 for any size, got -2 in [-2]",
    ],
    [
      'a dimension of 1.5',
      { dtype: 'float32', shape: [1.5] },
      "shape of input 'x' of model 'm' must hold integers >= 1, or -1 for any size, got 1.5 in [1.5]",
    ],
    [
      'a dimension that nobody can count to',
      { dtype: 'float32', shape: [2 ** 53] },
      "shape of input 'x' of model 'm' must hold integers from 1 to 9007199254740991, or -1 for any size, got 9007199254740992 in [9007199254740992]",
    ],
    [
      'a dimension in a string',
      { dtype: 'float32', shape: ['3'] },
      "shape of input 'x' of model 'm' must hold integers >= 1, or -1 for any size, got \"3\" in [3]",
    ],
    [
      'an option of the wrong type',
      { ...FLOAT, optional: 'yes' },
      "optional of input 'x' of model 'm' must be true or false, got \"yes\"",
    ],
  ])('is refused with %s', (_, spec, message) => {
    expect(() => complete({ x: spec })).toThrow(invalid(message));
  });

  it.each([
    ['float33', '"float33"'],
    ['TYPE_FP32', `"TYPE_FP32": use 'float32'`],
    ['bytes_', `"bytes_": use 'bytes'`],
    [undefined, 'undefined'],
    [Uint8ClampedArray, "Uint8ClampedArray: use 'uint8'"],
  ])('is refused with dtype %o', (dtype, got) => {
    expect(() => complete({ x: { dtype, shape: [1] } })).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: expect.stringContaining(`input 'x' of model 'm' has an unknown dtype ${got}, expected numpy's name`),
      }),
    );
  });

  it('is refused for an output that is optional', () => {
    expect(() => complete({ y: { ...FLOAT, optional: true } }, 'output')).toThrow(
      invalid("Output tensors cannot be optional, but output 'y' of model 'm' is"),
    );
  });
});
