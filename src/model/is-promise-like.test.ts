import { describe, expect, it } from 'vitest';

import { isPromiseLike } from './is-promise-like.js';

describe('isPromiseLike', () => {
  it('is true for promises and other thenables', () => {
    class Thenable {
      // oxlint-disable-next-line unicorn/no-thenable -- what is tested
      then() {}
    }
    expect(isPromiseLike(Promise.resolve())).toBe(true);
    expect(isPromiseLike(new Thenable())).toBe(true);
  });

  it.each([[null], [undefined], [{}], ['then'], [[]], [() => 0]])('is false for %o', (value) => {
    expect(isPromiseLike(value)).toBe(false);
  });
});
