import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';

import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { missingModuleType } from './module-type.js';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'a folder '));
  writeFileSync(join(folder, 'package.json'), '{}');
});
afterAll(() => rmSync(folder, { recursive: true }));

describe('an ES module that no package.json declares', () => {
  it.each([
    'Cannot require() ES Module FILE because it is not yet fully loaded.',
    'Cannot require() ES Module FILE in a cycle. (from /b.js)',
    'require() of ES Module FILE from /b.js not supported.',
    'Cannot use import statement outside a module',
  ])('is named where its folder has a space, and Node says: %s', (message) => {
    const file = join(folder, 'model.ts');
    const error = missingModuleType(new Error(message.replace('FILE', file)), pathToFileURL(file).href);
    expect(error?.message).toBe(
      `${file} is an ES module, but no package.json says so: set "type": "module" in ${join(folder, 'package.json')}, or name the file ${join(folder, 'model.mts')}`,
    );
  });
});
