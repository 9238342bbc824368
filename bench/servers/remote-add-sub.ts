// A process that serves the add-sub model through another one's server. Usage: remote-add-sub.js <gRPC port> <token>.

import { batch, RemoteTriton } from 'tstriton';

import { addSub, ADD_SUB_TENSOR } from '../add-sub-callable.js';
import { ADD_SUB } from '../add-sub-wire.js';
import { serveControl } from '../control-channel.js';

const [port, accessToken = ''] = process.argv.slice(2);
const quiet = () => undefined;
const logger = { debug: quiet, info: quiet, warn: console.warn, error: console.error };
const triton = new RemoteTriton(`127.0.0.1:${port}`, { accessToken, logger });
triton.bind({
  modelName: ADD_SUB,
  inferFunc: batch(addSub),
  inputs: { a: ADD_SUB_TENSOR, b: ADD_SUB_TENSOR },
  outputs: { add: ADD_SUB_TENSOR, sub: ADD_SUB_TENSOR },
  config: { maxBatchSize: 64 },
});
await triton.connect();
serveControl({ ports: {}, stop: () => triton.stop() });
