// The growth suite's server: so many models, with as many tensors each, whose batches have at most so many rows.
// Usage: growth-server.js <true|false> <models> <tensors> <maxBatchSize> <wait>: the value of `serverThread`; milliseconds that
// each batch waits, without computing, so that requests queue up.

import { batch, Triton } from 'tstriton';
import type { TensorSpecs } from 'tstriton';

import { serveControl } from '../control-channel.js';
import { inputNames, modelNamed, ROW_LENGTH } from '../growth-workload.js';

const [flag, ...numbers] = process.argv.slice(2);
const [models, tensors, maxBatchSize, wait] = numbers.map(Number) as [number, number, number, number];
if (flag !== 'true' && flag !== 'false') throw new Error(`expected 'true' or 'false' for serverThread, got '${flag}'`);

const triton = new Triton({
  httpPort: 0,
  grpcPort: 0,
  metricsPort: 0,
  serverThread: flag === 'true',
  logInfo: false,
});
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
await triton.run();
const startMilliseconds = performance.now() - startedAt;

serveControl({
  ports: { httpPort: triton.httpPort!, grpcPort: triton.grpcPort! },
  load: () => Promise.resolve(startMilliseconds),
  stop: () => triton.stop(),
});
