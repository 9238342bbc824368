// The smallest useful model: the sum and the difference of two vectors.
//
//   node build/examples/add-sub/server.js
import { batch, defineModel, Tensor, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';

export const addSub = defineModel({
  modelName: 'AddSub',
  description: 'Adds two vectors, and subtracts the second from the first',
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
  outputs: { add: { dtype: 'float32', shape: [-1] }, sub: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 8 },
  strict: true,
});

export function bindAddSub(triton: Triton): void {
  triton.bind({
    ...addSub,
    inferFunc: batch(({ a, b }) => ({
      add: new Tensor(
        'float32',
        a.data.map((value, i) => value + b.data[i]!),
        a.shape,
      ),
      sub: new Tensor(
        'float32',
        a.data.map((value, i) => value - b.data[i]!),
        a.shape,
      ),
    })),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindAddSub(triton);
  await triton.serve();
});
