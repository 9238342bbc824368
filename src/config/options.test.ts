import { describe, expect, it } from 'vitest';

import { DECLARATION, declaration, PAGE, page } from '../../test/support/option-texts.js';
import { OPTION_GROUPS, OPTIONS, nearestOption } from './options.js';
import { checkOption } from './option-value.js';
import { readTritonConfig } from './read-triton-config.js';

describe('the table of options', () => {
  // `npx vitest run src/config/options.test.ts -u` writes both anew.
  it('is what TritonConfig declares', async () => {
    await expect(await declaration()).toMatchFileSnapshot(DECLARATION);
  });

  it('is what the reference page says', async () => {
    await expect(await page()).toMatchFileSnapshot(PAGE);
  });

  it('has each option in one group', () => {
    const names = Object.values(OPTION_GROUPS).flatMap((group) => Object.keys(group));
    expect(names.toSorted()).toEqual(Object.keys(OPTIONS).toSorted());
  });

  it('has defaults that users could give', () => {
    const { config } = readTritonConfig({}, {});
    const given = Object.entries(OPTIONS).filter(([, option]) => 'default' in option);
    for (const [name, { kind }] of given) checkOption(kind, config[name as keyof typeof config], name);
    expect(given.length).toBeGreaterThan(30);
  });

  it('suggests names that are in it', () => {
    expect(nearestOption('htpPort')).toBe('httpPort');
    expect(nearestOption('somethingElse')).toBeUndefined();
  });
});
