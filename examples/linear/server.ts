// A linear layer with two instances: each callable is an object with weights of its own place, and batches go to
// whichever instance is free.
//
//   node build/examples/linear/server.js
import { batch, defineModel, Tensor, Triton, type CallableOf } from 'tstriton';

import { whenStarted } from '../when-started.js';

export const IN_FEATURES = 20;
export const OUT_FEATURES = 30;

export const linear = defineModel({
  modelName: 'Linear',
  description: 'Multiplies rows of features by a matrix',
  inputs: { data: { dtype: 'float32', shape: [IN_FEATURES] } },
  outputs: { result: { dtype: 'float32', shape: [OUT_FEATURES] } },
  config: { maxBatchSize: 16 },
  strict: true,
});

/** The same weights at every call: a fixed sequence between -0.5 and 0.5. */
export function makeWeights(): Float32Array {
  let state = 1;
  return Float32Array.from({ length: IN_FEATURES * OUT_FEATURES }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  });
}

/** result[row] = weights × data[row]. */
class LinearLayer {
  readonly #weights: Float32Array;

  constructor(weights: Float32Array) {
    this.#weights = weights;
  }

  readonly infer: CallableOf<typeof linear> = batch(({ data }) => {
    const rows = data.rowCount;
    const result = new Float32Array(rows * OUT_FEATURES);
    for (let row = 0; row < rows; row++) {
      for (let out = 0; out < OUT_FEATURES; out++) {
        let sum = 0;
        for (let i = 0; i < IN_FEATURES; i++) {
          sum += this.#weights[out * IN_FEATURES + i]! * data.data[row * IN_FEATURES + i]!;
        }
        result[row * OUT_FEATURES + out] = sum;
      }
    }
    return { result: new Tensor('float32', result, [rows, OUT_FEATURES]) };
  });
}

export function bindLinear(triton: Triton): void {
  const weights = makeWeights();
  triton.bind({ ...linear, inferFunc: [new LinearLayer(weights), new LinearLayer(weights)] });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindLinear(triton);
  await triton.serve();
});
