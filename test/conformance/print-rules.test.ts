import { expect, it } from 'vitest';
import { rulesMarkdown } from './print-rules.js';

// PRINT_RULES=1 npx vitest run --project conformance test/conformance/print-rules.test.ts
it.runIf(process.env['PRINT_RULES'] !== undefined)('prints the rules', async () => {
  const markdown = await rulesMarkdown();
  process.stdout.write(`${markdown}\n`);
  expect(markdown).toContain('### gRPC');
});
