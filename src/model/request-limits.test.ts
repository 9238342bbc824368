import { readFileSync } from 'node:fs';

import { expect, it } from 'vitest';

import { REQUEST_LIMITS } from './request-limits.js';

it('every limit of a request is in its table in the document', () => {
  const page = readFileSync(new URL('../../docs/protocol-support.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## Limits of a request\n(.*?)^## /ms.exec(page) ?? [];
  const said = new Set(
    Array.from(section.matchAll(/^\| ([\d,]+) /gm), ([, number]) => Number(number!.replaceAll(',', ''))),
  );
  expect(Object.entries(REQUEST_LIMITS).filter(([, limit]) => !said.has(limit))).toEqual([]);
});
