// The process that attacks: a load order names the attack and the ports, and is answered with what became of it.

import { serveControl } from '../control-channel.js';
import { ATTACKS, type Target } from './attacks.js';

serveControl({
  ports: {},
  load(order) {
    const { name, target } = order as { readonly name: string; readonly target: Target };
    return ATTACKS[name]!.run(target);
  },
  stop: () => Promise.resolve(),
});
