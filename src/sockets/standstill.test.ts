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

  it('is not ended by less than counts, until that has come together', () => {
    const standstill = new Standstill(10);
    standstill.look(0, true, 5);
    expect(standstill.look(1000, true, 10)).toBe(1000);
    expect(standstill.look(2000, true, 14)).toBe(2000);
    expect(standstill.look(3000, true, 15)).toBe(0);
    expect(standstill.look(4000, true, 6)).toBe(1000);
    expect(standstill.look(5000, true, 5)).toBe(0);
  });
});
