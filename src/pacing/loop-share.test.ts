import { describe, expect, it } from 'vitest';

import { LoopShare } from './loop-share.js';

/** An event loop whose turns the test takes, and streams whose pieces of work take 0.4 ms each. */
function loopOfStreams() {
  let now = 0;
  let deferred: (() => void)[] = [];
  let log = '';
  const share = new LoopShare({ now: () => now, defer: (callback) => void deferred.push(callback) });
  const taken = () => {
    const turn = log;
    log = '';
    return turn;
  };
  return {
    /** Begins a stream of so many pieces, all of this name. */
    begin(name: string, pieces: number): void {
      let left = pieces;
      const work = () => {
        for (; left > 0; left--) {
          if (share.isUsedUp()) return share.next(work);
          log += name;
          now += 0.4;
        }
      };
      work();
    },
    /** What was done in each turn from now on until none is left, the present one first. */
    turns(): string[] {
      const all = [taken()];
      while (deferred.length > 0) {
        const callbacks = deferred;
        deferred = [];
        now += 5;
        for (const callback of callbacks) callback();
        all.push(taken());
      }
      return all;
    },
  };
}

describe('LoopShare', () => {
  it('gives a stream about a millisecond of each turn', () => {
    const loop = loopOfStreams();
    loop.begin('a', 7);
    expect(loop.turns()).toEqual(['aaa', 'aaa', 'a', '']);
  });

  it('gives all streams together a millisecond of each turn, one after the other', () => {
    const loop = loopOfStreams();
    loop.begin('a', 8);
    loop.begin('b', 4);
    loop.begin('c', 2);
    expect(loop.turns()).toEqual(['aaa', 'aaa', 'bbb', 'cc', 'aa', 'b', '']);
  });

  it('lets a stream that begins in a turn that is used up wait for one of its own', () => {
    const loop = loopOfStreams();
    loop.begin('a', 3);
    loop.begin('b', 1);
    expect(loop.turns()).toEqual(['aaa', 'b', '']);
  });

  it('keeps no turn busy when nobody works', () => {
    const loop = loopOfStreams();
    loop.begin('a', 1);
    expect(loop.turns()).toEqual(['a', '']);
    expect(loop.turns()).toEqual(['']);
    loop.begin('a', 4);
    expect(loop.turns()).toEqual(['aaa', 'a', '']);
  });
});
