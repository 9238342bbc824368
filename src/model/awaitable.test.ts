import { describe, expect, it } from 'vitest';

import { disownPromises, isPromiseLike } from './awaitable.js';

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

describe('disownPromises', () => {
  it('lets no rejection of the value, or of its members, go unhandled', async () => {
    const rejected = () => Promise.reject(new Error('not seen'));
    for (const value of [rejected(), [1, rejected()], { y: rejected() }, null, 'text', Float32Array.of(1)]) {
      disownPromises(value);
    }
    // A rejection that nobody takes would fail this file.
    await new Promise((resolve) => setImmediate(resolve));
    expect.assertions(0);
  });
});
