// The failure story (ray #43288): something in front of the batcher lets fewer requests through at a time than make a
// batch, so that no batch is ever full, however many clients wait. Here nothing stands in front of it: requests that
// were sent wait in the batcher's queue. A queue that is itself too short for a batch is told at load.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { startServer } from '../support/start-server.js';

const MINUTE = 60_000_000;

describe('a batch of many requests', () => {
  it.each(['http', 'grpc'] as const)('is filled by one client over %s', async (wire) => {
    // Only a full batch is sent before a minute has passed.
    const model = new HeldModel({ maxBatchSize: 256, batcher: { maxQueueDelayMicroseconds: MINUTE } });
    model.open();
    await using server = await startServer((triton) => model.bind(triton));
    await using clients = new HeldModelClients(server, model);
    const ids = Array.from({ length: 256 }, (_, i) => String(i));
    expect(new Set(await Promise.all(ids.map((id) => clients.ask(id, { wire }))))).toEqual(new Set(['ok']));
    expect(model.rows).toEqual([256]);
  });

  it('is told at load to be out of reach of a queue that is too short', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tstriton-'));
    const logFile = join(folder, 'log');
    const model = new HeldModel({ maxBatchSize: 8, batcher: { defaultQueuePolicy: { maxQueueSize: 4 } } });
    {
      await using server = await startServer((triton) => model.bind(triton), { logFile });
      expect(server.triton.isReady).toBe(true);
    }
    const log = await readFile(logFile, 'utf8');
    await rm(folder, { recursive: true });
    expect(log).toContain(
      "model 'Held': only 4 requests may wait (maxQueueSize), so that requests of one row never fill a batch of 8",
    );
  });
});
