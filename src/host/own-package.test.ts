import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';

import { ownPackageAliases } from './own-package.js';

it('knows every name by which the package can be imported', () => {
  const { exports } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {
    readonly exports: object;
  };
  const names = Object.keys(exports).filter((path) => path !== './package.json');
  expect(Object.keys(ownPackageAliases()).sort()).toEqual(names.map((path) => `tstriton${path.slice(1)}`).sort());
});
