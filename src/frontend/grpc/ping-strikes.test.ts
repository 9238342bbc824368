import { describe, expect, it } from 'vitest';

import { PingStrikes } from './ping-strikes.js';

const INTERVAL = 1000;

/** A connection that is pinged once a millisecond, with what else it carries. */
class Connection {
  readonly strikes: PingStrikes;
  messageFrames = 0;
  isStuck = false;
  #now = 0;

  constructor(max = 2) {
    this.strikes = new PingStrikes(max);
  }

  ping(): boolean {
    return this.strikes.pinged(this.#now++, INTERVAL, this);
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
    const pings = [0, 1, 1001, 2001, 3001, 3002].map((now) =>
      strikes.pinged(now, INTERVAL, { messageFrames: 0, isStuck: false }),
    );
    expect(pings).toEqual([false, false, false, false, false, true]);
  });

  it('begins anew with every frame of a call between two pings', () => {
    const connection = new Connection();
    for (let i = 0; i < 50; i++) {
      expect(connection.ping()).toBe(false);
      if (i % 3 === 2) connection.messageFrames++;
    }
    expect(connection.pingsToTheEnd()).toBeLessThanOrEqual(4);
  });

  it('does not count while the system takes nothing at all', () => {
    const connection = new Connection();
    connection.isStuck = true;
    expect(connection.pingsToTheEnd()).toBe(100);
    connection.isStuck = false;
    expect(connection.pingsToTheEnd()).toBe(3);
  });
});
