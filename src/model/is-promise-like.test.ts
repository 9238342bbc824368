import { describe, expect, it } from 'vitest';

import { isPromiseLike } from './is-promise-like.js';

describe('isPromiseLike', () => {
  it('is true for promises and other thenables', () => {
    const thenable: object = Object.fromEntries([['then', () => undefined]]);
    expect(isPromiseLike(Promise.resolve())).toBe(true);
    expect(isPromiseLike(thenable)).toBe(true);
  });

  it.each([[null], [undefined], [{}], [{ then: 1 }], ['then'], [[]], [() => 0]])('is false for %o', (value) => {
    expect(isPromiseLike(value)).toBe(false);
  });
});
