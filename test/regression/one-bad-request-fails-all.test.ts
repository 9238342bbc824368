// The failure story (triton server PR #2764): one request of a batch is wrong, and all of the batch fail with it.
import { describe, expect, it } from 'vitest';

import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { inferJson, startServer } from '../support/start-server.js';

describe('a request that is wrong among others', () => {
  it('fails alone: malformed, invalid, or refused by the callable', async () => {
    const model = new HeldModel({ maxBatchSize: 8 });
    model.failing.add('c');
    await using server = await startServer((triton) => model.bind(triton));
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z');
    await model.began(1);
    const waiting = await clients.queue('ab');
    const bad = await Promise.all([
      inferJson(server.http, 'Held', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: ['text'] }]),
      inferJson(server.http, 'Held', [{ name: 'x', datatype: 'FP32', shape: [1, 2], data: [1] }]),
      inferJson(server.http, 'Held', [{ name: 'x', datatype: 'INT32', shape: [1, 1], data: [1] }]),
      inferJson(server.http, 'Held', [{ name: 'other', datatype: 'FP32', shape: [1, 1], data: [1] }]),
    ]);
    expect(bad.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    const more = await clients.queue('cd');
    model.open();
    expect(await Promise.all([first, ...waiting, ...more])).toEqual(['ok', 'ok', 'ok', 'INTERNAL asked to fail', 'ok']);
    expect(model.batches).toEqual(['z', 'a b c d']);
  });
});
