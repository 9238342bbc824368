// Add-sub and identity on NVIDIA's tritonserver, with the callables in this process.
// Usage: engine-server.js <path of tritonserver> <HTTP port> <gRPC port> <metrics port>.

import { batch, Tensor, Triton } from 'tstriton';

import { ADD_SUB } from '../add-sub-wire.js';
import { MODEL } from '../identity-wire.js';

const [tritonserverPath, ...ports] = process.argv.slice(2);
const [httpPort, grpcPort, metricsPort] = ports.map(Number);
if (tritonserverPath === undefined || metricsPort === undefined)
  throw new Error('expected the path of tritonserver and three ports');

const triton = new Triton({
  engine: 'tritonserver',
  tritonserverPath,
  httpPort: httpPort!,
  grpcPort: grpcPort!,
  metricsPort,
  httpAddress: '127.0.0.1',
  grpcAddress: '127.0.0.1',
  exitTimeoutSecs: 1,
});
const tensor = { dtype: 'float32', shape: [16] } as const;
triton.bind({
  modelName: ADD_SUB,
  inferFunc: batch(({ a, b }) => {
    const add = new Float32Array(a.data.length);
    const sub = new Float32Array(a.data.length);
    for (let i = 0; i < add.length; i++) {
      add[i] = a.data[i]! + b.data[i]!;
      sub[i] = a.data[i]! - b.data[i]!;
    }
    return { add: new Tensor('float32', add, a.shape), sub: new Tensor('float32', sub, a.shape) };
  }),
  inputs: { a: tensor, b: tensor },
  outputs: { add: tensor, sub: tensor },
  config: { maxBatchSize: 64 },
});
triton.bind({
  modelName: MODEL,
  inferFunc: (requests) => requests,
  inputs: { a: tensor, b: tensor },
  outputs: { c: tensor, d: tensor },
  config: { maxBatchSize: 64 },
});
await triton.serve();
