import { describe, expect, it } from 'vitest';

import { ConnectionLimit, possibleConnections, type Admission } from './connection-limit.js';

const ADDRESS = '192.0.2.1';

function connection(
  limit: ConnectionLimit,
  idleFor: number,
  hasServed: boolean,
  address = ADDRESS,
  as: Admission = 'whole',
) {
  const one = { idleFor, hasServed, isClosed: false, closeIdle: () => void (one.isClosed = true) };
  limit.add(one, address, as);
  return one;
}

describe('a limit of connections', () => {
  it('admits so many, then some for those who ask how the server is, and the newest of them stay', () => {
    const limit = new ConnectionLimit(3);
    const all = Array.from({ length: 22 }, () => {
      const admission = limit.admit(ADDRESS);
      return { admission, one: connection(limit, 0, false, ADDRESS, admission) };
    });
    expect(all.map(({ admission }) => admission)).toEqual([
      ...Array<string>(3).fill('whole'),
      ...Array<string>(19).fill('spare'),
    ]);
    expect(all.map(({ one }) => one.isClosed)).toEqual(all.map((_, i) => i >= 3 && i < 6));
    expect(limit.admit(ADDRESS, false)).toBe('refused');
    expect(all.filter(({ one }) => one.isClosed)).toHaveLength(3);
  });

  it('lets a new one have the place of one that is idle: silent ones first, then those that are idle longest', () => {
    const limit = new ConnectionLimit(5);
    const kept = connection(limit, 5000, true);
    const keptLonger = connection(limit, 9000, true);
    const silent = connection(limit, 2000, false);
    const fresh = connection(limit, 500, false);
    const busy = connection(limit, 0, true);
    const closed = () => [silent, keptLonger, kept, fresh, busy].filter(({ isClosed }) => isClosed);
    for (const expected of [[silent], [silent, keptLonger], [silent, keptLonger, kept]]) {
      expect(limit.admit(ADDRESS)).toBe('whole');
      expect(closed()).toEqual(expected);
      connection(limit, 0, true);
    }
    expect(limit.admit(ADDRESS)).toBe('spare');
  });

  it('takes no place of one that has become busy since it was looked for', () => {
    const limit = new ConnectionLimit(2);
    const [first, second] = [connection(limit, 9000, true), connection(limit, 8000, true)];
    expect([limit.admit(ADDRESS), first.isClosed]).toEqual(['whole', true]);
    connection(limit, 0, true);
    second.idleFor = 0;
    expect([limit.admit(ADDRESS), second.isClosed]).toEqual(['spare', false]);
  });

  it('keeps a fifth of all places from one address, and lets each address have sixteen', () => {
    const limit = new ConnectionLimit(200);
    const connect = (address: string, wanted: number) =>
      Array.from({ length: wanted }, () => {
        const admission = limit.admit(address);
        if (admission === 'whole') connection(limit, 0, true, address);
        return admission;
      }).filter((admission) => admission === 'whole').length;
    expect(connect('192.0.2.1', 300)).toBe(160);
    expect(connect('2001:db8::1', 20)).toBe(20);
    // The same subscriber's network.
    expect(connect('2001:db8::2', 300)).toBe(12);
    expect(connect('192.0.2.3', 16)).toBe(8);
  });

  it('takes no place of others for those who ask how the server is', () => {
    const limit = new ConnectionLimit(20);
    const connect = (address: string) => {
      const admission = limit.admit(address);
      return { admission, one: connection(limit, 0, false, address, admission) };
    };
    const own = Array.from({ length: 32 }, () => connect(ADDRESS));
    expect(own.filter(({ admission }) => admission === 'spare')).toHaveLength(16);
    expect(Array.from({ length: 4 }, () => connect('192.0.2.2').admission)).toEqual(Array<string>(4).fill('whole'));
    expect(limit.admit('192.0.2.2', false)).toBe('refused');
  });

  it('takes no idle place of an address for one that has more', () => {
    const limit = new ConnectionLimit(40);
    for (let i = 0; i < 30; i++) connection(limit, 0, true);
    const others = Array.from({ length: 10 }, () => connection(limit, 60_000, true, '192.0.2.2'));
    expect(limit.admit(ADDRESS)).toBe('spare');
    expect(others.some(({ isClosed }) => isClosed)).toBe(false);
    expect(limit.admit('192.0.2.3')).toBe('whole');
    expect(others.filter(({ isClosed }) => isClosed)).toHaveLength(1);
  });

  it('gives an address its share back as its connections end', () => {
    const limit = new ConnectionLimit(200);
    const all = Array.from({ length: 160 }, () => connection(limit, 0, true));
    expect(limit.admit(ADDRESS)).toBe('spare');
    for (const one of all.slice(0, 10)) limit.remove(one);
    expect(limit.admit(ADDRESS)).toBe('whole');
  });

  it('leaves files for other things than connections', () => {
    expect([
      possibleConnections(10_000, 1024),
      possibleConnections(10_000, 64),
      possibleConnections(100, 1024),
    ]).toEqual([896, 32, 100]);
    expect(possibleConnections(10_000, 1_000_000)).toBe(10_000);
  });
});
