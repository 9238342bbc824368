import { describe, expect, it } from 'vitest';

import { ConnectionLimit, possibleConnections } from './connection-limit.js';

function connection(limit: ConnectionLimit, idleFor: number, hasServed: boolean) {
  const one = { idleFor, hasServed, isClosed: false, closeIdle: () => void (one.isClosed = true) };
  limit.add(one);
  return one;
}

describe('a limit of connections', () => {
  it('admits so many, then some for those who ask how the server is, and then none', () => {
    const limit = new ConnectionLimit(3);
    const admissions = Array.from({ length: 22 }, () => {
      const admission = limit.admit();
      if (admission !== 'refused') connection(limit, 0, true);
      return admission;
    });
    expect(admissions).toEqual([
      ...Array<string>(3).fill('whole'),
      ...Array<string>(16).fill('spare'),
      ...Array<string>(3).fill('refused'),
    ]);
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
      expect(limit.admit()).toBe('whole');
      expect(closed()).toEqual(expected);
      connection(limit, 0, true);
    }
    expect(limit.admit()).toBe('spare');
  });

  it('takes no place of one that has become busy since it was looked for', () => {
    const limit = new ConnectionLimit(2);
    const [first, second] = [connection(limit, 9000, true), connection(limit, 8000, true)];
    expect([limit.admit(), first.isClosed]).toEqual(['whole', true]);
    connection(limit, 0, true);
    second.idleFor = 0;
    expect([limit.admit(), second.isClosed]).toEqual(['spare', false]);
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
