import { mkdirSync, writeFileSync } from 'node:fs';
import type * as promises from 'node:fs/promises';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';

import { expect, it, vi } from 'vitest';

import { temporaryFolder } from '../../test/support/temporary-files.js';
import { readWantedModel } from './wanted-model.js';

vi.mock('node:fs/promises', async (original) => {
  const actual = await original<typeof promises>();
  return { ...actual, readFile: vi.fn<typeof actual.readFile>(actual.readFile) };
});

const file = temporaryFolder();

it('sees at the next look a configuration that was written anew while it was read', async () => {
  const repository = file('models');
  const config = join(repository, 'M', 'config.pbtxt');
  mkdirSync(join(repository, 'M', '1'), { recursive: true });
  writeFileSync(config, 'max_batch_size: 4');
  const read = vi.mocked(readFile);
  const actual = read.getMockImplementation()!;
  read.mockImplementationOnce(async (...args) => {
    const bytes = await actual(...args);
    writeFileSync(config, 'max_batch_size: 16');
    return bytes;
  });

  const [first, second] = [
    await readWantedModel('M', [repository], undefined),
    await readWantedModel('M', [repository], undefined),
  ];
  expect([first, second].map(({ written }) => written.json.max_batch_size)).toEqual([4, 16]);
  expect(first.states.get(1)).not.toBe(second.states.get(1));
});
