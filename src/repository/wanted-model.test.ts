import { mkdirSync, writeFileSync } from 'node:fs';
import promises from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';

import { afterEach, expect, it, vi } from 'vitest';

import { temporaryFolder } from '../../test/support/temporary-files.js';
import { readWantedModel } from './wanted-model.js';

const file = temporaryFolder();

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

it('sees at the next look a configuration that was written anew while it was read', async () => {
  const repository = file('models');
  const config = join(repository, 'M', 'config.pbtxt');
  mkdirSync(join(repository, 'M', '1'), { recursive: true });
  writeFileSync(config, 'max_batch_size: 4');
  const { readFile } = promises;
  vi.spyOn(promises, 'readFile').mockImplementationOnce(async (...args) => {
    const bytes = await readFile(...args);
    writeFileSync(config, 'max_batch_size: 16');
    return bytes;
  });
  syncBuiltinESMExports();

  const [first, second] = [
    await readWantedModel('M', [repository], undefined),
    await readWantedModel('M', [repository], undefined),
  ];
  expect([first, second].map(({ written }) => written.json.max_batch_size)).toEqual([4, 16]);
  expect(first.states.get(1)).not.toBe(second.states.get(1));
});
