// Models that call other models of the server.
import { describe, expect, it } from 'vitest';

import { batch, defineModel, type Tensor, type Triton } from 'tstriton';

import { gate, inferJson, startServer } from '../support/start-server.js';

const number = defineModel({
  modelName: 'Number',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { maxBatchSize: 8 },
});
const ONE = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];

function bindCaller(triton: Triton, modelName: string, called: string): void {
  triton.bind({
    ...number,
    modelName,
    inferFunc: batch(async ({ x }, { models }) => {
      const { y } = await models[called]!.infer(
        { x: x.map((value) => value + 1) },
        { parameters: { from: modelName } },
      );
      return { y: y as Tensor<'float32'> };
    }),
  });
}

describe.each([{ serverThread: true }, { serverThread: false }])('a pipeline with %o', ({ serverThread }) => {
  it('runs through the batcher and the statistics of the model it calls', async () => {
    const seen: unknown[] = [];
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          inferFunc: (requests) =>
            requests.map(
              ({ inputs, parameters }) => (seen.push(parameters), { y: inputs.x.map((value) => value * 10) }),
            ),
        });
        bindCaller(triton, 'Outer', 'Inner');
      },
      { serverThread },
    );
    expect((await inferJson(server.http, 'Outer', ONE)).outputs[0]!.data).toEqual([20]);
    expect(seen).toEqual([{ from: 'Outer' }]);
    const stats = (await (await fetch(`${server.http}/v2/models/Inner/stats`)).json()) as {
      model_stats: { inference_count: number }[];
    };
    expect(stats.model_stats[0]!.inference_count).toBe(1);
  });

  it('carries strings and the failure of the model it calls', async () => {
    await using server = await startServer(
      (triton) => {
        triton.bind({
          modelName: 'Shout',
          inputs: { s: { dtype: 'string', shape: [1] } },
          outputs: { t: { dtype: 'string', shape: [1] } },
          inferFunc: batch(({ s }) => {
            if (s.data[0] === '') throw new Error('nothing to shout');
            return { t: s.map((text) => text.toUpperCase()) };
          }),
        });
        triton.bind({
          modelName: 'Polite',
          inputs: { s: { dtype: 'string', shape: [1] } },
          outputs: { t: { dtype: 'string', shape: [1] } },
          inferFunc: batch(async ({ s }, { models }) => {
            const { t } = await models['Shout']!.infer({ s });
            return { t: t!.strings().map((text) => [`${text}, please`]) };
          }),
        });
      },
      { serverThread },
    );
    const ask = (text: string) =>
      inferJson(server.http, 'Polite', [{ name: 's', datatype: 'BYTES', shape: [1, 1], data: [text] }]);
    expect((await ask('grüße')).outputs[0]!.data).toEqual(['GRÜSSE, please']);
    expect(await ask('')).toMatchObject({ status: 500, error: 'nothing to shout' });
  });

  it('refuses a circle instead of waiting for ever', async () => {
    await using server = await startServer(
      (triton) => {
        bindCaller(triton, 'A', 'B');
        bindCaller(triton, 'B', 'C');
        bindCaller(triton, 'C', 'A');
      },
      { serverThread },
    );
    expect(await inferJson(server.http, 'A', ONE)).toMatchObject({
      status: 400,
      error: 'models call each other in a circle: A → B → C → A',
    });
  });

  it('says which model is unknown, in the words that a client gets', async () => {
    await using server = await startServer((triton) => bindCaller(triton, 'Lost', 'Nowhere'), { serverThread });
    expect(await inferJson(server.http, 'Lost', ONE)).toMatchObject({
      status: 404,
      error: "Request for unknown model: 'Nowhere' is not found",
    });
  });

  it('cancels the model it called when its own client is gone', async () => {
    const started = gate();
    const aborted = gate();
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...number,
          modelName: 'Inner',
          inferFunc: async (requests) => {
            started.open();
            await new Promise((resolve) => requests[0]!.signal.addEventListener('abort', resolve));
            aborted.open();
            return requests;
          },
        });
        bindCaller(triton, 'Outer', 'Inner');
      },
      { serverThread },
    );
    const hangUp = new AbortController();
    const asked = fetch(`${server.http}/v2/models/Outer/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs: ONE }),
      signal: hangUp.signal,
    });
    await started.opened;
    hangUp.abort();
    await expect(asked).rejects.toThrow('aborted');
    await aborted.opened;
  });
});
