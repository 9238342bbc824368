import { describe, expect, it } from 'vitest';

import { decoratorOf, markDecorated, marksOf } from './decorated.js';

const raw = () => [];

describe('markDecorated', () => {
  it('leaves a mark that nobody sees by accident', () => {
    const callable = markDecorated(() => [], 'batch', raw);
    expect(decoratorOf(callable)).toBe('batch');
    expect(Object.keys(callable)).toEqual([]);
    expect(decoratorOf(raw)).toBeUndefined();
    expect(decoratorOf({ infer: raw })).toBeUndefined();
    expect(decoratorOf(undefined)).toBeUndefined();
  });

  it('gives the callable back', () => {
    const callable = () => [];
    expect(markDecorated(callable, 'stream', raw)).toBe(callable);
  });
});

describe('marksOf', () => {
  it('lists the decorators from the outermost to the one around the user’s function', () => {
    const check = () => undefined;
    const inner = markDecorated(() => [], 'groupByValues', raw, check);
    const outer = markDecorated(() => [], 'batch', inner);
    expect(marksOf(outer)).toEqual([
      { decorator: 'batch', inner, check: undefined },
      { decorator: 'groupByValues', inner: raw, check },
    ]);
    expect(marksOf(raw)).toEqual([]);
  });

  it('ends at a decorator of somebody else', () => {
    const theirs = () => markDecorated(() => [], 'batch', raw);
    expect(marksOf(markDecorated(() => [], 'groupByKeys', theirs))).toHaveLength(1);
  });
});
