// The callable's end of the hop: a thread that runs batches of the identity workload as the user's thread does.

import { parentPort } from 'node:worker_threads';

import { load } from '../parts-build.js';
import { SPEC } from '../parts-workload.js';

const { completeModelConfig } = await load('model/complete-model.js');
const { hostedCallable } = await load('link/callable-turns.js');
const { PortHost } = await load('link/port-host.js');

parentPort!.once('message', (port: unknown) => {
  const config = completeModelConfig(SPEC, 1);
  new PortHost(port, config, hostedCallable(SPEC.inferFunc, 1), console);
});
