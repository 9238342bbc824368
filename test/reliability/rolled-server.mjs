// One of two servers that are restarted in turns: `node rolled-server.mjs <HTTP port> <gRPC port> <serverThread>`, 0 for
// any free port. Tells its ports to its parent and serves until SIGTERM, with the default `shutdownDelaySecs`.
import { devNull } from 'node:os';

import { Triton } from 'tstriton';

const [httpPort, grpcPort, serverThread] = process.argv.slice(2).map((text) => JSON.parse(text));
// On a slow machine a large answer that is read slowly takes longer than the default of 30 s.
const exitTimeoutSecs = 300;
const triton = new Triton({ httpPort, grpcPort, serverThread, exitTimeoutSecs, allowMetrics: false, logFile: devNull });
triton.bind({
  modelName: 'Negate',
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
  config: { batching: false },
  inferFunc: (requests) => requests.map(({ inputs }) => ({ y: inputs.x.data.map((value) => -value) })),
});
const served = triton.serve();
await triton.ready();
process.send?.({ http: triton.httpPort, grpc: triton.grpcPort });
await served;
process.disconnect();
