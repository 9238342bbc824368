// The load generator's process. It stays up for a whole suite, so that its code is equally warm for every server, and
// runs one order at a time for the process that started it.

import { serveControl } from '../control-channel.js';
import { runLoad } from './load-run.js';
import type { LoadOrder } from './load-run.js';

serveControl({
  ports: {},
  load: (order, notify) => runLoad(order as LoadOrder, notify),
  stop: () => Promise.resolve(),
});
