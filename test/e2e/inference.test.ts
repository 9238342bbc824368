import { describe, expect, it } from 'vitest';

import { batch, defineModel, sample, Tensor, TritonError, type CallableOf, type Dtype, type Triton } from 'tstriton';
import { ModelClient } from 'tstriton/client';

import { Float16Array } from '../support/float16-array.js';
import { gate, inferJson, pendingRequests, startServer } from '../support/start-server.js';

const vector = defineModel({
  modelName: 'Vector',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 8 },
});

const WIRES = ['http', 'grpc'] as const;

describe.each([{ serverThread: true }, { serverThread: false }])('inference with %o', ({ serverThread }) => {
  it('answers each of 64 concurrent clients with the answer to its own question', async () => {
    const sizes: number[] = [];
    const release = gate();
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...vector,
          inferFunc: batch(async ({ x }) => {
            sizes.push(x.rowCount);
            // What comes meanwhile is in the next batches.
            if (sizes.length === 1) await release.opened;
            await new Promise((resolve) => setImmediate(resolve));
            return { y: x.map((value) => value + 1) };
          }),
        }),
      { serverThread },
    );
    const clients = Array.from({ length: 64 }, async (_, client) => {
      await using model = new ModelClient(client % 2 === 0 ? server.http : server.grpc, vector);
      for (let question = 0; question < 10; question++) {
        // Three lengths, so that requests of one shape and of different shapes meet in the queue, whatever the order.
        const length = 1 + ((Math.floor(client / 16) + question) % 3);
        const x = Float32Array.from({ length }, (__, i) => client * 1000 + question * 10 + i);
        const { y } = await model.inferSample({ x });
        expect(y!.data).toEqual(x.map((value) => value + 1));
      }
    });
    // All are there: the first batch, and what waits behind it.
    const arrived = async () => (sizes[0] ?? 0) + pendingRequests(await (await fetch(server.metrics)).text());
    await expect.poll(arrived).toBe(64);
    release.open();
    await Promise.all(clients);
    expect(sizes.reduce((sum, rows) => sum + rows, 0)).toBe(640);
    expect(Math.max(...sizes)).toBeLessThanOrEqual(8);
    expect(sizes.length).toBeLessThan(640);
  });

  it('puts what waits while the model is busy into one batch', async () => {
    const started = gate();
    const release = gate();
    const batches: number[] = [];
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...vector,
          inferFunc: batch(async ({ x }) => {
            batches.push(x.rowCount);
            started.open();
            await release.opened;
            return { y: x };
          }),
        }),
      { serverThread },
    );
    const ask = () => inferJson(server.http, 'Vector', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [7] }]);
    const first = ask();
    await started.opened;
    const others = Array.from({ length: 5 }, ask);
    await expect.poll(async () => pendingRequests(await (await fetch(server.metrics)).text())).toBe(5);
    release.open();
    await Promise.all([first, ...others]);
    expect(batches).toEqual([1, 5]);
  });

  it.each(WIRES)('hands every dtype through over %s', async (wire) => {
    const values: Readonly<Record<Dtype, Tensor>> = {
      bool: new Tensor('bool', Uint8Array.of(1, 0)),
      uint8: new Tensor('uint8', Uint8Array.of(0, 255)),
      uint16: new Tensor('uint16', Uint16Array.of(0, 65_535)),
      uint32: new Tensor('uint32', Uint32Array.of(0, 4_294_967_295)),
      uint64: new Tensor('uint64', BigUint64Array.of(0n, 18_446_744_073_709_551_615n)),
      int8: new Tensor('int8', Int8Array.of(-128, 127)),
      int16: new Tensor('int16', Int16Array.of(-32_768, 32_767)),
      int32: new Tensor('int32', Int32Array.of(-2_147_483_648, 2_147_483_647)),
      int64: new Tensor('int64', BigInt64Array.of(-9_223_372_036_854_775_808n, 9_007_199_254_740_993n)),
      float16: Tensor.fromFloat32('float16', [1.5, -0]),
      bfloat16: Tensor.fromFloat32('bfloat16', [1.5, -0]),
      float32: new Tensor('float32', Float32Array.of(NaN, -Infinity)),
      float64: new Tensor('float64', Float64Array.of(0.1, -0)),
      bytes: new Tensor('bytes', [Uint8Array.of(255, 0, 0, 0), new Uint8Array()]),
      string: new Tensor('string', ['grüße\u0000', '']),
    };
    const models = Object.keys(values).map((dtype) =>
      defineModel({
        modelName: `Identity_${dtype}`,
        inputs: [{ dtype: dtype as Dtype, shape: [2] }],
        outputs: [{ dtype: dtype as Dtype, shape: [2] }],
      }),
    );
    await using server = await startServer(
      (triton) => models.forEach((model) => triton.bind({ ...model, inferFunc: (requests) => requests })),
      {
        serverThread,
      },
    );
    for (const [index, tensor] of Object.values(values).entries()) {
      await using client = new ModelClient(server[wire], models[index]!);
      const { OUTPUT_1 } = await client.inferSample([tensor]);
      expect(OUTPUT_1!.dtype).toBe(tensor.dtype);
      expect(OUTPUT_1!.data).toEqual(tensor.data);
      expect(OUTPUT_1!.shape).toEqual([2]);
    }
  });

  it.runIf(Float16Array !== undefined)(
    'takes Float16Array for the dtype and its values, and gives the bits',
    async () => {
      const tensor = { dtype: Float16Array as unknown as 'float16', shape: [-1] };
      const model = defineModel({ modelName: 'Half', inputs: { x: tensor }, outputs: { y: tensor } });
      await using server = await startServer(
        (triton) =>
          void triton.bind({
            ...model,
            inferFunc: batch(({ x }) => {
              const { buffer, byteOffset, length } = x.data;
              const values = new Float16Array!(buffer, byteOffset, length);
              return { y: new Float16Array!(Array.from(values, (value) => 2 * value)) as never };
            }),
          }),
        { serverThread },
      );
      for (const wire of WIRES) {
        await using client = new ModelClient(server[wire], model);
        const { y } = await client.inferSample({ x: new Float16Array!([0.5, -3, 65504]) as never });
        expect(y).toEqual(new Tensor('float16', Uint16Array.of(0x3c00, 0xc600, 0x7c00)));
      }
    },
  );

  it('handles 5 MB tensors in and out over both protocols', async () => {
    await using server = await startServer(
      (triton) => void triton.bind({ ...vector, inferFunc: batch(({ x }) => ({ y: x })) }),
      { serverThread },
    );
    const x = new Float32Array(1_250_000).map((_, i) => i);
    for (const wire of WIRES) {
      await using client = new ModelClient(server[wire], vector);
      const { y } = await client.inferSample({ x });
      expect(
        Buffer.compare(Buffer.from(y!.data.buffer, y!.data.byteOffset, y!.data.byteLength), Buffer.from(x.buffer)),
      ).toBe(0);
    }
  });

  it.each(WIRES)('answers what a callable throws with its message and never its stack, over %s', async (wire) => {
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...vector,
          modelName: 'Throws',
          inferFunc: () => {
            throw new Error('division by zero');
          },
        });
        triton.bind({
          ...vector,
          modelName: 'Refuses',
          inferFunc: batch(() => {
            throw new TritonError('INVALID_ARG', 'x must be positive');
          }),
        });
        triton.bind({ ...vector, modelName: 'Rejects', inferFunc: () => Promise.reject('a string') });
        triton.bind({ ...vector, modelName: 'Silent', inferFunc: () => undefined as never });
        triton.bind({
          ...vector,
          modelName: 'Short',
          inferFunc: batch(() => ({ y: new Tensor('float32', new Float32Array(6), [3, 2]) })),
        });
        triton.bind({ ...vector, modelName: 'Fine', inferFunc: (requests) => requests });
      },
      { serverThread },
    );
    const ask = async (model: string) => {
      await using client = new ModelClient(server[wire], { ...vector, modelName: model });
      return await client.inferSample({ x: Float32Array.of(1) });
    };
    await expect(ask('Throws')).rejects.toMatchObject({ code: 'INTERNAL', message: 'division by zero' });
    await expect(ask('Refuses')).rejects.toMatchObject({ code: 'INVALID_ARG', message: 'x must be positive' });
    await expect(ask('Rejects')).rejects.toMatchObject({ code: 'INTERNAL', message: 'a string' });
    await expect(ask('Silent')).rejects.toMatchObject({
      code: 'INTERNAL',
      message: "model 'Silent' must return a list with one result per request, got undefined",
    });
    await expect(ask('Short')).rejects.toMatchObject({
      code: 'INTERNAL',
      message:
        "output 'y' of model 'Short' has shape [3,2], expected 1 row in the first dimension, one per row of the input",
    });
    expect((await ask('Fine')).y!.data).toEqual(Float32Array.of(1));
  });

  it('hands parameters and ids to the callable and the id back to the client', async () => {
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...vector,
          outputs: { seen: { dtype: 'string', shape: [1] } },
          inferFunc: (requests) =>
            requests.map(({ parameters, id }) => ({ seen: [[`${id} ${JSON.stringify(parameters)}`]] })),
        }),
      { serverThread },
    );
    const answer = await inferJson(server.http, 'Vector', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }], {
      id: 'abc',
      parameters: { flag: true, count: 3, ratio: 0.5, text: 'ä' },
    });
    expect(answer.id).toBe('abc');
    expect(answer.outputs[0]!.data).toEqual(['abc {"flag":true,"count":3,"ratio":0.5,"text":"ä"}']);
  });

  it('tells a callable which outputs are wanted, and does without the others', async () => {
    const two = { ...vector, outputs: { y: vector.outputs.y, z: vector.outputs.y } };
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...two,
          strict: true,
          inferFunc: batch(({ x }, { requestedOutputs, rowParameters }) => {
            const scale = Number(rowParameters[0]!['scale']);
            return {
              y: requestedOutputs.includes('y') ? x.map((value) => value * scale) : undefined,
              z: requestedOutputs.includes('z') ? x.map((value) => -value * scale) : undefined,
            };
          }),
        }),
      { serverThread },
    );
    for (const wire of WIRES) {
      await using client = new ModelClient(server[wire], two);
      const ask = async (...outputs: ('y' | 'z')[]) => {
        const answer = await client.inferSample(
          { x: [2] },
          { parameters: { scale: 3 }, ...(outputs[0] && { outputs }) },
        );
        return Object.entries(answer).map(([name, tensor]) => `${name} ${tensor?.data.join()}`);
      };
      expect(await ask('z')).toEqual(['z -6']);
      expect(await ask('y')).toEqual(['y 6']);
      expect(await ask()).toEqual(['y 6', 'z -6']);
    }
  });

  it('tells a running callable that its client is gone', async () => {
    const started = gate();
    const aborted = gate();
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          ...vector,
          inferFunc: async (requests, context) => {
            started.open();
            await new Promise((resolve) => requests[0]!.signal.addEventListener('abort', resolve));
            if (context.signal.aborted) aborted.open();
            return requests;
          },
        }),
      { serverThread },
    );
    for (const wire of WIRES) {
      await using client = new ModelClient(server[wire], vector);
      const hangUp = new AbortController();
      const answer = client.inferSample({ x: Float32Array.of(1) }, { signal: hangUp.signal });
      await started.opened;
      hangUp.abort();
      await expect(answer).rejects.toMatchObject({ code: 'CANCELLED' });
      await aborted.opened;
    }
  });

  it('takes turns between instances, and overlaps batches of an instance with concurrency', async () => {
    const counts = [0, 0];
    await using server = await startServer(
      (triton) => {
        triton.bind({
          ...vector,
          inferFunc: counts.map((_, instance): CallableOf<typeof vector> =>
            batch(({ x }) => (counts[instance]!++, { y: x })),
          ),
        });
        bindOverlapping(triton);
      },
      { serverThread },
    );
    for (let i = 0; i < 10; i++)
      await inferJson(server.http, 'Vector', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }]);
    expect(counts).toEqual([5, 5]);
    // Each of the two waits for the other: one at a time would never end.
    const ask = () =>
      inferJson(server.http, 'Overlapping', [{ name: 'x', datatype: 'FP32', shape: [1, 1], data: [1] }]);
    expect((await Promise.all([ask(), ask()])).map(({ status }) => status)).toEqual([200, 200]);
  });

  it('gives sample callables tensors without a batch axis', async () => {
    await using server = await startServer(
      (triton) =>
        void triton.bind({
          modelName: 'Sum',
          inputs: { m: { dtype: 'int32', shape: [2, -1] } },
          outputs: { sum: { dtype: 'int64', shape: [1] } },
          config: { batching: false },
          inferFunc: sample(({ m }) => ({ sum: [m.data.reduce((sum, value) => sum + value, 0)] })),
        }),
      { serverThread },
    );
    const answer = await inferJson(server.http, 'Sum', [
      { name: 'm', datatype: 'INT32', shape: [2, 2], data: [1, 2, 3, 4] },
    ]);
    expect(answer.outputs[0]).toMatchObject({ shape: [1], data: [10] });
  });
});

function bindOverlapping(triton: Triton): void {
  let waiting = 0;
  const both = gate();
  triton.bind({
    ...vector,
    modelName: 'Overlapping',
    config: { maxBatchSize: 1, concurrency: 2 },
    inferFunc: async (requests) => {
      if (++waiting === 2) both.open();
      await both.opened;
      return requests;
    },
  });
}
