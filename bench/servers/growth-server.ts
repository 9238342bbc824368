// The growth suite's server: so many models, with as many tensors each, whose batches have at most so many rows.
// Usage: growth-server.js <true|false> <models> <tensors> <maxBatchSize> <wait>: the value of `serverThread`; milliseconds that
// each batch waits, without computing, so that requests queue up.

import { batch } from 'tstriton';
import type { TensorSpecs } from 'tstriton';

import { inputNames, modelNamed, ROW_LENGTH } from '../growth-workload.js';
import { measuredServer, serveMeasured, serverThreadFlag } from './measured-server.js';

const [models, tensors, maxBatchSize, wait] = process.argv.slice(3).map(Number) as [number, number, number, number];

const triton = measuredServer(serverThreadFlag());
const specs = (prefix: string): TensorSpecs =>
  Object.fromEntries(
    inputNames(tensors).map((name) => [`${prefix}${name}`, { dtype: 'float32', shape: [ROW_LENGTH] }] as const),
  );
for (let i = 0; i < models; i++) {
  triton.bind({
    modelName: modelNamed(i),
    inputs: specs(''),
    outputs: specs('y'),
    config: {
      maxBatchSize,
      // Rows that come one by one are to make full batches.
      ...(maxBatchSize > 1 && wait === 0 ? { batcher: { maxQueueDelayMicroseconds: 2000 } } : {}),
    },
    inferFunc: batch(async (inputs) => {
      if (wait > 0) await new Promise((resolve) => setTimeout(resolve, wait));
      return Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [`y${name}`, tensor]));
    }),
  });
}
const startedAt = performance.now();
await serveMeasured(triton, () => Promise.resolve(startMilliseconds));
const startMilliseconds = performance.now() - startedAt;
