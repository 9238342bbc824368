import { describe, expect, it } from 'vitest';

import { elementCount, formatShape, matchesShape, sameShape } from './shape.js';

describe('shapes', () => {
  it.each([
    [[], 1],
    [[0], 0],
    [[5], 5],
    [[2, 3, 4], 24],
    [[2, 0, 4], 0],
  ])('%j has %i elements', (shape, count) => {
    expect(elementCount(shape)).toBe(count);
  });

  it.each([
    [[], '[]'],
    [[-1, 224, 3], '[-1,224,3]'],
  ])('%j prints as %s', (shape, text) => {
    expect(formatShape(shape)).toBe(text);
  });

  it.each([
    [[], [], true],
    [[1, 2], [1, 2], true],
    [[1, 2], [1, 3], false],
    [[1, 2], [1], false],
    [[1], [1, 2], false],
    [[-1], [2], false],
  ])('%j and %j are the same: %s', (a, b, same) => {
    expect(sameShape(a, b)).toBe(same);
  });

  it.each([
    [[], [], true],
    [[-1], [7], true],
    [[-1, 3], [0, 3], true],
    [[-1, 3], [2, 4], false],
    [[-1], [2, 2], false],
    [[2, 2], [2], false],
  ])('the declared %j matches %j: %s', (spec, shape, matches) => {
    expect(matchesShape(spec, shape)).toBe(matches);
  });
});
