// Three dense layers of a million weights, FP32 [256] in, [64] out: little input, and weights that a batch shares.

import { quarters, relu, wholeNumbers } from './onnx-network.js';
import type { OnnxNetwork } from './onnx-network.js';

const SIZES = [256, 1024, 640, 64] as const;
const LAYERS = [0, 1, 2] as const;

const weights = LAYERS.map((i) => wholeNumbers(SIZES[i] * SIZES[i + 1]!, 1));
const row = quarters(SIZES[0]);

function dense(values: Float32Array, matrix: Float32Array, size: number): Float32Array {
  const sums = new Float32Array(size);
  for (let k = 0; k < values.length; k++) {
    for (let j = 0; j < size; j++) sums[j]! += values[k]! * matrix[k * size + j]!;
  }
  return sums;
}

const answer = LAYERS.reduce<Float32Array>((values, i) => {
  const sums = dense(values, weights[i]!, SIZES[i + 1]!);
  return i === 2 ? sums : relu(sums);
}, row);

export const mlp: OnnxNetwork = {
  name: 'mlp',
  about: 'three dense layers',
  input: { name: 'x', shape: [SIZES[0]], values: row },
  output: { name: 'y', shape: [SIZES[3]], values: answer },
  nodes: LAYERS.flatMap((i) => [
    { operator: 'MatMul', inputs: [i === 0 ? 'x' : `h${i}`, `w${i}`], output: i === 2 ? 'y' : `s${i}` },
    ...(i === 2 ? [] : [{ operator: 'Relu', inputs: [`s${i}`], output: `h${i + 1}` }]),
  ]),
  weights: LAYERS.map((i) => ({ name: `w${i}`, shape: [SIZES[i], SIZES[i + 1]!], values: weights[i]! })),
};
