import { describe, expect, it } from 'vitest';
import { FloodGuard } from './flood-guard.js';

describe('FloodGuard', () => {
  it('lets a peer waste what it has', () => {
    const guard = new FloodGuard({ floodCredit: 3, floodCreditPerSecond: 0 });
    expect([1, 2, 3, 4].map(() => guard.spend(1))).toEqual([true, true, true, false]);
  });

  it('gives credit back for what is worth its while, and never more than there was', () => {
    const guard = new FloodGuard({ floodCredit: 3, floodCreditPerSecond: 0 });
    guard.earn(10);
    expect(guard.spend(3)).toBe(true);
    guard.earn(1);
    expect(guard.spend(1)).toBe(true);
    expect(guard.spend(1)).toBe(false);
  });

  it('gives credit back with time', () => {
    const guard = new FloodGuard({ floodCredit: 100, floodCreditPerSecond: 20 });
    guard.refill(5000);
    expect(guard.spend(100)).toBe(true);
    guard.refill(5500);
    expect(guard.spend(10)).toBe(true);
    expect(guard.spend(1)).toBe(false);
  });
});
