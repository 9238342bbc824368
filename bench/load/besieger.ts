// The process of hostile clients: a load order names a siege and the ports, and is answered with what became of it.

import { serveControl } from '../control-channel.js';
import { SIEGES, type Target } from './sieges.js';

serveControl({
  ports: {},
  load(order) {
    const { name, target } = order as { readonly name: string; readonly target: Target };
    return SIEGES[name]!.run(target);
  },
  stop: () => Promise.resolve(),
});
