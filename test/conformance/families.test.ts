import { describe, expect, it } from 'vitest';
import { FAMILIES } from './families.js';
import { differencesFrom, misstated, totals } from './rules.js';
import { changedAnswers, nonsense } from './wrong-answers.js';

describe.each(FAMILIES.map((family) => [family.title, family] as const))('%s', (_, family) => {
  it('has rules that cover the cases that they list, and no others', async () => {
    const replays = Object.values(await family.predict());
    expect(misstated(totals(replays))).toEqual([]);
    for (const { rules } of replays) {
      const names = rules.map(({ name }) => name);
      expect(names).toEqual([...new Set(names)]);
    }
  });

  it('refuses wrong answers, whatever rule is about them, but for what a rule excuses', async () => {
    const wrong: string[] = [];
    await family.expectations(({ name, expectation, differences, isUntold }) => {
      const { answer, excuses } = expectation;
      const accepts = (ours: typeof answer) => differencesFrom(expectation, ours, differences).length === 0;
      if (!accepts(answer)) wrong.push(`${name}: refuses what the rules make of the recording`);
      if (accepts(nonsense(answer))) wrong.push(`${name}: takes nonsense`);
      if (excuses.length > 0) return;
      for (const changed of changedAnswers(answer)) {
        if (accepts(changed) && !isUntold(changed, answer)) {
          wrong.push(`${name}: takes ${JSON.stringify(changed).slice(0, 300)}`);
        }
      }
    });
    expect(wrong.slice(0, 20)).toEqual([]);
  });
});
