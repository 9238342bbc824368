// Our server for large tensors: one model that gives back what it gets, and one that counts it.
// Usage: large-server.js <true|false>, the value of `serverThread`.

import { ECHO, SINK } from '../large-wire.js';
import { measuredServer, serveMeasured, serverThreadFlag } from './measured-server.js';

const triton = measuredServer(serverThreadFlag());
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
await serveMeasured(triton);
