import { describe, expect, it } from 'vitest';

import { deferred } from '../lifecycle/deferred.js';
import { ClientLoads } from './client-loads.js';
import { ModelControl } from './model-control.js';
import { ModelRepository } from './model-repository.js';
import { SILENT } from './engine-logger.js';

/** A load that ends when the test says so; `counted` has what its client's leaving adds to the bytes of the server. */
function start(left: AbortSignal) {
  const counted: number[] = [];
  const folder = deferred();
  const repository = new ModelRepository();
  const loads = new ClientLoads({
    repository,
    models: new ModelControl(repository, { mode: 'explicit', logger: SILENT }),
    folders: { names: () => [], load: () => folder.promise.then(() => true) },
    readOverride: undefined,
    hasCache: false,
    countLeft: (bytes) => void counted.push(bytes),
  });
  return { counted, folder, loading: loads.load('m', { files: {} }, { bytes: 10, left }) };
}

describe('a load', () => {
  it('counts nothing while its client waits', async () => {
    const { counted, folder, loading } = start(new AbortController().signal);
    folder.resolve();
    await loading;
    expect(counted).toEqual([]);
  });

  it.each([
    ['before it began', 0],
    ['while it was under way', 1],
  ])('counts its bytes from then on until its end where the client left %s', async (_, when) => {
    const leaving = new AbortController();
    if (when === 0) leaving.abort();
    const { counted, folder, loading } = start(leaving.signal);
    leaving.abort();
    expect(counted).toEqual([10]);
    folder.resolve();
    await loading;
    expect(counted).toEqual([10, -10]);
  });
});
