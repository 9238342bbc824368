// The client process of the callables suite: it reads streams of responses and probes readiness.

import { serveControl } from '../control-channel.js';
import { runStreams } from './endless-streams.js';
import type { StreamsOrder } from './endless-streams.js';
import { probeReady } from './ready-probe.js';
import type { ProbeOrder } from './ready-probe.js';
import { askStream } from './response-stream.js';
import type { StreamOrder } from './response-stream.js';

serveControl({
  ports: {},
  load: (argument) => {
    const order = argument as StreamOrder | StreamsOrder | ProbeOrder;
    if (order.kind === 'ready') return probeReady(order);
    return order.kind === 'streams' ? runStreams(order) : askStream(order);
  },
  stop: () => Promise.resolve(),
});
