// A callable that reads the parameters of each request, and headers that the server passes on as parameters.
//
//   node build/examples/parameters-and-headers/server.js
import { defineModel, Triton, type TritonConfig, TritonError } from 'tstriton';

import { whenStarted } from '../when-started.js';

/** Headers whose name matches reach the callable. */
export const config: TritonConfig = {
  httpHeaderForwardPattern: '^x-divisor$',
  grpcHeaderForwardPattern: '^x-divisor$',
};

export const ratio = defineModel({
  modelName: 'Ratio',
  inputs: { x: { dtype: 'float64', shape: [-1] } },
  outputs: { y: { dtype: 'float64', shape: [-1] } },
  config: { maxBatchSize: 8 },
  strict: true,
});

export function bindRatio(triton: Triton): void {
  triton.bind({
    ...ratio,
    // No decorator: each request of the batch has parameters of its own, and may fail alone.
    inferFunc: (requests) =>
      requests.map(({ inputs: { x }, parameters }) => {
        const factor = Number(parameters['factor'] ?? 1);
        const divisor = Number(parameters['x-divisor'] ?? 1);
        if (!(divisor > 0)) return new TritonError('INVALID_ARG', `x-divisor must be positive, got ${divisor}`);
        return { y: x.map((value) => (value * factor) / divisor) };
      }),
  });
}

await whenStarted(import.meta.url, async () => {
  const triton = new Triton(config);
  bindRatio(triton);
  await triton.serve();
});
