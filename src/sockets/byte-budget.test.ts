import { describe, expect, it } from 'vitest';

import { ByteBudget, type ByteShare } from './byte-budget.js';

const MIB = 1 << 20;
/** 896 MiB for what is large, 128 MiB for requests of up to 1 MiB. */
const LIMIT = 1024 * MIB;

function open(budget: ByteBudget) {
  const owner = {
    isStalled: false,
    evictions: 0,
    evict() {
      owner.evictions++;
      share.close();
    },
  };
  const share: ByteShare = budget.open(owner);
  return { share, owner };
}

describe('a budget of bytes', () => {
  it('gives what there is, and then nothing until something is given back', () => {
    const budget = new ByteBudget(LIMIT);
    const [a, b, c] = [open(budget), open(budget), open(budget)].map(({ share }) => share) as [
      ByteShare,
      ByteShare,
      ByteShare,
    ];
    expect([a.change(0, 400 * MIB), b.change(0, 400 * MIB), c.change(0, 400 * MIB)]).toEqual([true, true, false]);
    expect(budget.held).toBe(800 * MIB);
    a.give(400 * MIB);
    expect(c.change(0, 400 * MIB)).toBe(true);
    c.close();
    b.close();
    expect(budget.held).toBe(0);
  });

  it('keeps a part for small requests, whatever large ones hold', () => {
    const budget = new ByteBudget(LIMIT);
    const [large, small] = [open(budget).share, open(budget).share];
    expect(large.change(0, 5000 * MIB)).toBe(true);
    expect(small.change(0, 2 * MIB)).toBe(false);
    for (let i = 0; i < 64; i++) expect(small.change(0, MIB)).toBe(true);
  });

  it('lets no connection have more than half of either part, but for one request', () => {
    const budget = new ByteBudget(LIMIT);
    const [a, b] = [open(budget).share, open(budget).share];
    expect([b.change(0, 2 * MIB), a.change(0, 800 * MIB), a.change(0, 2 * MIB)]).toEqual([true, true, false]);
    a.give(800 * MIB);
    expect([a.change(0, 400 * MIB), a.change(0, 48 * MIB), a.change(0, 2 * MIB)]).toEqual([true, true, false]);
    expect(b.change(0, 400 * MIB)).toBe(true);
  });

  it('takes a request of any size alone', () => {
    const budget = new ByteBudget(LIMIT);
    const [a, b] = [open(budget).share, open(budget).share];
    expect([a.change(0, 3 * LIMIT), b.change(0, 2 * MIB)]).toEqual([true, false]);
    a.give(3 * LIMIT);
    expect([b.change(0, 2 * MIB), a.change(0, 3 * LIMIT)]).toEqual([true, false]);
  });

  it('lets nothing grow beyond it that did not say how large it is, like what is inflated', () => {
    const budget = new ByteBudget(LIMIT);
    const { share } = open(budget);
    expect([share.change(0, MIB), share.change(MIB, 896 * MIB), share.change(896 * MIB, 897 * MIB)]).toEqual([
      true,
      true,
      false,
    ]);
  });

  it('changes what a request holds, or leaves it as it is', () => {
    const budget = new ByteBudget(LIMIT);
    const [a, b] = [open(budget).share, open(budget).share];
    b.change(0, 600 * MIB);
    expect(a.change(0, 1000)).toBe(true);
    expect(a.change(1000, 200 * MIB)).toBe(true);
    expect(a.bytes).toBe(200 * MIB);
    expect(a.change(200 * MIB, 400 * MIB)).toBe(false);
    expect(a.bytes).toBe(200 * MIB);
    expect(a.change(200 * MIB, 10)).toBe(true);
    expect(budget.held).toBe(600 * MIB + 10);
  });

  it('counts answers that are not read, which leave no room for others', () => {
    const budget = new ByteBudget(LIMIT);
    const [a, b] = [open(budget).share, open(budget).share];
    a.unread(500 * MIB);
    expect([a.admits(2 * MIB), a.admits(1000), b.admits(396 * MIB), b.admits(397 * MIB)]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    a.unread(2000 * MIB);
    expect([b.admits(2 * MIB), b.admits(1000)]).toEqual([false, true]);
    a.unread(0);
    expect(budget.held).toBe(0);
  });

  it('makes room at the cost of connections that stand still, as few as it takes, and of no others', () => {
    const budget = new ByteBudget(LIMIT);
    const [least, most, busy, good] = [open(budget), open(budget), open(budget), open(budget)] as const;
    least.share.change(0, 100 * MIB);
    most.share.change(0, 400 * MIB);
    busy.share.change(0, 390 * MIB);
    least.owner.isStalled = most.owner.isStalled = true;
    expect(good.share.change(0, 300 * MIB)).toBe(true);
    expect([least, most, busy, good].map(({ owner }) => owner.evictions)).toEqual([0, 1, 0, 0]);
  });
});
