// A model that learns while it serves: `Train` takes examples and improves the weights that `Predict` answers with.
//
//   node build/examples/online-learning/server.js
import { batch, defineModel, Tensor, Triton } from 'tstriton';

import { whenStarted } from '../when-started.js';

export const FEATURES = 3;

const features = { dtype: 'float32', shape: [FEATURES] } as const;
const one = { dtype: 'float32', shape: [1] } as const;
const config = { maxBatchSize: 64 };

export const train = defineModel({
  modelName: 'Train',
  inputs: { features, target: one },
  outputs: { error: one },
  config,
  strict: true,
});
export const predict = defineModel({
  modelName: 'Predict',
  inputs: { features },
  outputs: { value: one },
  config,
  strict: true,
});

/** Linear regression by stochastic gradient descent. */
class Regression {
  readonly #weights = new Float32Array(FEATURES + 1);
  readonly #rate = 0.1;

  predict(x: ArrayLike<number>): number {
    let sum = this.#weights[FEATURES]!;
    for (let i = 0; i < FEATURES; i++) sum += this.#weights[i]! * x[i]!;
    return sum;
  }

  /** Takes a step, and returns the error before it. */
  train(x: ArrayLike<number>, target: number): number {
    const error = this.predict(x) - target;
    for (let i = 0; i < FEATURES; i++) this.#weights[i]! -= this.#rate * error * x[i]!;
    this.#weights[FEATURES]! -= this.#rate * error;
    return error;
  }
}

export function bindRegression(triton: Triton): void {
  // Both callables run in this thread, one batch at a time: a prediction never sees half a step.
  const model = new Regression();
  triton.bind({
    ...train,
    inferFunc: batch(({ features, target }) => ({
      error: new Tensor(
        'float32',
        Float32Array.from(features.rows(), ({ data }, row) => model.train(data, target.data[row]!)),
        [features.rowCount, 1],
      ),
    })),
  });
  triton.bind({
    ...predict,
    inferFunc: batch(({ features }) => ({
      value: new Tensor(
        'float32',
        Float32Array.from(features.rows(), ({ data }) => model.predict(data)),
        [features.rowCount, 1],
      ),
    })),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindRegression(triton);
  await triton.serve();
});
