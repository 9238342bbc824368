import { describe, expect, it } from 'vitest';

import { PingStrikes } from './ping-strikes.js';

const INTERVAL = 1000;
const ANSWER = 17;

/** A connection whose pings are answered at once, one a millisecond, with what else it sends. */
class Connection {
  readonly strikes: PingStrikes;
  bytes = 9;
  unsent = false;
  #now = 0;

  constructor(max = 2) {
    this.strikes = new PingStrikes(max);
  }

  ping(): boolean {
    const tooMany = this.strikes.pinged(this.#now++, INTERVAL, this);
    this.bytes += ANSWER;
    return tooMany;
  }

  /** Pings until one is too many, at most 100 times. */
  pingsToTheEnd(): number {
    let pings = 1;
    while (pings < 100 && !this.ping()) pings++;
    return pings;
  }
}

describe('PingStrikes', () => {
  it('allows one ping and so many more, when nothing else goes either way', () => {
    expect(new Connection().pingsToTheEnd()).toBe(4);
    expect(new Connection(5).pingsToTheEnd()).toBe(7);
  });

  it('allows any number where there is no limit', () => {
    expect(new Connection(0).pingsToTheEnd()).toBe(100);
  });

  it('does not count pings that come late enough', () => {
    const strikes = new PingStrikes(1);
    const pings = [0, 1, 1001, 2001, 3001, 3002].map((now, i) =>
      strikes.pinged(now, INTERVAL, { bytes: ANSWER * i, unsent: false }),
    );
    expect(pings).toEqual([false, false, false, false, false, true]);
  });

  it('begins anew with every piece of data that is sent between two pings', () => {
    const connection = new Connection();
    connection.unsent = true;
    for (let i = 0; i < 50; i++) {
      expect(connection.ping()).toBe(false);
      if (i % 3 === 2) connection.bytes += 10;
    }
    expect(connection.pingsToTheEnd()).toBeLessThanOrEqual(4);
  });

  it('counts on when what is sent is no data of a call', () => {
    const connection = new Connection();
    for (let i = 0; i < 3; i++) {
      expect(connection.ping()).toBe(false);
      connection.bytes += 9;
    }
    expect(connection.ping()).toBe(true);
  });

  it('begins anew with what comes', () => {
    const connection = new Connection();
    for (let i = 0; i < 50; i++) {
      expect(connection.ping()).toBe(false);
      if (i % 3 === 2) connection.strikes.dataMoved();
    }
    expect(connection.pingsToTheEnd()).toBeLessThanOrEqual(4);
  });

  it('counts on while the client takes answers to its pings and no data', () => {
    const connection = new Connection();
    connection.unsent = true;
    expect(connection.pingsToTheEnd()).toBe(4);
  });

  it('does not count while the system takes nothing at all', () => {
    const strikes = new PingStrikes(2);
    const sent = { bytes: 5_000_000, unsent: true };
    for (let now = 0; now < 50; now++) expect(strikes.pinged(now, INTERVAL, sent)).toBe(false);
    // All the answers at once, and no data.
    const after = { bytes: sent.bytes + 50 * ANSWER, unsent: true };
    expect(strikes.pinged(50, INTERVAL, after)).toBe(false);
  });

  it('counts on when many pings come at once while data waits', () => {
    const strikes = new PingStrikes(2);
    let bytes = 9;
    let now = 0;
    /** Says whether any was too many. */
    const burst = () => {
      const tooMany = Array.from({ length: 3 }, () => strikes.pinged(now++, INTERVAL, { bytes, unsent: true }));
      bytes += 3 * ANSWER;
      return tooMany.includes(true);
    };
    expect([burst(), burst(), burst(), burst()]).toEqual([false, false, false, true]);
  });
});
