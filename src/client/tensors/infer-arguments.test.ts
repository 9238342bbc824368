import { Tensor as OrtTensor } from 'onnxruntime-node';
import { describe, expect, it } from 'vitest';

import { Tensor } from '../../tensor/tensor.js';
import { inferArguments } from './infer-arguments.js';

const a = Float32Array.of(1);
const b = Tensor.from('int32', [2]);
const foreign = new OrtTensor('float32', a, [1]);
const record = { a, b };
const options = { timeoutMs: 5 };

describe('the arguments of a call', () => {
  it.each<[string, readonly unknown[], unknown, unknown]>([
    ['a record', [record], record, undefined],
    ['a record and options', [record, options], record, options],
    ['a record and no options', [record, undefined], record, undefined],
    ['a list', [[a, b]], [a, b], undefined],
    ['a list and options', [[a, b], options], [a, b], options],
    ['values', [a, b], [a, b], undefined],
    ['values and options', [a, b, options], [a, b], options],
    ['one value', [a], [a], undefined],
    ['one value and options', [b, options], [b], options],
    ['plain values', [1, 'text'], [1, 'text'], undefined],
    ['plain arrays', [[1, 2], [3, 4]], [[1, 2], [3, 4]], undefined], // prettier-ignore
    ['plain arrays and options', [[1], [2], options], [[1], [2]], options],
    ['a value left out in the middle', [a, undefined, b], [a, undefined, b], undefined],
    ['a value left out at the end', [a, undefined], [a], undefined],
    ["another library's tensor", [foreign], [foreign], undefined],
    ["another library's tensor behind a value", [a, foreign], [a, foreign], undefined],
    ['inputs that are named as members of tensors', [{ data: a, shape: b }], { data: a, shape: b }, undefined],
    ['nothing', [], [], undefined],
    ['a record and what are no options', [record, 5], record, 5],
    ['a record and what are no options either', [record, [a], options], record, [a]],
  ])('may be %s', (_, args, inputs, given) => {
    expect(inferArguments(args)).toEqual({ inputs, options: given });
  });
});
