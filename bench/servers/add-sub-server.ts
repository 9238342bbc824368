// Our own server beside the others: add-sub, HTTP and gRPC.
// Usage: add-sub-server.js <true|false> [alone|sequences]. The first is the value of `serverThread`; with `alone` no requests share
// a batch, with `sequences` requests belong to sequences.

import { batch, sample } from 'tstriton';

import { addSub } from '../add-sub-callable.js';
import { ADD_SUB } from '../add-sub-wire.js';
import { measuredServer, serveMeasured, serverThreadFlag } from './measured-server.js';

const batching = process.argv[3];
// Each round begins the sequences anew that the one before has left, and the server warns of it.
// At the end it would wait for their rest.
const isSequenced = batching === 'sequences';
const triton = measuredServer(serverThreadFlag(), isSequenced ? { logWarning: false, exitTimeoutSecs: 1 } : {});
if (![undefined, 'alone', 'sequences'].includes(batching))
  throw new Error(`expected 'alone', 'sequences' or nothing, got '${batching}'`);
const isAlone = batching === 'alone';
const sequences = isSequenced && { sequenceBatching: { maxSequenceIdleMicroseconds: 600_000_000 } };

// Without batching the model sees the axis that the batch would have.
const tensor = { dtype: 'float32', shape: isAlone ? [1, 16] : [16] } as const;
triton.bind({
  modelName: ADD_SUB,
  inferFunc: isAlone ? sample(addSub) : batch(addSub),
  inputs: { a: tensor, b: tensor },
  outputs: { add: tensor, sub: tensor },
  config: isAlone ? { batching: false } : { maxBatchSize: 64, ...sequences },
});
await serveMeasured(triton);
