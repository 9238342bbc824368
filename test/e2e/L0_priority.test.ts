// Levels of priority: the urgent first, whatever the protocol; within a level in the order of arrival.
import { describe, expect, it } from 'vitest';

import { HeldModel, HeldModelClients } from '../support/held-model.js';
import { startServer } from '../support/start-server.js';

const LEVELS = { priorityLevels: 3, defaultPriorityLevel: 2 };

describe('levels of priority', () => {
  it.each([
    [1, ['z', 'b', 'e', 'a', 'd', 'f', 'g', 'c']],
    // A batch that the urgent ones do not fill goes on with the others.
    [3, ['z', 'b e a', 'd f g', 'c']],
  ])('let the urgent pass, in batches of %i', async (maxBatchSize, batches) => {
    const model = new HeldModel({ maxBatchSize, batcher: LEVELS });
    await using server = await startServer((triton) => model.bind(triton));
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z');
    await model.began(1);
    // None, 0 and a level that is not there mean the default.
    const levels: Record<string, number> = { a: 2, b: 1, c: 3, e: 1, f: 0, g: 9 };
    const others = await clients.queue('abcdefg', (id) => ({
      ...(levels[id] === undefined ? {} : { parameters: { priority: levels[id] } }),
      wire: 'bdf'.includes(id) ? 'grpc' : 'http',
    }));
    model.open();
    await Promise.all([first, ...others]);
    expect(model.batches).toEqual(batches);
  });

  it('end a batch at the first that does not fit, however urgent it is', async () => {
    const model = new HeldModel({ maxBatchSize: 4, batcher: LEVELS });
    await using server = await startServer((triton) => model.bind(triton));
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z');
    await model.began(1);
    const others = await clients.queue('abc', (id) => ({
      rows: id === 'c' ? 1 : 3,
      parameters: { priority: id === 'c' ? 3 : 1 },
    }));
    model.open();
    await Promise.all([first, ...others]);
    expect(model.batches).toEqual(['z', 'a', 'b c']);
  });

  it('are of no effect where a model has none', async () => {
    const model = new HeldModel({ maxBatchSize: 1 });
    await using server = await startServer((triton) => model.bind(triton));
    await using clients = new HeldModelClients(server, model);
    const first = clients.ask('z');
    await model.began(1);
    const others = await clients.queue('abc', (id) => ({ parameters: { priority: id === 'c' ? 1 : 2 } }));
    model.open();
    await Promise.all([first, ...others]);
    expect(model.batches).toEqual(['z', 'a', 'b', 'c']);
  });
});
