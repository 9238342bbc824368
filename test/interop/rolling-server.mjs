// One of several servers behind a load balancer: `node rolling-server.mjs <HTTP port> <gRPC port>`, 0 for any free one. Tells
// its ports as one line of JSON and serves until SIGTERM.
import { setTimeout as after } from 'node:timers/promises';

import { batch, Triton } from 'tstriton';

const [httpPort = 0, grpcPort = 0] = process.argv.slice(2).map(Number);
const triton = new Triton({ httpPort, grpcPort, allowMetrics: false, shutdownDelaySecs: 1, logInfo: false });
triton.bind({
  modelName: 'Negate',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { maxBatchSize: 8 },
  // Long enough that some request is always under way.
  inferFunc: batch(async ({ x }) => {
    await after(3);
    return { y: x.map((value) => -value) };
  }),
});
await triton.run();
process.stdout.write(`${JSON.stringify({ http: triton.httpPort, grpc: triton.grpcPort })}\n`);
await triton.serve();
