import { expect, it } from 'vitest';

import { Tensor } from '../tensor/tensor.js';
import { describeValue } from './describe-value.js';

it.each([
  [undefined, 'undefined'],
  [null, 'null'],
  [[1], 'a list'],
  [7, 'a number'],
  ['x', 'a string'],
  [() => 1, 'a function'],
  [{}, 'a record'],
  [Object.create(null), 'a record'],
  [new (class Classifier {})(), 'a Classifier'],
  [new (class {})(), 'a record'],
  [new Map(), 'a Map'],
  [Float32Array.of(1), 'a Float32Array'],
  [Tensor.from('int8', [1]), 'a Tensor'],
  [Promise.resolve(), 'a Promise'],
])('describes %o', (value, description) => {
  expect(describeValue(value)).toBe(description);
});
