import { describe, expect, it } from 'vitest';

import { nearest } from './nearest.js';

describe('nearest', () => {
  const known = ['maxBatchSize', 'batching', 'batcher', 'x'];

  it.each([
    ['maxBatchSize', 'maxBatchSize'],
    ['maxbatchsize', 'maxBatchSize'],
    ['max_batch_size', 'maxBatchSize'],
    ['maxBatch', undefined],
    ['bacher', 'batcher'],
    ['bathcing', 'batching'],
    ['y', undefined],
    ['', undefined],
    ['zz', undefined],
    ['xx', 'x'],
    ['X', 'x'],
    ['responseCache', undefined],
    ['completely different', undefined],
  ])('%j is near to %j', (name, expected) => {
    expect(nearest(name, known)).toBe(expected);
  });

  it('does not take a short name for another one that shares nothing with it', () => {
    expect(nearest('run', ['sum', 'max'])).toBeUndefined();
    expect(nearest('cuont', ['count'])).toBe('count');
  });

  it('takes the first of equally near names', () => {
    expect(nearest('abd', ['abc', 'abe'])).toBe('abc');
    expect(nearest('abe', ['abc', 'abe'])).toBe('abe');
  });

  it('finds none among none', () => {
    expect(nearest('a', [])).toBeUndefined();
  });
});
