// Two convolutions and their mean over the image, FP32 [3,32,32] in, [32] out: rows of 12 KiB, few weights, and as much
// computing for each row of a batch as for one alone.

import { quarters, relu, wholeNumbers } from './onnx-network.js';
import type { OnnxNetwork } from './onnx-network.js';

const SIZE = 32;
const CHANNELS = [3, 16, 32] as const;
const KERNEL = 3;

interface Image {
  readonly channels: number;
  /** Height and width. */
  readonly size: number;
  readonly values: Float32Array;
}

const kernels = [
  wholeNumbers(CHANNELS[1] * CHANNELS[0] * KERNEL * KERNEL, 1),
  wholeNumbers(CHANNELS[2] * CHANNELS[1] * KERNEL * KERNEL, 1, 11),
] as const;
const row: Image = { channels: CHANNELS[0], size: SIZE, values: quarters(CHANNELS[0] * SIZE * SIZE) };

/** One value of a convolution with one pixel of padding: of output channel `to`, around a point of the image. */
function around(image: Image, kernel: Float32Array, at: { to: number; top: number; left: number }): number {
  const { channels, size, values } = image;
  let sum = 0;
  for (let from = 0; from < channels; from++) {
    for (let i = 0; i < KERNEL * KERNEL; i++) {
      const y = at.top + Math.floor(i / KERNEL) - 1;
      const x = at.left + (i % KERNEL) - 1;
      if (y < 0 || y >= size || x < 0 || x >= size) continue;
      sum += values[(from * size + y) * size + x]! * kernel[(at.to * channels + from) * KERNEL * KERNEL + i]!;
    }
  }
  return sum;
}

function convolved(image: Image, kernel: Float32Array, stride: number): Image {
  const channels = kernel.length / (image.channels * KERNEL * KERNEL);
  const size = image.size / stride;
  const values = Float32Array.from({ length: channels * size * size }, (_, i) => {
    const to = Math.floor(i / (size * size));
    const top = (Math.floor(i / size) % size) * stride;
    return around(image, kernel, { to, top, left: (i % size) * stride });
  });
  return { channels, size, values: relu(values) };
}

/** Sums stay below 2^24 quarters and are divided by a power of two: exact, too. */
function means({ channels, size, values }: Image): Float32Array {
  const points = size * size;
  return Float32Array.from({ length: channels }, (_, channel) => {
    const sum = values.subarray(channel * points, (channel + 1) * points).reduce((all, value) => all + value, 0);
    return sum / points;
  });
}

const answer = means(convolved(convolved(row, kernels[0], 1), kernels[1], 2));

function convolution(input: string, kernel: string, output: string, stride: number): OnnxNetwork['nodes'][number] {
  const attributes = { kernel_shape: [KERNEL, KERNEL], pads: [1, 1, 1, 1], strides: [stride, stride] };
  return { operator: 'Conv', inputs: [input, kernel], output, attributes };
}

export const conv: OnnxNetwork = {
  name: 'conv',
  about: 'two convolutions',
  input: { name: 'image', shape: [CHANNELS[0], SIZE, SIZE], values: row.values },
  output: { name: 'features', shape: [CHANNELS[2]], values: answer },
  nodes: [
    convolution('image', 'k0', 's0', 1),
    { operator: 'Relu', inputs: ['s0'], output: 'h0' },
    convolution('h0', 'k1', 's1', 2),
    { operator: 'Relu', inputs: ['s1'], output: 'h1' },
    { operator: 'GlobalAveragePool', inputs: ['h1'], output: 'mean' },
    { operator: 'Flatten', inputs: ['mean'], output: 'features' },
  ],
  weights: kernels.map((values, i) => ({
    name: `k${i}`,
    shape: [CHANNELS[i + 1]!, CHANNELS[i]!, KERNEL, KERNEL],
    values,
  })),
};
