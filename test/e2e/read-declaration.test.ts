import { afterEach, expect, it, vi } from 'vitest';

import { readDeclaration } from '../../dist/repository/read-declaration.js';
import { addingModule, modelRepository } from '../support/model-repository.js';
import { standStill } from '../support/standstill.js';

const LONGEST_IMPORT = 60_000;

afterEach(() => {
  vi.restoreAllMocks();
  vi.useRealTimers();
});

it('is not refused because this thread stood still while the module was imported', async () => {
  const repository = modelRepository({ 'M/1/model.mjs': addingModule(1) });
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const url = new URL(`file://${repository.path}/M/1/model.mjs`).href;
  const read = readDeclaration({ url, name: 'M', version: 1 }, new AbortController().signal);
  standStill(2 * LONGEST_IMPORT);
  vi.advanceTimersByTime(LONGEST_IMPORT);
  expect(await read).toMatchObject({ inputs: [{ name: 'x' }], outputs: [{ name: 'y' }] });
});
