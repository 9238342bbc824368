import { describe, expect, it } from 'vitest';

import { ByteBudget, type HeldRequest, type ShareOwner } from './byte-budget.js';

const MIB = 1 << 20;
/** 896 MiB for what is large, 128 MiB for requests of up to 1 MiB. */
const LIMIT = 1024 * MIB;

function request(): HeldRequest {
  return { heldBytes: 0, wholeBytes: 0, isLarge: false };
}

let connections = 0;

/** A connection with requests, of which those that are coming can be refused. */
class Connection implements ShareOwner {
  readonly share;
  readonly requests: HeldRequest[] = [];
  isStalled = false;
  evictions = 0;
  refusals = 0;

  /** Each has an address of its own, unless told. */
  constructor(budget: ByteBudget, address = `client ${++connections}`) {
    this.share = budget.open(this, address);
  }

  /** A further request that holds so much, of `whole` that it says; false when there is no room. */
  add(bytes: number, whole?: number): boolean {
    const one = request();
    this.requests.push(one);
    return this.share.hold(one, bytes, whole);
  }

  /** Another request of one megabyte after the other, as long as there is room; how many there are in all. */
  fill(most = 10_000, bytes = 2 * MIB): number {
    let count = 0;
    while (count < most && this.add(bytes)) count++;
    return count;
  }

  evict(): void {
    this.evictions++;
    this.share.close();
  }

  largestUpload(isLarge: boolean): HeldRequest | undefined {
    const uploads = this.requests.filter((one) => one.isLarge === isLarge && one.wholeBytes > one.heldBytes);
    return uploads.sort((a, b) => b.heldBytes - a.heldBytes)[0];
  }

  refuseUpload(upload: HeldRequest): void {
    this.refusals++;
    this.share.hold(upload, 0);
  }
}

function open(count: number, addresses: readonly string[] = []) {
  const budget = new ByteBudget(LIMIT);
  const connections = Array.from({ length: count }, (_, i) => new Connection(budget, addresses[i]));
  return [budget, ...connections] as unknown as [ByteBudget, Connection, Connection, Connection];
}

