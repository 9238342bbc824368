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
    ['y', 'x'],
    ['', 'x'],
    ['responseCache', undefined],
    ['completely different', undefined],
  ])('%j is near to %j', (name, expected) => {
    expect(nearest(name, known)).toBe(expected);
  });

  it('takes the first of equally near names', () => {
    expect(nearest('abd', ['abc', 'abe'])).toBe('abc');
    expect(nearest('abe', ['abc', 'abe'])).toBe('abe');
  });

  it('finds none among none', () => {
    expect(nearest('a', [])).toBeUndefined();
  });
});
