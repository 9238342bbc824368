import { describe, expect, it } from 'vitest';
import { borrowed, misstated, summarize, totals, Verdict, type Rule } from './rules.js';

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

const shout: Rule<Case, string> = {
  name: 'we shout',
  reason: 'louder',
  cases: ['case 0', 'case 1', 'case 2'],
  expects: (recorded) => recorded.toUpperCase(),
};

describe('Verdict', () => {
  it('takes the recorded answer', () => {
    expect(replay([['yes', 'yes']])).toMatchObject({ cases: 1, identical: 1, failures: [] });
  });

  it('reports an answer that differs without a rule', () => {
    expect(summarize(replay([['yes', 'no']]))).toBe('1 of 1 answers differ:\ncase 0\n    expected yes, got no');
  });

  it('wants exactly what a rule says, and counts what the rule is about whatever the answers are', () => {
    const { failures, rules } = replay(
      [
        ['yes', 'YES'],
        ['yes', 'yes'],
        ['yes', 'No'],
      ],
      [shout],
    );
    expect(rules).toMatchObject([{ name: 'we shout', covers: ['case 0', 'case 1', 'case 2'] }]);
    expect(failures).toEqual([
      "case 1 (under 'we shout')\n    expected YES, got yes",
      "case 2 (under 'we shout')\n    expected YES, got No",
    ]);
  });

  it('lets rules change an answer one after the other and counts both', () => {
    const ask: Rule<Case, string> = {
      name: 'we ask',
      reason: 'politer',
      cases: ['case 0', 'case 1'],
      expects: (text) => `${text}?`,
    };
    expect(replay([['yes', 'YES?']], [shout, ask])).toMatchObject({
      failures: [],
      rules: [{ covers: ['case 0'] }, { covers: ['case 0'] }],
    });
  });

  it('counts no case for a rule that changes nothing', () => {
    expect(replay([['YES', 'YES']], [shout])).toMatchObject({ identical: 1, rules: [{ covers: [] }] });
  });

  it('asks a rule about no case that it does not list', () => {
    const listed: Rule<Case, string> = { ...shout, cases: ['case 1'] };
    expect(replay([['a', 'a'], ['b', 'B']], [listed])).toMatchObject({ failures: [], rules: [{ covers: ['case 1'] }] }); // prettier-ignore
  });

  it('does not compare what a rule excuses, and compares the rest', () => {
    const anyEnd: Rule<Case, string> = {
      name: 'any end',
      reason: 'random',
      cases: ['case 0', 'case 1'],
      excuses: { members: 'what follows the colon', without: (text) => text.replace(/:.*/, ':') },
    };
    const { failures, rules } = replay([['a: 1', 'a: 2'], ['a: 1', 'b: 1']], [anyEnd]); // prettier-ignore
    expect(failures).toEqual(["case 1 (under 'any end')\n    expected a:, got b:"]);
    expect(rules).toMatchObject([{ excuses: 'what follows the colon', covers: ['case 0', 'case 1'] }]);
  });
});

describe('totals', () => {
  it('adds up the cases of a rule over files by its name, though the files have other rules besides', () => {
    const ask: Rule<Case, string> = {
      name: 'we ask',
      reason: 'politer',
      cases: ['case 0', 'case 1'],
      expects: (text) => `${text}?`,
    };
    const both = totals([replay([['a', 'A']], [shout]), replay([['b', 'B?'], ['c', 'C?']], [ask, shout])]); // prettier-ignore
    expect(both.map(({ name, covers }) => [name, covers.length])).toEqual([
      ['we shout', 3],
      ['we ask', 2],
    ]);
  });
});

describe('misstated', () => {
  const covered = replay([['a', 'A'], ['B', 'B']], [shout, { ...shout, name: 'listed', cases: ['case 1', 'case 2'] }]); // prettier-ignore

  it('tells of the cases that a rule lists and leaves as they are', () => {
    expect(misstated(covered.rules.slice(1))).toEqual([
      "'listed' lists 'case 1' and changes nothing there",
      "'listed' lists 'case 2' and changes nothing there",
    ]);
  });
});

describe('borrowed', () => {
  it('gives rules of another list cases of their own', () => {
    expect(borrowed([shout], { 'we shout': ['case 0'] })).toEqual([{ ...shout, cases: ['case 0'] }]);
  });

  it('refuses the name of a rule that is not there', () => {
    expect(() => borrowed([shout], { 'we whisper': ['case 0'] })).toThrow("no rule is named 'we whisper'");
  });
});
