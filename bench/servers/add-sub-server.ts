// Our own server beside the others: add-sub, HTTP and gRPC.
// Usage: add-sub-server.js <true|false>, the value of `serverThread`.

import { batch, Tensor, Triton } from 'tstriton';

import { ADD_SUB } from '../add-sub-wire.js';
import { serveControl } from '../control-channel.js';

const flag = process.argv[2];
if (flag !== 'true' && flag !== 'false') throw new Error(`expected 'true' or 'false' for serverThread, got '${flag}'`);

const serverThread = flag === 'true';
const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, serverThread, logInfo: false });
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
  inputs: { a: { dtype: 'float32', shape: [16] }, b: { dtype: 'float32', shape: [16] } },
  outputs: { add: { dtype: 'float32', shape: [16] }, sub: { dtype: 'float32', shape: [16] } },
  config: { maxBatchSize: 64 },
});
await triton.run();

serveControl({
  ports: { httpPort: triton.httpPort!, grpcPort: triton.grpcPort! },
  stop: () => triton.stop(),
});
