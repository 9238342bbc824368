// Warm-up: what the model gets before anybody else may ask it.
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { describe, expect, it } from 'vitest';

import { batch, defineModel, instanceGroup, stream, type CallableOf, type ModelWarmup, type Tensor } from 'tstriton';

import { npy } from '../support/npy.js';
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

  it('makes a sequence of each row for a model that batches by sequences, and leaves no state behind', async () => {
    const seen: string[] = [];
    const ended: string[] = [];
    let made = 0;
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...warmed,
          config: {
            modelWarmup: WARMUP,
            sequenceBatching: {
              state: () => ++made,
              onEnd: (state: number, reason) => void ended.push(`${state} ${reason}`),
            },
          },
          inferFunc: batch(async ({ x }, { sequences }) => {
            seen.push(`${x.shape.join('x')} of ${sequences.map((sequence) => sequence!.state).join()}`);
            return { y: x };
          }),
        }),
      { serverThread },
    );
    expect(server.triton.isReady).toBe(true);
    expect(seen).toEqual(['3x2 of 1,2,3', '3x2 of 4,5,6', '1x4 of 7']);
    expect(ended).toEqual([1, 2, 3, 4, 5, 6, 7].map((state) => `${state} ended`));
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

const IDS = { dtype: 'int64', shape: [-1] } as const;

/** PyTriton's L0_warmup_functionality. */
describe.each([{ serverThread: true }, { serverThread: false }])('warm-up as PyTriton has it, with %o', (config) => {
  it('takes arrays of numpy, zeros and random values, and names some of the inputs only', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'tstriton-warm-up-'));
    const file = async (name: string, rows: readonly (readonly number[])[]) => {
      const path = join(folder, `${name}.npy`);
      await writeFile(path, npy('<i8', `(${rows.length}, 5)`, BigInt64Array.from(rows.flat(), BigInt)));
      return path;
    };
    const positions = [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9], [10, 11, 12, 13, 14]]; // prettier-ignore
    const from = (inputDataFile: string) => ({ ...IDS, shape: [5], inputDataFile });
    const modelWarmup: ModelWarmup[] = [
      { name: 'special', inputs: { special: from(await file('special', [[-1, -100, 0, 1, 2]])) } },
      { name: 'cut', batchSize: 2, inputs: { positions: from(await file('cut', positions)) } },
      { name: 'as it is', batchSize: 3, inputs: { positions: from(await file('whole', positions)) } },
      { name: 'repeated', batchSize: 4, inputs: { positions: from(await file('repeated', positions)) } },
      {
        name: 'others',
        batchSize: 2,
        inputs: { random: { ...IDS, shape: [10], randomData: true }, padding: { ...IDS, shape: [3], zeroData: true } },
      },
    ];
    const calls: Record<string, Tensor<'int64'>>[] = [];
    const inputs = { special: IDS, positions: IDS, random: IDS, padding: IDS };
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          modelName: 'Ids',
          inputs,
          outputs: inputs,
          config: { maxBatchSize: 4, modelWarmup },
          inferFunc: batch((given) => {
            calls.push({ ...given });
            return given;
          }),
        }),
      config,
    );
    await rm(folder, { recursive: true });
    const rowsOf = (call: number, name: string) => calls[call]![name]!.toNested();
    const rows = positions.map((row) => row.map(BigInt));
    expect(calls.map((call) => Object.keys(call))).toEqual([
      ['special'],
      ['positions'],
      ['positions'],
      ['positions'],
      ['random', 'padding'],
    ]);
    expect(rowsOf(0, 'special')).toEqual([[-1n, -100n, 0n, 1n, 2n]]);
    expect(rowsOf(1, 'positions')).toEqual(rows.slice(0, 2));
    expect(rowsOf(2, 'positions')).toEqual(rows);
    expect(rowsOf(3, 'positions')).toEqual([...rows, rows[0]]);
    expect(calls[4]!['padding']).toMatchObject({ shape: [2, 3], data: new BigInt64Array(6) });
    expect(new Set(calls[4]!['random']!.data).size).toBeGreaterThan(1);
    // Clients still have to send them all.
    const some = { name: 'special', datatype: 'INT64', shape: [1, 1], data: [7] };
    const response = await fetch(`${server.http}/v2/models/Ids/infer`, {
      method: 'POST',
      body: JSON.stringify({ inputs: [some] }),
    });
    expect([response.status, await response.text()]).toEqual([
      400,
      expect.stringContaining('expected 4 inputs but got 1'),
    ]);
  });

  it('says which inputs the request lacks when the callable fails', async () => {
    const modelWarmup = [{ name: 'some', inputs: { a: { ...IDS, shape: [1], zeroData: true } } }];
    const started = startServer(
      (triton) =>
        void triton.bind({
          modelName: 'Sum',
          inputs: { a: IDS, b: IDS },
          outputs: { sum: IDS },
          config: { modelWarmup },
          inferFunc: batch(({ a, b }) => ({ sum: a.map((value, i) => value + b.data[i]!) })),
        }),
      config,
    );
    await expect(started).rejects.toThrow(
      /warm-up 'some' of model 'Sum' failed: .*undefined.* \(it has no input 'b'\)/,
    );
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
