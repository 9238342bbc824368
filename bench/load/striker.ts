// The attacker's process: deals blows at a fixed rate, so that what is measured is what they cost the server, and not how fast
// they can be sent. What the server answers is read and dropped; where it hangs up, the next blow has a new connection.

import { connect, type Socket } from 'node:net';

import { ATTACKS, harmless, type Attack } from '../attack-wire.js';
import { serveControl } from '../control-channel.js';

export interface AttackOrder {
  readonly name: string;
  /** Whether it only sends as much. */
  readonly isHarmless: boolean;
  readonly ports: Readonly<Record<Attack['wire'], number>>;
  readonly perSecond: number;
  readonly seconds: number;
}

export interface AttackReport {
  readonly blows: number;
  readonly connections: number;
  /** Blows that were left out because the server did not take those before. */
  readonly heldBack: number;
}

/** Of connections that are left open by attacks that have one for each blow. */
const MOST_OPEN = 500;
const MOST_UNSENT_BYTES = 1 << 20;

async function attack(order: AttackOrder): Promise<AttackReport> {
  const found = ATTACKS.find(({ name }) => name === order.name);
  if (found === undefined) throw new Error(`there is no attack '${order.name}'`);
  const given = order.isHarmless ? harmless(found) : found;
  const port = order.ports[given.wire];
  const open: Socket[] = [];
  const report = { blows: 0, connections: 0, heldBack: 0 };
  let onThis = 0;
  const blow = () => {
    let socket = open.at(-1);
    if (socket === undefined || given.hangsUp || !socket.writable || socket.destroyed) {
      socket = connect({ port, host: '127.0.0.1', noDelay: true }).on('error', () => undefined);
      socket.resume();
      socket.write(given.opening);
      open.push(socket);
      report.connections++;
      onThis = 0;
      if (open.length > MOST_OPEN) open.shift()!.destroy();
    }
    if (socket.writableLength > MOST_UNSENT_BYTES) {
      report.heldBack++;
      return;
    }
    socket.write(given.blow(onThis++));
    report.blows++;
  };
  const begin = performance.now();
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsed = (performance.now() - begin) / 1000;
      while (report.blows + report.heldBack < Math.min(elapsed, order.seconds) * order.perSecond) blow();
      if (elapsed < order.seconds) return;
      clearInterval(timer);
      resolve();
    }, 5);
  });
  for (const socket of open) socket.destroy();
  return report;
}

serveControl({
  ports: {},
  load: (order) => attack(order as AttackOrder),
  stop: () => Promise.resolve(),
});
