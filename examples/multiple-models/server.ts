// Several models on one server, one of which calls the others.
//
//   node build/examples/multiple-models/server.js
import { batch, defineModel, type Tensor, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';

const number = { dtype: 'float32', shape: [-1] } as const;
const inputs = { x: number };
const outputs = { y: number };
const config = { maxBatchSize: 32 };

export const double = defineModel({ modelName: 'Double', inputs, outputs, config, strict: true });
export const square = defineModel({ modelName: 'Square', inputs, outputs, config, strict: true });
/** (2x)², by way of the other two. */
export const doubleThenSquare = defineModel({ modelName: 'DoubleThenSquare', inputs, outputs, config, strict: true });

export function bindModels(triton: Triton): void {
  triton.bind({ ...double, inferFunc: batch(({ x }) => ({ y: x.map((value) => 2 * value) })) });
  triton.bind({ ...square, inferFunc: batch(({ x }) => ({ y: x.map((value) => value * value) })) });
  triton.bind({
    ...doubleThenSquare,
    // Each request goes its own way, and meets others in the batches of the inner models.
    inferFunc: (requests, { modelOf }) =>
      requests.map(async ({ inputs: { x } }): Promise<{ y: Tensor<'float32'> }> => {
        const { y } = await modelOf(double).infer({ x });
        return modelOf(square).infer({ x: y });
      }),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindModels(triton);
  await triton.serve();
});
