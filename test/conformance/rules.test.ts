import { describe, expect, it } from 'vitest';
import { summarize, totals, Verdict, type Rule } from './rules.js';

type Case = { readonly name: string };

const differences = (ours: string, expected: string) =>
  ours === expected ? [] : [`expected ${expected}, got ${ours}`];

function replay(
  exchanges: readonly (readonly [recorded: string, ours: string])[],
  rules: readonly Rule<Case, string>[] = [],
) {
  const verdict = new Verdict<Case, string>(rules, differences);
  exchanges.forEach(([recorded, ours], index) => verdict.add({ testCase: { name: `case ${index}` }, recorded, ours }));
  return verdict.replay();
}

const shout: Rule<Case, string> = { name: 'we shout', reason: 'louder', expects: (recorded) => recorded.toUpperCase() };

describe('Verdict', () => {
  it('takes the recorded answer', () => {
    expect(replay([['yes', 'yes']])).toMatchObject({ cases: 1, identical: 1, failures: [] });
  });

  it('reports an answer that differs without a rule', () => {
    expect(summarize(replay([['yes', 'no']]))).toBe('1 of 1 answers differ:\ncase 0\n    expected yes, got no');
  });

  it('wants exactly what a rule says', () => {
    const { failures, rules } = replay(
      [
        ['yes', 'YES'],
        ['yes', 'yes'],
        ['yes', 'No'],
      ],
      [shout],
    );
    expect(rules).toMatchObject([{ name: 'we shout', cases: 1 }]);
    expect(failures).toEqual([
      "case 1 (under 'we shout')\n    expected YES, got yes",
      "case 2 (under 'we shout')\n    expected YES, got No",
    ]);
  });

  it('lets rules change an answer one after the other and counts both', () => {
    const ask: Rule<Case, string> = { name: 'we ask', reason: 'politer', expects: (recorded) => `${recorded}?` };
    expect(replay([['yes', 'YES?']], [shout, ask]).rules).toMatchObject([{ cases: 1 }, { cases: 1 }]);
  });

  it('counts no case for a rule that changes nothing', () => {
    expect(replay([['YES', 'YES']], [shout])).toMatchObject({ identical: 1, rules: [{ cases: 0 }] });
  });

  it('asks a rule whether it allows what no rule foresees', () => {
    const anyNumber: Rule<Case, string> = {
      name: 'any number',
      reason: 'counted',
      allows: (ours) => /^\d+$/.test(ours),
    };
    const { failures, rules } = replay(
      [
        ['1', '2'],
        ['1', 'two'],
        ['1', '1'],
      ],
      [anyNumber],
    );
    expect(failures).toHaveLength(1);
    expect(rules).toMatchObject([{ cases: 1 }]);
  });
});

describe('totals', () => {
  it('adds up the cases of a rule over files', () => {
    expect(
      totals([
        replay([['a', 'A']], [shout]),
        replay(
          [
            ['b', 'B'],
            ['c', 'C'],
          ],
          [shout],
        ),
      ]),
    ).toMatchObject([{ cases: 3 }]);
  });
});
