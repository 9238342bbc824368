// A multilayer perceptron over whole pictures: two layers of random weights, and scores that add up to one. The inputs are large, the
// outputs small.
//
//   node build/examples/mlp/server.js
import { batch, defineModel, Tensor, Triton } from 'tstriton';

import { randomFrom } from '../language-id/corpus.js';
import { whenStarted } from '../when-started.js';

export const SIDE = 224;
const [CELLS, HIDDEN, CLASSES] = [14 * 14, 64, 10];
const CELL = SIDE / 14;

export const mlp = defineModel({
  modelName: 'Mlp',
  inputs: { picture: { dtype: 'float32', shape: [SIDE, SIDE, 3] } },
  outputs: { scores: { dtype: 'float32', shape: [CLASSES] } },
  config: { maxBatchSize: 16 },
  strict: true,
});

/** Weights of a layer, a row for each of its units. */
function layer(units: number, inputs: number, random: () => number): Float32Array {
  return Float32Array.from({ length: units * inputs }, () => (2 * random() - 1) / Math.sqrt(inputs));
}

function multiply(weights: Float32Array, values: Float32Array): Float32Array {
  const inputs = values.length;
  return Float32Array.from({ length: weights.length / inputs }, (_, unit) => {
    let sum = 0;
    for (let i = 0; i < inputs; i++) sum += weights[unit * inputs + i]! * values[i]!;
    return sum;
  });
}

/** The mean brightness of each cell of a grid: what the first layer sees of a picture. */
function brightness(picture: Float32Array): Float32Array {
  const cells = new Float32Array(CELLS);
  for (let y = 0; y < SIDE; y++) {
    for (let x = 0; x < SIDE; x++) {
      const at = 3 * (y * SIDE + x);
      const cell = Math.floor(y / CELL) * 14 + Math.floor(x / CELL);
      cells[cell]! += (picture[at]! + picture[at + 1]! + picture[at + 2]!) / (3 * CELL * CELL);
    }
  }
  return cells;
}

function softmax(values: Float32Array): Float32Array {
  const largest = Math.max(...values);
  const powers = values.map((value) => Math.exp(value - largest));
  const sum = powers.reduce((a, b) => a + b);
  return powers.map((power) => power / sum);
}

export function bindMlp(triton: Triton): void {
  const random = randomFrom(7);
  const first = layer(HIDDEN, CELLS, random);
  const second = layer(CLASSES, HIDDEN, random);
  triton.bind({
    ...mlp,
    inferFunc: batch(({ picture }) => {
      const scores = new Float32Array(picture.rowCount * CLASSES);
      const size = SIDE * SIDE * 3;
      for (let row = 0; row < picture.rowCount; row++) {
        const pixels = picture.data.subarray(row * size, (row + 1) * size);
        const hidden = multiply(first, brightness(pixels)).map((value) => Math.max(0, value));
        scores.set(softmax(multiply(second, hidden)), row * CLASSES);
      }
      return { scores: new Tensor('float32', scores, [picture.rowCount, CLASSES]) };
    }),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton();
  bindMlp(triton);
  await triton.serve();
});
