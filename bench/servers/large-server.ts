// Our server for large tensors: one model that gives back what it gets, and one that counts it.
// Usage: large-server.js <true|false>, the value of `serverThread`.

import { Triton } from 'tstriton';

import { serveControl } from '../control-channel.js';
import { ECHO, SINK } from '../large-wire.js';

const flag = process.argv[2];
if (flag !== 'true' && flag !== 'false') throw new Error(`expected 'true' or 'false' for serverThread, got '${flag}'`);

const serverThread = flag === 'true';
const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, serverThread, logInfo: false });
const inputs = { x: { dtype: 'float32', shape: [-1] } } as const;
const config = { batching: false } as const;
triton.bind({
  modelName: ECHO,
  inputs,
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config,
  inferFunc: (requests) => requests,
});
triton.bind({
  modelName: SINK,
  inputs,
  outputs: { count: { dtype: 'int32', shape: [1] } },
  config,
  inferFunc: (requests) => requests.map(({ inputs: { x } }) => ({ count: Int32Array.of(x.data.length) })),
});
await triton.run();

serveControl({
  ports: { httpPort: triton.httpPort!, grpcPort: triton.grpcPort! },
  stop: () => triton.stop(),
});
