// A server of the add-sub model with its instance in a thread, or of no model but those of other processes.
// Usage: placed-add-sub-server.js <thread|token of other processes>.

import { instanceGroup } from 'tstriton';

import { ADD_SUB_TENSOR } from '../add-sub-callable.js';
import { ADD_SUB } from '../add-sub-wire.js';
import { measuredServer, serveMeasured } from './measured-server.js';

const [place = ''] = process.argv.slice(2);
const triton = measuredServer(true, place === 'thread' ? {} : { remoteAccessToken: place });
if (place === 'thread') {
  triton.bind({
    modelName: ADD_SUB,
    inferFunc: instanceGroup(new URL('./add-sub-instance.js', import.meta.url)),
    inputs: { a: ADD_SUB_TENSOR, b: ADD_SUB_TENSOR },
    outputs: { add: ADD_SUB_TENSOR, sub: ADD_SUB_TENSOR },
    config: { maxBatchSize: 64 },
  });
}
await serveMeasured(triton);
