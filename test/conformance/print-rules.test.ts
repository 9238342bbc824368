import { expect, it } from 'vitest';

import { rulesMarkdown } from './print-rules.js';

const INTRODUCTION = `# Recorded answers

What Triton 2.51.0 and PyTriton 0.7.0 answered, case by case, replayed against TSTriton, and every difference as a named
rule with its reason. Written by the test that replays them: \`npx vitest run test/conformance/print-rules.test.ts -u\`.
`;

it('tells in docs/recorded-answers.md what the replays found', { timeout: 120_000 }, async () => {
  await expect(`${INTRODUCTION}\n${await rulesMarkdown()}`).toMatchFileSnapshot('../../docs/recorded-answers.md');
});
