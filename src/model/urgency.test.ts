import { expect, it } from 'vitest';

import { urgencyOf } from './urgency.js';

function together(...requests: readonly (readonly [priority: number, timeout: number])[]) {
  const { priority, timeoutMicroseconds } = urgencyOf(
    requests.map(([level, timeout]) => ({ priority: level, timeoutMicroseconds: timeout })),
  );
  return [priority, timeoutMicroseconds];
}

it('is that of a single request', () => {
  expect(together([2, 500])).toEqual([2, 500]);
  expect(together([0, 0])).toEqual([0, 0]);
  expect(together()).toEqual([0, 0]);
});

it('is the most urgent level that any of several requests names', () => {
  expect(together([3, 0], [1, 0], [2, 0])).toEqual([1, 0]);
  expect(together([0, 0], [2, 0])).toEqual([2, 0]);
});

it('is the longest of their timeouts, and none where one of them has none', () => {
  expect(together([0, 500], [0, 900], [0, 700])).toEqual([0, 900]);
  expect(together([0, 500], [0, 0], [0, 700])).toEqual([0, 0]);
  expect(together([0, 0], [0, 700])).toEqual([0, 0]);
});
