import { describe, expect, it } from 'vitest';

import { callInTurn } from './call-in-turn.js';

describe('callInTurn', () => {
  it('gives results at once when all calls do', () => {
    expect(callInTurn([1, 2, 3], (part) => 10 * part)).toEqual([10, 20, 30]);
    expect(callInTurn([], () => expect.unreachable())).toEqual([]);
  });

  it('waits for each call before the next', async () => {
    const log: string[] = [];
    const results = callInTurn(['a', 'b'], async (part) => {
      log.push(`${part} starts`);
      await Promise.resolve();
      log.push(`${part} ends`);
      return part;
    });
    expect(await results).toEqual(['a', 'b']);
    expect(log).toEqual(['a starts', 'a ends', 'b starts', 'b ends']);
  });

  it('takes results and promises in any mixture', async () => {
    expect(await callInTurn([1, 2, 3, 4], (part) => (part % 2 === 0 ? Promise.resolve(part) : part))).toEqual([
      1, 2, 3, 4,
    ]);
  });

  it('calls no more after a failure', async () => {
    const called: number[] = [];
    const fail = (part: number) => {
      called.push(part);
      if (part === 2) throw new Error('two');
      return part;
    };
    expect(() => callInTurn([1, 2, 3], fail)).toThrow('two');
    await expect(callInTurn([1, 2, 3], async (part) => Promise.resolve(fail(part)))).rejects.toThrow('two');
    expect(called).toEqual([1, 2, 1, 2]);
  });
});
