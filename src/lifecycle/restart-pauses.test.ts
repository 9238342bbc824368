import { describe, expect, it } from 'vitest';

import { RestartPauses } from './restart-pauses.js';

describe('RestartPauses', () => {
  it('are none at first, then double up to ten seconds', () => {
    const pauses = new RestartPauses();
    const taken = Array.from({ length: 10 }, () => pauses.next(0));
    expect(taken).toEqual([0, 100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
  });

  it('begin anew after a life of more than ten seconds', () => {
    const pauses = new RestartPauses();
    const taken = [5000, 10_000, 10_001, 0].map((lived) => pauses.next(lived));
    expect(taken).toEqual([0, 100, 0, 100]);
  });
});
