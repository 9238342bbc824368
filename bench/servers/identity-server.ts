// Our own server in the measurement: the identity model, HTTP and gRPC, with or without the server thread.
// Usage: identity-server.js <true|false>, the value of `serverThread`.

import { Triton } from 'tstriton';

import { serveControl } from '../control-channel.js';
import { MODEL } from '../identity-wire.js';

const flag = process.argv[2];
if (flag !== 'true' && flag !== 'false') throw new Error(`expected 'true' or 'false' for serverThread, got '${flag}'`);

const triton = new Triton({ httpPort: 0, grpcPort: 0, metricsPort: 0, serverThread: flag === 'true', logInfo: false });
triton.bind({
  modelName: MODEL,
  // A request that is returned stands for its inputs.
  inferFunc: (requests) => requests,
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
  outputs: { c: { dtype: 'float32', shape: [-1] }, d: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 64 },
});
await triton.run();

function bound(name: string, port: number | undefined): number {
  if (port === undefined) throw new Error(`the server tells no ${name} after run()`);
  return port;
}

serveControl({
  ports: { httpPort: bound('httpPort', triton.httpPort), grpcPort: bound('grpcPort', triton.grpcPort) },
  stop: () => triton.stop(),
});
