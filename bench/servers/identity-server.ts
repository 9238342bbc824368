// Our own server in the measurement: the identity model, HTTP and gRPC, with or without the server thread.
// Usage: identity-server.js <true|false>, the value of `serverThread`.

import { MODEL } from '../identity-wire.js';
import { measuredServer, serveMeasured, serverThreadFlag } from './measured-server.js';

const triton = measuredServer(serverThreadFlag());
triton.bind({
  modelName: MODEL,
  // A request that is returned stands for its inputs.
  inferFunc: (requests) => requests,
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
  outputs: { c: { dtype: 'float32', shape: [-1] }, d: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 64 },
});
await serveMeasured(triton);
