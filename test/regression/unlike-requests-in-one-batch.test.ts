// The failure story (PyTriton's @group_by_values, Triton's ragged batches): requests of different shapes, or with
// different parameters, come together in a batch, and the model takes the first one's for all.
import { describe, expect, it } from 'vitest';

import type { InferenceRequest } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { gate, startServer } from '../support/start-server.js';

const MODEL = {
  modelName: 'Unlike',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 8 },
} as const;

describe('requests that are unlike', () => {
  it('never share a batch when their shapes differ, and keep their own parameters when they share one', async () => {
    const batches: string[][] = [];
    const release = gate();
    const started = gate();
    const callable = async (requests: readonly InferenceRequest[]) => {
      batches.push(requests.map(({ inputs, parameters }) => `${inputs['x']!.shape.join('×')} ${parameters['scale']}`));
      started.open();
      await release.opened;
      return requests.map(({ inputs, parameters }) => ({
        y: Float32Array.from(inputs['x']!.data as Float32Array, (value) => value * Number(parameters['scale'])),
      }));
    };
    await using server = await startServer((triton) => void triton.bind({ ...MODEL, inferFunc: callable as never }));
    await using client = new ModelClient(server.grpc, MODEL);
    const ask = async (length: number, scale: number) => [
      ...(await client.inferSample({ x: new Float32Array(length).fill(1) }, { parameters: { scale } })).y!.data,
    ];
    const first = ask(1, 1);
    await started.opened;
    const others = [ask(2, 10), ask(2, 20), ask(3, 30), ask(3, 40)];
    await expect
      .poll(async () => (await (await fetch(server.metrics)).text()).match(/pending_request_count\{.*\} (\d+)/)?.[1])
      .toBe('4');
    release.open();
    expect(await Promise.all([first, ...others])).toEqual([[1], [10, 10], [20, 20], [30, 30, 30], [40, 40, 40]]);
    expect(batches).toEqual([['1×1 1'], ['1×2 10', '1×2 20'], ['1×3 30', '1×3 40']]);
  });
});
