// Warm-up: what the model gets before anybody else may ask it.
import { describe, expect, it } from 'vitest';

import { batch, defineModel, instanceGroup, stream, type CallableOf, type ModelWarmup } from 'tstriton';

import { inferJson, startServer } from '../support/start-server.js';

const WARMUP: readonly ModelWarmup[] = [
  { name: 'zeros', batchSize: 3, count: 2, inputs: { x: { dtype: 'float32', shape: [2], zeroData: true } } },
  { name: 'random', inputs: { x: { dtype: 'FP32', shape: [4], randomData: true } } },
];

const warmed = defineModel({
  modelName: 'Warmed',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { modelWarmup: WARMUP },
});

describe.each([{ serverThread: true }, { serverThread: false }])('warm-up with %o', ({ serverThread }) => {
  it('reaches every instance through the real path before the model is ready, and counts nowhere', async () => {
    const shapes: string[][] = [[], []];
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...warmed,
          inferFunc: shapes.map((seen): CallableOf<typeof warmed> =>
            batch(async ({ x }) => (seen.push(x.shape.join('x')), { y: x })),
          ),
        }),
      { serverThread },
    );
    expect(shapes).toEqual([
      ['3x2', '3x2', '1x4'],
      ['3x2', '3x2', '1x4'],
    ]);
    const stats = (await (await fetch(`${server.http}/v2/models/Warmed/stats`)).json()) as {
      model_stats: { execution_count: number }[];
    };
    expect(stats.model_stats[0]!.execution_count).toBe(0);
  });

  it('runs generators to their end', async () => {
    let answers = 0;
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...warmed,
          config: { decoupled: true, modelWarmup: WARMUP },
          inferFunc: stream(async function* ({ x }) {
            for (let i = 0; i < 3; i++) {
              answers++;
              yield { y: x };
            }
          }),
        }),
      { serverThread },
    );
    expect(server.triton.isReady).toBe(true);
    expect(answers).toBe(9);
  });

  it('that fails is a failed load with its reason, and the others serve on', async () => {
    await using server = await startServer(
      (triton) => void triton.bind({ ...warmed, modelName: 'Fine', inferFunc: (requests) => requests }),
      {
        serverThread,
      },
    );
    server.triton.bind({ ...warmed, inferFunc: () => Promise.reject(new Error('the weights are cold')) });
    await expect(server.triton.ready('Warmed')).rejects.toMatchObject({
      code: 'INTERNAL',
      message: "warm-up 'zeros' of model 'Warmed' failed: the weights are cold",
    });
    const one = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];
    expect((await inferJson(server.http, 'Fine', one)).status).toBe(200);
    expect((await inferJson(server.http, 'Warmed', one)).status).toBe(404);
  });

  it('leaves no instance behind that dies while others warm up', async () => {
    const module = new URL('../fixtures/short-lived-instance.js', import.meta.url);
    const shared = new Int32Array(new SharedArrayBuffer(12));
    await using server = await startServer(() => undefined, { serverThread });
    server.triton.bind({
      ...warmed,
      config: { modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'float32', shape: [1], zeroData: true } } }] },
      inferFunc: instanceGroup(module, {
        args: [
          ['short-lived', shared],
          ['slow to warm up', shared],
        ],
      }),
    });
    // The first is dead and started again, the second still warms up.
    await expect.poll(() => Atomics.load(shared, 0)).toBe(2);
    Atomics.store(shared, 2, 1);
    await server.triton.ready('Warmed');
    const one = [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }];
    await expect
      .poll(async () => (await (await fetch(server.metrics)).text()).match(/tstriton_instances\{.*\} (\d)/)?.[1])
      .toBe('2');
    for (let i = 0; i < 4; i++) expect((await inferJson(server.http, 'Warmed', one)).status).toBe(200);
  });

  it('gives a model that is to be replaced none of the instances that come to replace it', async () => {
    const module = new URL('../fixtures/short-lived-instance.js', import.meta.url);
    const shared = new Int32Array(new SharedArrayBuffer(12));
    const old = {
      ...warmed,
      config: {},
      inferFunc: (requests: readonly unknown[]) => requests.map(() => ({ y: [[7]] })),
    };
    await using server = await startServer((triton) => void triton.bind(old), { serverThread });
    const replaced = server.triton.rebind({
      ...warmed,
      config: { modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'float32', shape: [1], zeroData: true } } }] },
      inferFunc: instanceGroup(module, {
        args: [
          ['short-lived', shared],
          ['slow to warm up', shared],
        ],
      }),
    });
    await expect.poll(() => Atomics.load(shared, 0)).toBe(2);
    const answer = async () => {
      const one = { name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] };
      return (await inferJson(server.http, 'Warmed', [one])).outputs[0]!.data;
    };
    const instances = async () =>
      (await (await fetch(server.metrics)).text()).match(/^tstriton_instances\{.*\} (\d)$/m)?.[1];
    for (let i = 0; i < 4; i++) expect([await answer(), await instances()]).toEqual([[7], '1']);
    Atomics.store(shared, 2, 1);
    await replaced;
    await expect.poll(instances).toBe('2');
    expect([await answer(), await answer()]).toEqual([[1], [1]]);
  });
});

describe('warm-up settings', () => {
  it.each([
    [{ name: 'w', inputs: { z: { dtype: 'float32', shape: [1], zeroData: true } } }, "unknown option 'z'"],
    [
      { name: 'w', inputs: { x: { dtype: 'int32', shape: [1], zeroData: true } } },
      'is INT32, but the model expects FP32',
    ],
    [
      { name: 'w', inputs: { x: { dtype: 'float32', shape: [1] } } },
      'exactly one of zeroData, randomData and inputDataFile',
    ],
    [{ name: 'w', batchSize: 5, inputs: { x: { dtype: 'float32', shape: [1], zeroData: true } } }, 'batchSize of'],
    [{ inputs: { x: { dtype: 'float32', shape: [1], zeroData: true } } }, 'name of config.modelWarmup[0]'],
    [{ name: 'w' }, 'inputs of config.modelWarmup[0]'],
    [{ name: 'w', inputs: { x: null } }, 'must be an object, got null'],
    [{ name: 'w', inputs: { x: { dtype: 'float32', zeroData: true } } }, 'must be a list of dimensions, got undefined'],
    [
      { name: 'w', inputs: { x: { dtype: 'float32', shape: [1], inputDataFile: 'nowhere.bin' } } },
      'cannot read the inputDataFile',
    ],
  ] as const)('are refused at bind: %o', async (warmup, message) => {
    await using server = await startServer(() => undefined);
    expect(() =>
      server.triton.bind({
        ...warmed,
        config: { modelWarmup: [warmup as unknown as ModelWarmup] },
        inferFunc: (requests) => requests,
      }),
    ).toThrow(message);
  });
});
