// Inputs that a client may leave out, with defaults: `scale` and `offset`.
//
//   node build/examples/optional-inputs/server.js
import { batch, defineModel, fillOptionals, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';

export const scaledSum = defineModel({
  modelName: 'ScaledSum',
  inputs: {
    a: { dtype: 'float32', shape: [-1] },
    b: { dtype: 'float32', shape: [-1] },
    scale: { dtype: 'float32', shape: [1], optional: true },
    offset: { dtype: 'float32', shape: [1], optional: true },
  },
  outputs: { sum: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 8 },
  strict: true,
});

export function bindScaledSum(triton: Triton): void {
  triton.bind({
    ...scaledSum,
    // Under `fillOptionals` the inputs are always there, a row for each row of the batch.
    inferFunc: fillOptionals(
      { scale: 1, offset: 0 },
      batch(({ a, b, scale, offset }) => {
        const width = a.shape[1]!;
        return {
          sum: a.map((value, i) => {
            const row = Math.floor(i / width);
            return scale.data[row]! * (value + b.data[i]!) + offset.data[row]!;
          }),
        };
      }),
    ),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindScaledSum(triton);
  await triton.serve();
});
