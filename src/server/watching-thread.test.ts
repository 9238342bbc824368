import { once } from 'node:events';
import type { Worker } from 'node:worker_threads';

import { describe, expect, it } from 'vitest';

import { startWatchingThread } from './watching-thread.js';

const TELLS_FLAGS = new URL(
  `data:text/javascript,import { parentPort, workerData } from 'node:worker_threads';
  parentPort.postMessage([workerData, process.execArgv]);`,
);

async function told(worker: Worker): Promise<unknown> {
  const [[message]] = (await Promise.all([once(worker, 'message'), once(worker, 'exit')])) as [unknown[], unknown];
  return message;
}

describe('a thread that watches signals', () => {
  it('gets its flags, and little memory for what lives as long as a request', async () => {
    const worker = startWatchingThread(TELLS_FLAGS, { workerData: 'a' }, ['--no-warnings']);
    expect(worker.resourceLimits).toMatchObject({ maxYoungGenerationSizeMb: 6 });
    expect(await told(worker)).toEqual(['a', ['--no-warnings']]);
  });

  it('starts without them where Node refuses them', async () => {
    const worker = startWatchingThread(TELLS_FLAGS, { workerData: 'b' }, ['--no-flag-of-any-node']);
    expect(await told(worker)).toEqual(['b', []]);
  });

  it('fails as any thread does for another reason', () => {
    const unclonable = { workerData: () => undefined };
    expect(() => startWatchingThread(TELLS_FLAGS, unclonable, ['--no-warnings'])).toThrow('could not be cloned');
  });
});
