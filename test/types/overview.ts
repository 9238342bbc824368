// The code examples of PyTriton's overview page, in TypeScript.
import { batch, defineModel, Triton, type CallableOf, type Tensor } from 'tstriton';

declare function embed(first: Tensor<'string'>, second: Tensor<'string'>): Promise<Float32Array>;

const myModel = defineModel({
  modelName: 'MyModel',
  inputs: [
    { dtype: 'string', shape: [1] },
    { dtype: 'string', shape: [-1] },
  ],
  outputs: [{ dtype: 'float32', shape: [-1] }],
  config: { maxBatchSize: 16 },
});

/** The callable first, on its own. */
const infer: CallableOf<typeof myModel> = batch(async ({ INPUT_1, INPUT_2 }) => {
  const outputs = await embed(INPUT_1, INPUT_2);
  return [outputs];
});

export async function serve(): Promise<void> {
  await using triton = new Triton();
  triton.bind({ ...myModel, inferFunc: infer });
  await triton.serve();
}

/** The notebook: everything in the background. */
export async function notebook(): Promise<void> {
  const triton = new Triton();
  triton.bind({
    modelName: 'MyModel',
    inferFunc: batch(({ INPUT_1, INPUT_2 }) => {
      const outputs = INPUT_2.map((value, i) => value + INPUT_1.data[Math.floor(i / INPUT_2.shape[1]!)]!);
      return [outputs];
    }),
    inputs: [
      { dtype: 'float32', shape: [1] },
      { dtype: 'float32', shape: [-1] },
    ],
    outputs: [{ dtype: 'float32', shape: [-1] }],
    config: { maxBatchSize: 16 },
  });
  await triton.run();
  await triton.stop();
}
