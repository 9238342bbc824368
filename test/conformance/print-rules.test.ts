import { expect, it } from 'vitest';

import { rulesMarkdown } from './print-rules.js';

const INTRODUCTION = `# Recorded answers

What Triton 2.51.0 and PyTriton 0.7.0 answered, case by case, replayed against TSTriton, and every difference as a named
rule with its reason. Written by a test: \`npx vitest run --project conformance test/conformance/print-rules.test.ts -u\`.
`;

it('tells in docs/internals/recorded-answers.md which rules there are, and what each covers', async () => {
  const page = '../../docs/internals/recorded-answers.md';
  await expect(`${INTRODUCTION}\n${await rulesMarkdown()}`).toMatchFileSnapshot(page);
});
