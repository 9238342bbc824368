// Random lives one after the other for minutes: nothing is violated, and memory stays where it was after the first of them.
import { Agent, getGlobalDispatcher, setGlobalDispatcher } from 'undici';

import { RandomLife } from '../../support/random-life/random-life.js';
import { atMost, memory, plain, quantile, type Check } from '../check.js';

const STEPS = 5000;
/** One life needs more than another: the middle of many is compared. */
const WANTED_MEGABYTES = 10;

export const soak: Check = {
  about: 'everything mixed, one server after the other in one process, serverThread in turns',
  async run({ seed, isFull }) {
    const minutes = isFull ? 30 : 4;
    const end = performance.now() + minutes * 60_000;
    const resident: number[] = [];
    const violations: string[] = [];
    let sent = 0;
    let lives = 0;
    for (; performance.now() < end || lives < 3; lives++) {
      const life = new RandomLife({ seed: seed + lives, steps: STEPS, serverThread: lives % 2 === 0 });
      await life.run();
      await forgetPorts();
      violations.push(...life.ledger.violations.map((violation) => `seed ${seed + lives}: ${violation}`));
      sent += life.ledger.counts.sent;
      resident.push((await memory()).resident / 1e6);
    }
    for (const violation of violations.slice(0, 5)) console.error(violation);
    const [, second = NaN] = resident;
    const third = Math.floor(lives / 3);
    const grown = quantile(resident.slice(-third), 0.5) - quantile(resident.slice(third, 2 * third), 0.5);
    return [
      plain('for', `${minutes} min, ${lives} lives, ${sent} requests`),
      { what: 'violations', got: String(violations.length), wanted: '0', isMet: violations.length === 0 },
      plain(
        'resident memory after the second life, the middle one and the last',
        `${second.toFixed(0)}, ${resident[lives >> 1]!.toFixed(0)}, ${resident.at(-1)!.toFixed(0)} MB`,
      ),
      atMost(
        'resident memory grew by, median of the last third of the lives against the second',
        grown,
        WANTED_MEGABYTES,
        ' MB',
      ),
    ];
  },
};

/** What `fetch` keeps for each server that it ever asked. */
async function forgetPorts(): Promise<void> {
  const used = getGlobalDispatcher();
  setGlobalDispatcher(new Agent());
  await used.close();
}
