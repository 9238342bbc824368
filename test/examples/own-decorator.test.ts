// The example of decorators of one's own, served; and its decorators over every form of function.
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { batch, defineModel, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';
import { describe, expect, it } from 'vitest';

import { logged, standardized } from '../../examples/own-decorator/decorators.js';
import { bindRisk, risk } from '../../examples/own-decorator/server.js';
import { startServer } from '../support/start-server.js';

describe('the example of decorators of one’s own', () => {
  it('scores standardized features, and logs each batch', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tstriton-own-decorator-'));
    const logFile = join(folder, 'log');
    try {
      await using server = await startServer(bindRisk, { logFile });
      await using client = new ModelClient(server.grpc, risk);
      const features = [[12, 10, 14], [10, 10, 10]]; // prettier-ignore
      const { score } = await client.inferBatch({ features }, { parameters: { tenant: 'a' } });
      expect(score.toNested()).toEqual([[4.5], [0]]);
      await server.triton.stop();
      expect(await readFile(logFile, 'utf8')).toMatch(/Risk: 2 rows in \d+\.\d ms/);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('refuses requests without the parameter, and only those', async () => {
    await using server = await startServer(bindRisk);
    await using client = new ModelClient(server.http, risk);
    const ask = (parameters: Record<string, string>) => client.inferSample({ features: [12, 10, 14] }, { parameters });
    const outcomes = await Promise.allSettled([
      ask({}),
      ask({ tenant: 'a' }),
      ask({ tenants: 'a' }),
      ask({ tenant: '' }),
    ]);
    expect(
      outcomes.map((outcome) => (outcome.status === 'fulfilled' ? outcome.value.score.data[0] : outcome.reason)),
    ).toEqual([
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: expect.stringContaining("the parameter 'tenant' is missing"),
      }),
      4.5,
      expect.objectContaining({ code: 'INVALID_ARG' }),
      4.5,
    ]);
  });
});

const halves = defineModel({
  modelName: 'Halves',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
});

describe('the decorators of the example', () => {
  it('work over asynchronous functions', async () => {
    const bind = (triton: Triton) =>
      triton.bind({
        ...halves,
        inferFunc: batch(
          logged(standardized('x', { mean: 0, deviation: 2 }, async ({ x }) => Promise.resolve({ y: x }))),
        ),
      });
    await using server = await startServer(bind);
    await using client = new ModelClient(server.grpc, halves);
    expect((await client.inferSample({ x: [3] })).y!.toNested()).toEqual([1.5]);
  });

  it('refuse an input of another dtype', async () => {
    const integers = defineModel({ ...halves, inputs: { x: { dtype: 'int32', shape: [1] } } });
    const bind = (triton: Triton) =>
      triton.bind({
        ...integers,
        inferFunc: batch(standardized('x', { mean: 0, deviation: 2 }, ({ x }) => ({ y: [...x.data] }))),
      });
    await using server = await startServer(bind);
    await using client = new ModelClient(server.http, integers);
    await expect(client.inferSample({ x: [3] })).rejects.toThrow("standardized takes float32, 'x' is int32");
  });
});
