import { expect, it } from 'vitest';

import { MODEL } from '../../../test/support/scripted-core.js';
import { TritonError } from '../../errors.js';
import type { RepositoryModel } from '../../model/repository-model.js';
import type { ServedCore } from '../served-core.js';
import { describeModels } from './page-descriptions.js';

it('declares the ready models, also while the server stops, but for one that is gone by now', async () => {
  const line = (name: string, more: Partial<RepositoryModel> = {}): RepositoryModel => ({
    name,
    version: '1',
    state: 'READY',
    reason: '',
    ...more,
  });
  const index = [line('m'), line('gone'), line('off', { state: 'UNAVAILABLE', reason: 'unloaded' })];
  const server = {
    name: 'triton',
    version: '1',
    models: { index: () => Promise.resolve(index) },
    isModelReady: () => false,
    resolve: (name: string) => {
      if (name === 'gone') throw new TritonError('NOT_FOUND', 'no such model');
      return { config: MODEL, load: 1, isServed: true };
    },
  } as unknown as ServedCore;
  const { versions } = await describeModels(server, undefined, { reasons: true });
  expect(versions.map(({ name, reason, declared }) => [name, reason, declared?.maxBatchSize])).toEqual([
    ['m', undefined, 8],
    ['gone', undefined, undefined],
    ['off', 'unloaded', undefined],
  ]);
});
