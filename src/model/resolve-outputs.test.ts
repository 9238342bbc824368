import { runInNewContext } from 'node:vm';

import { Tensor as OrtTensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';

import { DTYPES, type Dtype } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';
import type { ModelSpec } from './callable.js';
import { completeModelConfig } from './complete-model.js';
import { HostedRequest } from './inference-request.js';
import { InferenceResponse } from './inference-response.js';
import { recordOf, resolveOutputs } from './resolve-outputs.js';

interface Options {
  readonly strict?: boolean;
  readonly batching?: boolean;
}

/** Model `m` with outputs of the given dtypes and shapes, called `a`, `b`, …. */
function model(
  outputs: readonly (readonly [Dtype, readonly number[]])[],
  { strict = false, batching = true }: Options = {},
) {
  const named = outputs.map(([dtype, shape], i) => [String.fromCodePoint(97 + i), { dtype, shape }] as const);
  const spec: ModelSpec = {
    modelName: 'm',
    inputs: {},
    outputs: Object.fromEntries(named),
    strict,
    config: { batching },
  };
  return completeModelConfig(spec, 1);
}

/** What output `a` of a model with this one output becomes. */
function resolveOne(value: unknown, dtype: Dtype, shape: readonly number[], rows = 1, options?: Options) {
  return resolveOutputs({ a: value }, model([[dtype, shape]], options), rows)[0];
}

function broken(message: unknown) {
  return expect.objectContaining({
    code: 'INTERNAL',
    message,
  });
}

const row = Tensor.from('float32', [[1]]);
const two = model([
  ['float32', [1]],
  ['int32', [1]],
]);
const int = Tensor.from('int32', [[2]]);

describe('a record of outputs that are resolved', () => {
  const [y, z] = [Tensor.from('float32', [[1], [2]]), Tensor.from('int32', [[3], [4]])];
  const resolved = [y, z];

  it('is not looked at again', () => {
    expect(resolveOutputs(recordOf(resolved, two), two, 2)).toBe(resolved);
    const partly = [y, undefined];
    expect(recordOf(partly, two)).toEqual({ a: y });
    expect(resolveOutputs(recordOf(partly, two), two, 2)).toBe(partly);
  });

  it('is when somebody has changed it', () => {
    const replaced = recordOf(resolved, two);
    replaced['a'] = Tensor.from('float64', [[5], [6]]);
    expect(resolveOutputs(replaced, two, 2)).toEqual([Tensor.from('float32', [[5], [6]]), z]);
    const added = recordOf(resolved, two);
    added['c'] = y;
    expect(() => resolveOutputs(added, two, 2)).toThrow("an output 'c' that is not declared");
    const short = recordOf(resolved, two);
    delete short['b'];
    expect(resolveOutputs(short, two, 2)).toEqual([y, undefined]);
  });

  it('is for a request of other rows, and for another model', () => {
    expect(() => resolveOutputs(recordOf(resolved, two), two, 1)).toThrow('expected 1 row');
    const other = model([
      ['float32', [1]],
      ['float32', [1]],
    ]);
    expect(resolveOutputs(recordOf(resolved, two), other, 2)).toEqual([y, Tensor.from('float32', [[3], [4]])]);
  });

  it('is where its elements may have been replaced', () => {
    const texts = model([['string', [1]]]);
    const tensor = Tensor.from('string', [['a']]);
    const record = recordOf([tensor], texts);
    (tensor.data as unknown[])[0] = 7;
    expect(() => resolveOutputs(record, texts, 1)).toThrow('has element 0 that is');
  });
});

describe('a result', () => {
  it('may be a record, in any order', () => {
    expect(resolveOutputs({ b: int, a: row }, two, 1)).toEqual([row, int]);
  });

  it('may be a list in declaration order', () => {
    expect(resolveOutputs([row, int], two, 1)).toEqual([row, int]);
  });

  it('may be an object of a class, or one without a prototype', () => {
    class Result {
      readonly a = row;
      readonly b = int;
    }
    expect(resolveOutputs(new Result(), two, 1)).toEqual([row, int]);
    expect(resolveOutputs(Object.assign(Object.create(null), { a: row, b: int }), two, 1)).toEqual([row, int]);
  });

  it('gives tensors that fit as they are, without a copy', () => {
    expect(resolveOutputs([row, int], two, 1)[0]).toBe(row);
  });

  it('may leave outputs out', () => {
    expect(resolveOutputs({ b: int }, two, 1)).toEqual([undefined, int]);
    expect(resolveOutputs([row, undefined], two, 1)).toEqual([row, undefined]);
    expect(resolveOutputs({}, two, 1)).toEqual([undefined, undefined]);
  });

  it('does not take what every object has for an output', () => {
    const spec: ModelSpec = { modelName: 'm', inputs: {}, outputs: [{ name: 'toString', dtype: 'bool', shape: [1] }] };
    expect(resolveOutputs({}, completeModelConfig(spec, 1), 1)).toEqual([undefined]);
  });

  it.each<[string, unknown, string]>([
    [
      'a misspelt name',
      { a: row, bb: int },
      "model 'm' returned an output 'bb' that is not declared; did you mean 'b'?",
    ],
    [
      'an unknown name',
      { a: row, scores: int },
      "model 'm' returned an output 'scores' that is not declared; declared are a, b",
    ],
    ['a list too short', [row], "model 'm' returned a list of 1 outputs, expected 2: a, b"],
    ['a list too long', [row, int, int], "model 'm' returned a list of 3 outputs, expected 2: a, b"],
  ])('is refused with %s', (_, result, message) => {
    expect(() => resolveOutputs(result, two, 1)).toThrow(broken(message));
  });

  it('names no output where none is declared', () => {
    expect(() => resolveOutputs({ scores: row }, model([]), 1)).toThrow(
      broken("model 'm' returned an output 'scores' that is not declared; declared are none"),
    );
  });

  const expected = 'expected a record of its outputs by name or a list in declaration order';
  it.each<[unknown, string]>([
    [undefined, `undefined, ${expected}`],
    [null, `null, ${expected}`],
    [7, `a number, ${expected}`],
    ['text', `a string, ${expected}`],
    [() => 0, `a function, ${expected}`],
    [row, `a Tensor, ${expected}`],
    [Float32Array.of(1), `a Float32Array, ${expected}`],
    [new Map([['a', row]]), `a Map, ${expected}`],
    [new Set([row]), `a Set, ${expected}`],
    [new Date(0), `a Date, ${expected}`],
    [new (class Result {})(), `a Result, ${expected}`],
    [(function* () {})(), `a Generator, ${expected}; only decoupled models may return generators`],
    [(async function* () {})(), `an AsyncGenerator, ${expected}; only decoupled models may return generators`],
    [
      new InferenceResponse({ a: row }),
      `an InferenceResponse, ${expected}; it is the result for one request, of a function of requests or of a step`,
    ],
    [Promise.resolve({ a: row }), `a Promise, ${expected}; await it, or use Promise.all for a list of promises`],
  ])('cannot be %o', (result, message) => {
    expect(() => resolveOutputs(result, two, 1)).toThrow(broken(`model 'm' returned ${message}`));
  });

  it('is thrown when it is an error', () => {
    const error = new RangeError('no such row');
    const foreign = runInNewContext("new TypeError('from elsewhere')") as unknown;
    for (const thrown of [error, foreign]) {
      let caught: unknown;
      try {
        resolveOutputs(thrown, two, 1);
      } catch (reason) {
        caught = reason;
      }
      expect(caught).toBe(thrown);
    }
  });

  it('cannot be a request: the host knows those by their brand, and their inputs', () => {
    const request = new HostedRequest({ x: row }, 1, '', undefined);
    expect(() => resolveOutputs(request, two, 1)).toThrow(
      broken(expect.stringMatching(/^model 'm' returned an output 'inputs' that is not declared/)),
    );
  });
});

describe('an output that is a tensor', () => {
  it('needs as many rows as the input', () => {
    expect(resolveOne(Tensor.from('float32', [[1], [2]]), 'float32', [1], 2)!.shape).toEqual([2, 1]);
    expect(() => resolveOne(Tensor.from('float32', [[1], [2]]), 'float32', [1], 3)).toThrow(
      broken(
        "output 'a' of model 'm' has shape [2,1], expected 3 rows in the first dimension, one per row of the input",
      ),
    );
    expect(() => resolveOne(Tensor.from('float32', [[1], [2]]), 'float32', [1], 1)).toThrow(
      broken(
        "output 'a' of model 'm' has shape [2,1], expected 1 row in the first dimension, one per row of the input",
      ),
    );
    expect(() => resolveOne(Tensor.from('float32', 5), 'float32', [], 1)).toThrow(
      broken(expect.stringMatching(/has shape \[\], expected 1 row in/)),
    );
  });

  it('has any number of rows where there is no batch axis', () => {
    expect(resolveOne(Tensor.from('float32', [1, 2, 3]), 'float32', [-1], 1, { batching: false })!.shape).toEqual([3]);
    expect(resolveOne(Tensor.from('float32', 5), 'float32', [], 1, { batching: false })!.shape).toEqual([]);
  });

  it('may have another rank and other dimensions than declared', () => {
    expect(resolveOne(Tensor.from('float32', [[[1]]]), 'float32', [7])!.shape).toEqual([1, 1, 1]);
  });

  it.each<[Dtype, unknown, Dtype, unknown]>([
    ['float64', [[0.1]], 'float32', [[Math.fround(0.1)]]],
    ['float64', [[1.0001]], 'float16', [[1]]],
    ['float32', [[0.1]], 'float64', [[Math.fround(0.1)]]],
    ['float16', [[0.5]], 'float32', [[0.5]]],
    ['bfloat16', [[0.5]], 'float16', [[0.5]]],
    ['float16', [[2]], 'int8', [[2]]],
    ['float64', [[-0]], 'int32', [[0]]],
    ['float64', [[7]], 'int64', [[7n]]],
    ['int64', [[2n ** 31n - 1n]], 'int32', [[2 ** 31 - 1]]],
    ['int64', [[2n ** 60n]], 'float64', [[2 ** 60]]],
    ['int32', [[5]], 'uint64', [[5n]]],
    ['uint8', [[1], [0]], 'bool', [[true], [false]]],
    ['bool', [[true], [false]], 'uint8', [[1], [0]]],
    ['bool', [[true]], 'float32', [[1]]],
  ])('of %s converts when its values fit', (from, values, to, expected) => {
    const rows = (values as unknown[]).length;
    const tensor =
      from === 'float16' || from === 'bfloat16'
        ? Tensor.fromFloat32(from, (values as number[][]).flat(), [rows, 1])
        : Tensor.from(from, values as number[][]);
    const resolved = resolveOne(tensor, to, [1], rows)!;
    expect(resolved.dtype).toBe(to);
    expect(resolved.toNested()).toEqual(expected);
  });

  it.each<[Dtype, number | bigint, Dtype, string]>([
    ['int32', 300, 'int8', 'element 0 does not fit int8: expected an integer from -128 to 127, got 300'],
    ['int32', -1, 'uint32', 'element 0 does not fit uint32: expected an integer from 0 to 4294967295, got -1'],
    [
      'float32',
      2.5,
      'int32',
      'element 0 does not fit int32: expected an integer from -2147483648 to 2147483647, got 2.5',
    ],
    [
      'float64',
      2.7,
      'int32',
      'element 0 does not fit int32: expected an integer from -2147483648 to 2147483647, got 2.7',
    ],
    [
      'float32',
      NaN,
      'int32',
      'element 0 does not fit int32: expected an integer from -2147483648 to 2147483647, got NaN',
    ],
    [
      'float64',
      Infinity,
      'int64',
      'element 0 does not fit int64: expected an integer from -9223372036854775808 to 9223372036854775807, got Infinity',
    ],
    [
      'int64',
      2n ** 31n,
      'int32',
      'element 0 does not fit int32: expected an integer from -2147483648 to 2147483647, got 2147483648',
    ],
    [
      'uint64',
      2n ** 63n,
      'int64',
      'element 0 does not fit int64: expected an integer from -9223372036854775808 to 9223372036854775807, got 9223372036854775808',
    ],
    ['uint8', 2, 'bool', 'element 0 does not fit bool: expected true, false, 0 or 1, got 2'],
    [
      'float64',
      1e39,
      'float32',
      `element 0 does not fit float32: expected a number of magnitude below ${2 ** 128 * (1 - 2 ** -25)}, got 1e+39`,
    ],
    [
      'float32',
      70_000,
      'float16',
      'element 0 does not fit float16: expected a number of magnitude below 65520, got 70000',
    ],
  ])('of %s is refused when %d does not fit', (from, value, to, problem) => {
    expect(() => resolveOne(Tensor.from(from, [[value]]), to, [1])).toThrow(
      broken(`output 'a' of model 'm' has dtype ${from}, expected ${to}: ${problem}`),
    );
  });

  it.each<[Dtype, Dtype]>([
    ['bytes', 'float32'],
    ['string', 'int64'],
    ['float32', 'bytes'],
    ['uint8', 'string'],
    ['uint8', 'bytes'],
  ])('of %s does not convert to %s', (from, to) => {
    const tensor = Tensor.from(from, [[DTYPES[from].array === undefined ? 'a' : 1]]);
    expect(() => resolveOne(tensor, to, [1])).toThrow(
      broken(`output 'a' of model 'm' has dtype ${from}, which does not convert to ${to}`),
    );
  });

  it('of strings serves for bytes and the other way round, as they are the same on the wire', () => {
    const strings = Tensor.from('string', [['a']]);
    const bytes = Tensor.from('bytes', [['a']]);
    for (const strict of [false, true]) {
      expect(resolveOne(strings, 'bytes', [1], 1, { strict })).toBe(strings);
      expect(resolveOne(bytes, 'string', [1], 1, { strict })).toBe(bytes);
    }
  });

  it('is refused when its elements are not what its dtype says', () => {
    const numbers = new Tensor('bytes', [new Uint8Array(1), 7] as unknown as Uint8Array[], [2, 1]);
    expect(() => resolveOne(numbers, 'bytes', [1], 2)).toThrow(
      broken("output 'a' of model 'm' has element 1 that is a number, expected a Uint8Array"),
    );
    const lists = new Tensor('bytes', [['a']] as unknown as Uint8Array[], [1, 1]);
    expect(() => resolveOne(lists, 'bytes', [1])).toThrow(
      broken("output 'a' of model 'm' has element 0 that is a list, expected a Uint8Array"),
    );
    const nothing = new Tensor('string', [undefined] as unknown as string[], [1, 1]);
    expect(() => resolveOne(nothing, 'string', [1])).toThrow(
      broken("output 'a' of model 'm' has element 0 that is undefined, expected a string"),
    );
  });
});

describe('an output that is a typed array', () => {
  it.each<[readonly number[], number, number, readonly number[]]>([
    [[-1], 2, 6, [2, 3]],
    [[3], 2, 6, [2, 3]],
    [[], 2, 2, [2]],
    [[2, -1], 1, 6, [1, 2, 3]],
    [[-1], 2, 0, [2, 0]],
    [[-1], 0, 0, [0, 0]],
  ])('fills the declared shape %j for %i rows with its %i elements', (shape, rows, length, expected) => {
    const data = new Float32Array(length);
    const tensor = resolveOne(data, 'float32', shape, rows)!;
    expect(tensor.shape).toEqual(expected);
    expect(tensor.data).toBe(data);
  });

  it.each<[readonly number[], number, readonly number[]]>([
    [[-1], 3, [3]],
    [[3], 3, [3]],
    [[2, -1], 6, [2, 3]],
    [[], 1, []],
  ])('fills the declared shape %j without a batch axis with its %i elements', (shape, length, expected) => {
    expect(resolveOne(new Float32Array(length), 'float32', shape, 1, { batching: false })!.shape).toEqual(expected);
  });

  it('is refused when it does not fill the declared shape without a batch axis', () => {
    expect(() => resolveOne(new Float32Array(2), 'float32', [3], 1, { batching: false })).toThrow(
      broken("output 'a' of model 'm' has 2 elements, which do not fill the shape [3]"),
    );
  });

  it.each<[readonly number[], number, number, string]>([
    [[-1], 2, 5, "output 'a' of model 'm' has 5 elements, which do not fill the shape [2,-1]"],
    [[3], 2, 5, "output 'a' of model 'm' has 5 elements, which do not fill the shape [2,3]"],
    [[], 2, 1, "output 'a' of model 'm' has 1 elements, which do not fill the shape [2]"],
    [[-1], 0, 3, "output 'a' of model 'm' has 3 elements, which do not fill the shape [0,-1]"],
    [
      [-1, -1],
      1,
      4,
      "output 'a' of model 'm' is an array without a shape, and [-1,-1] has more than one open dimension; return a Tensor",
    ],
  ])(
    'is refused when the declared shape %j for %i rows leaves %i elements in doubt',
    (shape, rows, length, message) => {
      expect(() => resolveOne(new Float32Array(length), 'float32', shape, rows)).toThrow(broken(message));
    },
  );

  it.each<[Dtype, unknown, string]>([
    ['float32', Float64Array.of(1), 'a Float64Array, expected float32; wrap it in a Tensor to have it converted'],
    ['int64', Int32Array.of(1), 'an Int32Array, expected int64; wrap it in a Tensor to have it converted'],
    ['float16', Float32Array.of(1), 'a Float32Array, expected float16; wrap it in a Tensor to have it converted'],
    ['bytes', Uint8Array.of(1), 'a Uint8Array, expected a Tensor or an array of elements'],
    ['string', Uint8Array.of(1), 'a Uint8Array, expected a Tensor or an array of elements'],
    ['uint8', new DataView(new ArrayBuffer(1)), 'a DataView, expected uint8; wrap it in a Tensor to have it converted'],
  ])('of %s must be of its kind', (dtype, value, problem) => {
    expect(() => resolveOne(value, dtype, [1])).toThrow(broken(`output 'a' of model 'm' is ${problem}`));
  });
});

describe('an output that is a plain array', () => {
  it('has the shape of its nesting', () => {
    expect(resolveOne([[1, 2], [3, 4]], 'float32', [-1], 2)).toEqual(Tensor.from('float32', [[1, 2], [3, 4]])); // prettier-ignore
    expect(resolveOne([['a']], 'string', [1])).toEqual(Tensor.from('string', [['a']]));
    expect(resolveOne([['a']], 'bytes', [1])).toEqual(Tensor.from('bytes', [['a']]));
    expect(resolveOne([[true]], 'bool', [1])).toEqual(Tensor.from('bool', [[true]]));
    expect(resolveOne([Float32Array.of(1, 2)], 'float32', [2])).toEqual(Tensor.from('float32', [[1, 2]]));
  });

  it('fills the declared shape when it is flat', () => {
    expect(resolveOne([1, 2, 3, 4], 'int32', [-1], 2)).toEqual(Tensor.from('int32', [1, 2, 3, 4], [2, 2]));
    expect(resolveOne([1, 2], 'int32', [], 2)!.shape).toEqual([2]);
    expect(resolveOne([1, 2], 'int32', [-1], 1, { batching: false })!.shape).toEqual([2]);
    expect(resolveOne([1], 'int32', [], 1, { batching: false })!.shape).toEqual([]);
  });

  it.each<[unknown, string]>([
    [[[1], [2, 3]], ': nested arrays must be rectangular, expected shape [2,1] throughout'],
    [[[1], ['2']], ': element 1 does not fit float32: expected a number, got "2"'],
    [[[1], [undefined]], ': element 1 does not fit float32: expected a number, got undefined'],
    [[1, 2, 3], ' has 3 elements, which do not fill the shape [2,1]'],
    [[[1]], ' has shape [1,1], expected 2 rows in the first dimension, one per row of the input'],
  ])('is refused when it is %o', (value, problem) => {
    expect(() => resolveOne(value, 'float32', [1], 2)).toThrow(broken(`output 'a' of model 'm'${problem}`));
  });
});

describe("an output that is another library's tensor", () => {
  it('is taken without a copy', () => {
    const data = Float32Array.of(1, 2);
    const [output] = resolveOutputs({ a: new OrtTensor('float32', data, [1, 2]) }, two, 1);
    expect(output).toEqual(new Tensor('float32', data, [1, 2]));
    expect(output!.data).toBe(data);
    expect(resolveOne({ data, shape: [2, 1], dtype: 'float32' }, 'float32', [1], 2)!.data).toBe(data);
  });

  it('is converted as a Tensor is, and refused as a Tensor is', () => {
    const integers = new OrtTensor('int64', BigInt64Array.of(1n, 2n), [2, 1]);
    expect(resolveOne(integers, 'float32', [1], 2)).toEqual(Tensor.from('float32', [[1], [2]]));
    expect(() => resolveOne(integers, 'float32', [1], 2, { strict: true })).toThrow(
      broken("output 'a' of model 'm' has dtype int64, expected float32 (strict: true)"),
    );
    expect(() => resolveOne(integers, 'float32', [1], 3)).toThrow('has shape [2,1], expected 3 rows');
  });

  it.each<[unknown, string]>([
    [
      { data: Float32Array.of(1), type: 'float32' },
      "output 'a' of model 'm': an object with data and type is no tensor: it lacks dims (or shape)",
    ],
    [
      { data: () => Float32Array.of(1), shape: [1], dtype: 'float32' },
      "output 'a' of model 'm': the data of a tensor is a function, expected a typed array or a list of strings",
    ],
    [
      { data: Float32Array.of(1), dims: [2], type: 'float32' },
      "output 'a' of model 'm': unexpected number of elements for a tensor of shape [2]. Expected 2, got 1",
    ],
  ])('says what it lacks: %o', (value, message) => {
    expect(() => resolveOne(value, 'float32', [1])).toThrow(broken(message));
  });

  it('is no record of outputs', () => {
    expect(() => resolveOutputs(new OrtTensor('float32', Float32Array.of(1), [1]), two, 1)).toThrow(
      broken(
        "model 'm' returned a tensor for its outputs, expected a record of them by name or a list in declaration order",
      ),
    );
  });
});

it.each<[unknown, string]>([
  [null, 'null'],
  [7, 'a number'],
  ['text', 'a string'],
  [{ values: [1] }, 'a record'],
  [Promise.resolve(row), 'a Promise'],
])('an output cannot be %o', (value, got) => {
  expect(() => resolveOne(value, 'float32', [1])).toThrow(
    broken(`output 'a' of model 'm' is ${got}, expected a Tensor, a typed array or nested arrays`),
  );
});

describe('with strict: true', () => {
  const strict = true;

  it('exact outputs pass', () => {
    const tensor = Tensor.from('float32', [[1, 2, 3]]);
    expect(resolveOne(tensor, 'float32', [3], 1, { strict })).toBe(tensor);
    expect(resolveOne(tensor, 'float32', [-1], 1, { strict })).toBe(tensor);
    expect(resolveOne(Tensor.from('float32', [1]), 'float32', [1], 1, { strict, batching: false })!.shape).toEqual([1]);
    expect(resolveOne([[1, 2, 3]], 'float32', [3], 1, { strict })).toEqual(tensor);
  });

  it('every declared output must be there', () => {
    const config = model([['float32', [1]], ['int32', [1]]], { strict }); // prettier-ignore
    const message = broken(
      "model 'm' returned no output 'b', and strict: true wants every declared output that is asked for",
    );
    expect(() => resolveOutputs({ a: row }, config, 1)).toThrow(message);
    expect(() => resolveOutputs([row, undefined], config, 1)).toThrow(message);
    expect(() => resolveOutputs({ a: row }, config, 1, { requestedOutputs: ['a', 'b'] })).toThrow(message);
  });

  it('an output that nobody asked for may be left out', () => {
    const config = model([['float32', [1]], ['int32', [1]]], { strict }); // prettier-ignore
    for (const result of [{ a: row }, { a: row, b: undefined }, [row, undefined]]) {
      expect(resolveOutputs(result, config, 1, { requestedOutputs: ['a'] })).toEqual([row, undefined]);
    }
    // What is there is checked all the same.
    expect(() => resolveOutputs({ a: row, b: row }, config, 1, { requestedOutputs: ['a'] })).toThrow(
      'has dtype float32, expected int32',
    );
  });

  it.each<[string, unknown, Dtype, readonly number[], string]>([
    [
      'another dtype',
      Tensor.from('float64', [[1]]),
      'float32',
      [1],
      'has dtype float64, expected float32 (strict: true)',
    ],
    [
      'a dtype that would fit',
      Tensor.from('int8', [[1]]),
      'int32',
      [1],
      'has dtype int8, expected int32 (strict: true)',
    ],
    [
      'bytes for numbers',
      Tensor.from('bytes', [['1']]),
      'int32',
      [1],
      'has dtype bytes, expected int32 (strict: true)',
    ],
    [
      'another rank',
      Tensor.from('float32', [[[1]]]),
      'float32',
      [1],
      'has shape [1,1,1], expected [-1,1] (strict: true)',
    ],
    ['too low a rank', Tensor.from('float32', [1]), 'float32', [1], 'has shape [1], expected [-1,1] (strict: true)'],
    [
      'other dimensions',
      Tensor.from('float32', [[1, 2]]),
      'float32',
      [3],
      'has shape [1,2], expected [-1,3] (strict: true)',
    ],
    ['nested arrays of other dimensions', [[1, 2]], 'float32', [3], 'has shape [1,2], expected [-1,3] (strict: true)'],
  ])('%s is refused', (_, value, dtype, shape, problem) => {
    expect(() => resolveOne(value, dtype, shape, 1, { strict })).toThrow(broken(`output 'a' of model 'm' ${problem}`));
  });

  it('dimensions are checked without a batch axis too', () => {
    expect(() => resolveOne(Tensor.from('float32', [1, 2]), 'float32', [3], 1, { strict, batching: false })).toThrow(
      broken("output 'a' of model 'm' has shape [2], expected [3] (strict: true)"),
    );
  });
});
