import { expect, it } from 'vitest';
import { batch } from '../callables/batch.js';
import { Triton } from '../triton.js';
import { Tensor } from '../tensor/tensor.js';
import { defineModel, ModelClient } from './index.js';

const addSub = defineModel({ modelName: 'AddSub', inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: Float32Array, shape: [-1] } }, outputs: { add: { dtype: 'float32', shape: [-1] }, sub: { dtype: 'float32', shape: [-1] } } });
const text = defineModel({ modelName: 'Text', inputs: { t: { dtype: 'string', shape: [1] } }, outputs: { u: { dtype: 'string', shape: [1] } } });

it('works end to end', async () => {
  const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, serverThread: false, logFile: '/dev/null' });
  triton.bind({ ...addSub, inferFunc: batch(({ a, b }) => ({ add: a.map((v, i) => v + b.data[i]!), sub: a.map((v, i) => v - b.data[i]!) })) });
  triton.bind({ ...text, inferFunc: batch(({ t }) => ({ u: t.map((v) => v.toUpperCase()) })) });
  await triton.run();
  for (const url of [`http://localhost:${triton.httpPort}`, `grpc://localhost:${triton.grpcPort}`]) {
    const client = new ModelClient(url, addSub);
    const { add, sub } = await client.inferSample({ a: Float32Array.of(1), b: Float32Array.of(2) });
    expect([add, sub]).toEqual([new Tensor('float32', Float32Array.of(3)), new Tensor('float32', Float32Array.of(-1))]);
    const named = new ModelClient(url, 'AddSub');
    const r = await named.inferBatch([[[1, 2], [3, 4]], [[1, 1], [1, 1]]]);
    expect(r.add!.toNested()).toEqual([[2, 3], [4, 5]]);
    const big = new Float32Array(5_000_000).fill(1.5);
    const t0 = performance.now();
    const s = await client.inferSample({ a: big, b: big }, { outputs: ['sub'] });
    console.log(url, 'big', performance.now() - t0, Object.keys(s));
    const t = new ModelClient(url, text);
    expect((await t.inferSample({ t: ['héllo'] })).u.data).toEqual(['HÉLLO']);
    expect((await t.inferBatch({ t: [['a'], ['b']] })).u.toNested()).toEqual([['A'], ['B']]);
    const N = 3000;
    for (let round = 0; round < 2; round++) {
      const t1 = performance.now();
      for (let i = 0; i < N; i++) await client.inferSample({ a: Float32Array.of(1), b: Float32Array.of(2) });
      console.log(url, 'sequential us', ((performance.now() - t1) / N) * 1000);
    }
    await expect(new ModelClient(url, 'Nope').inferSample({})).rejects.toThrow("Request for unknown model: 'Nope' is not found");
    await expect(client.inferBatch({ a: [[1],[1],[1],[1],[1]], b: [[1],[1],[1],[1],[1]] })).rejects.toThrow('batch-size must be <= 4');
    await Promise.all([client.close(), named.close(), t.close()]);
  }
  await triton.stop();
}, 60000);
