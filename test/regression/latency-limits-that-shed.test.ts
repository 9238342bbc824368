// The failure story (BentoML #3200, #1530): one setting stands both for how long a batch is waited for and for how long
// a request may take, so that whoever wants larger batches has requests refused. Here the delay never refuses anybody,
// each limit has a name, a text and a count of its own, and settings that work against each other are told at load.
import { readFile } from 'node:fs/promises';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { startServer } from '../support/start-server.js';

describe('the delay of a batch', () => {
  it('refuses nobody, however long the model takes', async () => {
    const model = new HeldModel({ maxBatchSize: 4, batcher: { maxQueueDelayMicroseconds: 20_000 } });
    await using server = await startServer((triton) => model.bind(triton));
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('a');
    await model.began(1);
    const waiting = await clients.queue('bcdef');
    await new Promise((resolve) => setTimeout(resolve, 150));
    model.open();
    expect(await Promise.all([first, ...waiting])).toEqual(Array.from({ length: 6 }, () => 'ok'));
    expect(model.batches).toEqual(['a', 'b c d e', 'f']);
  });

  it('is apart from the limits of the queue, which say what they are', async () => {
    const policy = { maxQueueSize: 1, defaultTimeoutMicroseconds: 3_600_000_000, allowTimeoutOverride: true };
    const model = new HeldModel({ maxBatchSize: 1, batcher: { defaultQueuePolicy: policy } });
    await using server = await startServer((triton) => model.bind(triton));
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('a');
    await model.began(1);
    const hangUp = new AbortController();
    const waiting = clients.ask('b', { signal: hangUp.signal });
    await clients.waiting(1);
    expect(await clients.ask('c')).toBe('UNAVAILABLE [request id: c] Exceeds maximum queue size');
    hangUp.abort();
    await waiting;
    await clients.waiting(0);
    expect(await clients.ask('d', { parameters: { timeout: 10_000 } })).toBe('UNAVAILABLE Request timeout expired');
    model.open();
    expect(await first).toBe('ok');
  });
});

describe('settings that work against each other', () => {
  it('are told when the model is loaded', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tstriton-'));
    const logFile = join(folder, 'log');
    const policy = { maxQueueSize: 4, defaultTimeoutMicroseconds: 1000 };
    const model = new HeldModel({
      maxBatchSize: 8,
      batcher: { maxQueueDelayMicroseconds: 5000, defaultQueuePolicy: policy },
    });
    {
      await using server = await startServer((triton) => model.bind(triton), { logFile });
      expect(server.triton.isReady).toBe(true);
    }
    const warnings = (await readFile(logFile, 'utf8')).split('\n').filter((line) => line.startsWith('W'));
    await rm(folder, { recursive: true });
    expect(warnings).toEqual([
      expect.stringContaining("model 'Held': only 4 requests may wait (maxQueueSize)"),
      expect.stringContaining("model 'Held': requests are refused after 1000 us in the queue"),
    ]);
  });
});