describe('a budget of bytes', () => {
  it('counts what is here, and nothing that is only said', () => {
    const [budget, a, b] = open(2);
    expect(a.add(1, 2000 * MIB)).toBe(true);
    expect(budget.held).toBe(1);
    expect(b.add(400 * MIB)).toBe(true);
    expect(budget.held).toBe(400 * MIB + 1);
    a.share.close();
    b.share.close();
    expect(budget.held).toBe(0);
  });

  it('lets a connection hold no more than it leaves to others', () => {
    const [, a, b, c] = open(3);
    // Half, a quarter, an eighth, as two megabytes fit in.
    expect([a.fill(), b.fill(), c.fill()]).toEqual([224, 112, 56]);
    a.share.close();
    expect(b.fill()).toBe(84);
  });

  it('lets the connections of one address together hold four fifths, and those of another four fifths of what they leave', () => {
    const addresses = [
      ...Array.from({ length: 300 }, () => '10.0.0.1'),
      ...Array.from({ length: 300 }, () => '10.0.0.2'),
    ];
    const [, ...connections] = open(600, addresses);
    const filled = (from: number) =>
      connections.slice(from, from + 300).reduce((sum, one) => sum + one.fill(2), 0) * 2 * MIB;
    expect(filled(0) / (896 * MIB)).toBeCloseTo(0.8, 1);
    expect(filled(300) / (896 * MIB)).toBeCloseTo(0.16, 1);
  });

  it('has one request no larger than half of the part for large ones', () => {
    const [budget, a] = open(1);
    expect(budget.largestRequest).toBe(448 * MIB);
    expect([a.add(448 * MIB), a.add(2 * MIB)]).toEqual([true, false]);
    a.share.hold(a.requests[0]!, 0);
    expect(a.add(448 * MIB + 1)).toBe(false);
  });

  it('keeps a part for small requests, whatever large ones hold and however little has come of them', () => {
    const [, a, b] = open(2);
    a.fill();
    for (let i = 0; i < 1000; i++) a.add(500_000, 2 * MIB);
    expect(b.fill(64, MIB)).toBe(64);
  });

  it('changes what a request holds, or leaves it as it is', () => {
    const [budget, a, b] = open(2);
    const [one, other] = [request(), request()];
    expect([b.share.hold(other, 400 * MIB), a.share.hold(one, 1000), a.share.hold(one, 200 * MIB)]).toEqual([
      true,
      true,
      true,
    ]);
    expect([a.share.bytes, one]).toEqual([200 * MIB, { heldBytes: 200 * MIB, wholeBytes: 200 * MIB, isLarge: true }]);
    expect(a.share.hold(one, 300 * MIB)).toBe(false);
    expect([a.share.bytes, one.heldBytes]).toEqual([200 * MIB, 200 * MIB]);
    expect(a.share.hold(one, 10)).toBe(true);
    expect(budget.held).toBe(400 * MIB + 10);
  });

  it('counts answers that are not read, which leave no room for others', () => {
    const [budget, a, b] = open(2);
    a.share.unread(500 * MIB);
    expect([
      a.share.admits(2 * MIB),
      a.share.admits(1000),
      b.share.admits(396 * MIB),
      b.share.admits(397 * MIB),
    ]).toEqual([false, true, true, false]);
    a.share.unread(2000 * MIB);
    expect([b.share.admits(2 * MIB), b.share.admits(1000)]).toEqual([false, true]);
    a.share.unread(0);
    expect([budget.held, b.share.admits(5000 * MIB)]).toEqual([0, true]);
  });

  it('makes room at the cost of connections that stand still, as few as it takes, and of no others', () => {
    const [budget, least, most, busy] = open(3);
    const good = new Connection(budget);
    most.add(390 * MIB);
    busy.add(200 * MIB);
    least.add(100 * MIB);
    least.isStalled = most.isStalled = true;
    expect(good.add(290 * MIB)).toBe(true);
    expect([least, most, busy, good].map(({ evictions }) => evictions)).toEqual([0, 1, 0, 0]);
  });

  it('refuses a request whose room an upload keeps that does not end', () => {
    const [budget, a, b] = open(2);
    const good = new Connection(budget);
    a.refuseUpload = () => void a.refusals++;
    expect([a.add(440 * MIB, 448 * MIB), b.add(220 * MIB, 448 * MIB)]).toEqual([true, true]);
    expect(good.add(210 * MIB)).toBe(false);
    expect([a.refusals, b.refusals, budget.held]).toEqual([1, 0, 660 * MIB]);
  });

  it('counts nothing of a connection that had to end itself to make room', () => {
    const [budget, a] = open(1);
    const one = request();
    a.isStalled = true;
    expect([a.share.hold(one, 10 * MIB), a.add(430 * MIB)]).toEqual([true, true]);
    expect(a.share.hold(one, 20 * MIB)).toBe(false);
    expect([a.evictions, budget.held, one.heldBytes]).toEqual([1, 0, 0]);
  });

  it('counts nothing of a request that had to make room for itself', () => {
    const [budget, a] = open(1);
    const one = request();
    a.isStalled = true;
    a.evict = () => expect(a.share.hold(one, 0)).toBe(true);
    expect([a.share.hold(one, 10 * MIB), a.add(430 * MIB)]).toEqual([true, true]);
    expect(a.share.hold(one, 20 * MIB)).toBe(false);
    expect([budget.held, one.heldBytes]).toEqual([430 * MIB, 0]);
    expect(a.share.hold(one, 5 * MIB)).toBe(true);
    expect(budget.held).toBe(435 * MIB);
  });

  it('makes room at the cost of unfinished requests that are far larger, the largest first', () => {
    const [budget, a, b, c] = open(3);
    const good = new Connection(budget);
    expect([a.add(440 * MIB, 448 * MIB), b.add(220 * MIB, 448 * MIB), c.add(110 * MIB, 448 * MIB)]).toEqual([
      true,
      true,
      true,
    ]);
    expect(good.add(90 * MIB)).toBe(true);
    expect([a, b, c, good].map(({ refusals }) => refusals)).toEqual([1, 0, 0, 0]);
  });

  it('makes room at the cost of a connection that holds very much more, though none of its requests is far larger', () => {
    const [budget, a, b, c] = open(3, ['x', 'x', 'x']);
    const good = new Connection(budget, 'x');
    for (let i = 0; i < 8; i++) expect(a.add(50 * MIB, 100 * MIB)).toBe(true);
    b.fill();
    c.fill();
    expect(good.add(60 * MIB)).toBe(false);
    good.share.looksAgainAt = 0;
    expect(good.add(40 * MIB)).toBe(true);
    expect([a, b, c, good].map(({ refusals }) => refusals)).toEqual([1, 0, 0, 0]);
  });

  it('refuses no request that has come whole, nor one for another that says it will be as large', () => {
    const [, whole, coming, good] = open(3);
    expect([whole.add(440 * MIB), coming.add(220 * MIB, 230 * MIB)]).toEqual([true, true]);
    expect(good.add(130 * MIB)).toBe(false);
    expect([whole.refusals, coming.refusals]).toEqual([0, 0]);
  });

  it('makes room for a client whose address holds far less, whatever each connection holds', () => {
    const [, ...connections] = open(201, [...Array.from({ length: 200 }, () => '10.0.0.1'), '10.0.0.2']);
    const good = connections.pop()!;
    for (const one of connections) one.add(4 * MIB, 5 * MIB);
    expect(good.fill(8, 20 * MIB)).toBe(8);
    expect(connections.filter(({ refusals }) => refusals > 0).length).toBeGreaterThan(20);
  });
});
