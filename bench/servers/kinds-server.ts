// Add-sub in batches, by shape, asynchronous, and behind another model. Usage: kinds-server.js <true|false>, the value of
// `serverThread`.

import { batch, Tensor } from 'tstriton';

import { measuredServer, serveMeasured, serverThreadFlag } from './measured-server.js';

const triton = measuredServer(serverThreadFlag());
const row = { dtype: 'float32', shape: [-1] } as const;
const specs = { inputs: { a: row, b: row }, outputs: { add: row, sub: row } } as const;
const maxBatchSize = 64;

interface Inputs {
  readonly a: Tensor<'float32'>;
  readonly b: Tensor<'float32'>;
}

function addSub({ a, b }: Inputs) {
  const add = new Float32Array(a.data.length);
  const sub = new Float32Array(a.data.length);
  for (let i = 0; i < add.length; i++) {
    add[i] = a.data[i]! + b.data[i]!;
    sub[i] = a.data[i]! - b.data[i]!;
  }
  return { add: new Tensor('float32', add, a.shape), sub: new Tensor('float32', sub, a.shape) };
}

triton.bind({ modelName: 'Batching', ...specs, config: { maxBatchSize }, inferFunc: batch(addSub) });
triton.bind({
  modelName: 'ByShape',
  ...specs,
  config: { maxBatchSize, batcher: { groupByShape: true } },
  inferFunc: batch(addSub),
});
triton.bind({
  modelName: 'Asynchronous',
  ...specs,
  config: { maxBatchSize },
  inferFunc: batch(async (inputs: Inputs) => {
    await Promise.resolve();
    return addSub(inputs);
  }),
});
triton.bind({
  modelName: 'Pipeline',
  ...specs,
  config: { maxBatchSize },
  inferFunc: (requests, { models }) => requests.map(({ inputs }) => models['Batching']!.infer(inputs)),
});
await serveMeasured(triton);
