import { expect, it } from 'vitest';

import { dtypeHint } from './dtype-hint.js';
import { DTYPES, parseDtype } from './dtype.js';

const known = Object.keys(DTYPES);

it('names dtypes only', () => {
  const names = ['object', 'o', 's', 'u', 'str', 'boolean', 'long', 'uint', 'half', 'number', 'double', 'bf16', 'b1'];
  for (const name of names) {
    const hint = dtypeHint(name, known);
    expect(hint).toMatch(/^: use '/);
    for (const [, dtype] of hint.matchAll(/'(\w+)'/g)) expect(parseDtype(dtype)).toBe(dtype);
  }
});

it('is silent where there is nothing to go by', () => {
  for (const like of ['float33', '', 'constructor', undefined, null, 32, {}, () => 0, Map]) {
    expect(dtypeHint(like, known)).toBe('');
  }
});
