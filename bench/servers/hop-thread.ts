// The callable's end of the hop: a thread that runs batches of the identity workload as the user's thread does.

import { parentPort } from 'node:worker_threads';

import { load } from '../parts-build.js';
import { SPEC } from '../parts-workload.js';

const { completeModelConfig } = await load('model/complete-model.js');
const { hostedCallable } = await load('host/callable-turns.js');
const { PortChannel } = await load('link/channel.js');
const { ChannelHost } = await load('link/channel-host.js');

parentPort!.once('message', (port: unknown) => {
  const config = completeModelConfig(SPEC, 1);
  new ChannelHost(new PortChannel(port), config, hostedCallable(SPEC.inferFunc, 1), { logger: console });
});
