import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { finishPaced } from '../../pacing/paced-work.js';
import { nestedShape } from './nested-shape.js';

function shapeOf(text: string, declared: readonly number[]): number[] {
  const bytes = Buffer.from(text);
  return finishPaced(nestedShape({ bytes, start: 0, end: bytes.length }, declared, 'input'));
}

describe('nestedShape', () => {
  it.each([
    ['[1,2,3]', [-1], [3]],
    [' [ ] ', [-1], [0]],
    ['[[1,2],[3,4],[5,6]]', [-1, 2], [3, 2]],
    ['[[[1],[2]],[[3],[4]]]', [2, -1, 1], [2, 2, 1]],
    ['[[],[]]', [-1, -1], [2, 0]],
    ['[]', [-1, 3], [0, 3]],
    ['["a[,]b","\\"]","\\\\"]', [-1], [3]],
    ['[["[["],["]]"]]', [-1, 1], [2, 1]],
    ['[\n true , false\t]', [-1], [2]],
    ['[-1.5e+3,NaN]', [-1], [2]],
  ])('finds the lengths of %s', (text, declared, shape) => {
    expect(shapeOf(text, declared)).toEqual(shape);
  });

  it.each([
    ['[[1]]', [-1], 'a flat list, as its shape [-1] says, got a list inside a list of level 1'],
    ['[1,[2]]', [-1, -1], 'nested lists of 2 levels, as its shape [-1,-1] says, got a value in a list of level 1'],
    ['[[1,2],3]', [-1, -1], 'got a value in a list of level 1'],
    ['[[1,2],[3]]', [-1, -1], 'got lists of 2 and of 1 elements at level 2'],
    ['[[],[3]]', [-1, -1], 'got lists of 0 and of 1 elements at level 2'],
    ['[[[1]],[[1],[2]]]', [-1, -1, -1], 'got lists of 1 and of 2 elements at level 2'],
    ['[{"a":[1]}]', [-1], 'got an object inside a list'],
  ])('refuses %s', (text, declared, reason) => {
    expect(() => shapeOf(text, declared)).toThrow(reason);
  });

  it('agrees with the values of any nested lists, however long', () => {
    const dims = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });
    fc.assert(
      fc.property(dims, fc.string({ maxLength: 9 }), (shape, leaf) => {
        const nested = shape.reduceRight<unknown>((inner, length) => new Array<unknown>(length).fill(inner), leaf);
        expect(
          shapeOf(
            JSON.stringify(nested),
            shape.map(() => -1),
          ),
        ).toEqual(shape);
      }),
    );
    // Longer than what is read between two pauses, which fall into strings, escapes and numbers alike.
    const rows = Array.from({ length: 9000 }, (_, i) => [`${'\\"['.repeat(i % 7)}`, String(i)]);
    expect(shapeOf(JSON.stringify(rows), [-1, 2])).toEqual([9000, 2]);
    expect(shapeOf(JSON.stringify(rows.map(([, i]) => [Number(i), 1e300])), [-1, 2])).toEqual([9000, 2]);
  });
});
