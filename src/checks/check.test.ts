import { describe, expect, it } from 'vitest';

import { Tensor } from '../tensor/tensor.js';
import * as check from './check.js';
import { checkMembers, describeValue, expectBoolean, expectInteger } from './check.js';

function invalid(message: string) {
  return expect.objectContaining({ code: 'INVALID_ARG', message });
}

describe('checkMembers', () => {
  it('takes objects of known members, all or none', () => {
    expect(() => checkMembers({}, ['a'], 'options')).not.toThrow();
    expect(() => checkMembers({ a: 1, b: undefined }, ['a', 'b'], 'options')).not.toThrow();
  });

  it('takes objects without a prototype, of classes, and modules', () => {
    expect(() => checkMembers(Object.assign(Object.create(null), { a: 1 }), ['a'], 'options')).not.toThrow();
    expect(() =>
      checkMembers(
        new (class Options {
          a = 1;
        })(),
        ['a'],
        'options',
      ),
    ).not.toThrow();
    expect(() => checkMembers(check, Object.keys(check), 'options')).not.toThrow();
  });

  it('suggests the known member that a misspelt one is near to', () => {
    expect(() => checkMembers({ maxBatchsize: 1 }, ['batching', 'maxBatchSize'], 'config')).toThrow(
      invalid("config has an unknown option 'maxBatchsize'; did you mean 'maxBatchSize'?"),
    );
  });

  it('lists the known members when none is near', () => {
    expect(() => checkMembers({ colour: 1 }, ['batching', 'maxBatchSize'], 'config')).toThrow(
      invalid("config has an unknown option 'colour'; known are batching, maxBatchSize"),
    );
  });

  it.each([
    [null, 'null'],
    [undefined, 'undefined'],
    [[], 'a list'],
    ['text', 'string'],
    [7, 'number'],
    [() => 0, 'function'],
    [new Map([['a', 1]]), 'a Map'],
    [new Date(0), 'a Date'],
  ])('refuses %o, which is no object', (value, got) => {
    expect(() => checkMembers(value, [], 'config')).toThrow(invalid(`config must be an object, got ${got}`));
  });
});

describe('expectInteger', () => {
  it.each([0, 5, 10])('gives %i back, which is from 0 to 10', (value) => {
    expect(expectInteger(value, 0, 10, 'x')).toBe(value);
  });

  it.each([
    [-1, '-1'],
    [11, '11'],
    [1.5, '1.5'],
    [NaN, 'NaN'],
    [Infinity, 'Infinity'],
    [2 ** 53, '9007199254740992'],
    ['5', '"5"'],
    [5n, '5n'],
    [true, 'true'],
    [null, 'null'],
    [[], 'a list'],
    [[5], 'a list'],
    [{}, 'an object'],
    [() => 5, 'function'],
  ])('refuses %o for an integer from 0 to 10', (value, got) => {
    expect(() => expectInteger(value, 0, 10, 'x')).toThrow(invalid(`x must be an integer from 0 to 10, got ${got}`));
  });

  it('names only the lower end where there is no upper one', () => {
    expect(expectInteger(Number.MAX_SAFE_INTEGER, 1, Number.MAX_SAFE_INTEGER, 'x')).toBe(Number.MAX_SAFE_INTEGER);
    expect(() => expectInteger(0, 1, Number.MAX_SAFE_INTEGER, 'x')).toThrow(
      invalid('x must be an integer >= 1, got 0'),
    );
  });

  it.each([
    [2 ** 53, '9007199254740992'],
    [2 ** 64 - 1, '18446744073709552000'],
  ])('names both ends to whom %d is too large', (value, got) => {
    expect(() => expectInteger(value, 1, Number.MAX_SAFE_INTEGER, 'x')).toThrow(
      invalid(`x must be an integer from 1 to 9007199254740991, got ${got}`),
    );
  });
});

describe('expectBoolean', () => {
  it('gives booleans back', () => {
    expect(expectBoolean(true, 'x')).toBe(true);
    expect(expectBoolean(false, 'x')).toBe(false);
  });

  it.each([
    [0, '0'],
    ['true', '"true"'],
    [null, 'null'],
    [undefined, 'undefined'],
  ])('refuses %o', (value, got) => {
    expect(() => expectBoolean(value, 'x')).toThrow(invalid(`x must be true or false, got ${got}`));
  });
});

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
