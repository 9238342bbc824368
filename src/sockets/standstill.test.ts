import { describe, expect, it } from 'vitest';

import { Standstill } from './standstill.js';

describe('a standstill', () => {
  it('lasts from the first look that found the figure as it was, while something has to move', () => {
    const standstill = new Standstill();
    expect(standstill.look(1000, true, 5)).toBe(0);
    expect(standstill.look(1500, true, 5)).toBe(500);
    expect(standstill.look(2000, true, 6)).toBe(0);
    expect(standstill.look(2500, true, 6)).toBe(500);
    expect(standstill.look(3000, false, 6)).toBe(0);
    expect(standstill.look(3500, true, 6)).toBe(0);
    expect(standstill.look(4500, true, 6)).toBe(1000);
  });
});
