import { describe, expect, it } from 'vitest';

import { readOptions, usage } from '../../bench/bench-options.js';
import { SUITES } from '../../bench/suites.js';

const refusing = () => Promise.reject(new Error('nothing is to be measured here'));

describe('the options of a benchmark', () => {
  it('ask for five rounds of two seconds unless told otherwise', () => {
    const { command, options } = readOptions(['identity'])!;
    expect(command).toBe('identity');
    expect(options.timing).toEqual({ rounds: 5, seconds: 2, warmUpSeconds: 3 });
    expect(options).toMatchObject({ connections: [1, 16, 64], only: undefined, servers: undefined, isQuick: false });
  });

  it('are short when quick, and give way to what is asked for', () => {
    expect(readOptions(['all', '--quick'])!.options).toMatchObject({
      timing: { rounds: 2, seconds: 0.5, warmUpSeconds: 0.3 },
      isQuick: true,
    });
    const asked = ['all', '--rounds', '3', '--seconds', '1', '--only', 'parts, large', '--connections', '4'];
    expect(readOptions(asked)!.options).toMatchObject({
      timing: { rounds: 3, seconds: 1, warmUpSeconds: 3 },
      only: ['parts', 'large'],
      connections: [4],
    });
  });

  it.each([
    [['parts', 'large'], 'expected one suite, got parts large'],
    [['parts', '--rounds', '1.5'], "--rounds: expected a positive integer, got '1.5'"],
    [['parts', '--seconds', '0'], "--seconds: expected a positive number, got '0'"],
    [['parts', '--fast'], "Unknown option '--fast'"],
  ])('refuse %j', (asked, message) => {
    expect(() => readOptions(asked)).toThrow(message);
  });

  it('are explained when none is asked for, with every suite', () => {
    expect(readOptions([])).toBeUndefined();
    expect(readOptions(['parts', '--help'])).toBeUndefined();
    const text = usage(SUITES);
    for (const name of Object.keys(SUITES)) expect(text).toMatch(new RegExp(`^  ${name} `, 'm'));
  });
});

describe('every suite', () => {
  it.each(Object.entries(SUITES).filter(([name]) => name !== 'hostile'))(
    '%s refuses rows that it does not have, before it starts anything',
    async (_, { run }) => {
      const { options } = readOptions(['all', '--only', 'nonsense'])!;
      const running = Promise.resolve().then(() => run({ ...options, print: () => void refusing() }));
      await expect(running).rejects.toThrow("unknown 'nonsense', expected of ");
    },
  );
});
