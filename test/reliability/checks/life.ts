// The random life, long: every request ends once, with its own answer or an error that it deserves (R1, R2).
import { RandomLife } from '../../support/random-life/random-life.js';
import { plain, type Check } from '../check.js';

function life(serverThread: boolean): Check {
  return {
    about: `random life, serverThread: ${serverThread}`,
    async run({ seed, isFull }) {
      const steps = isFull ? 1_000_000 : 100_000;
      const one = new RandomLife({ seed, steps, serverThread });
      await one.run();
      const { violations, counts } = one.ledger;
      for (const violation of violations.slice(0, 5)) console.error(violation);
      const { sent, answered, failed, aborted } = counts;
      return [
        plain('steps', steps),
        plain('requests: answered, failed as they had to, given up', `${sent}: ${answered}, ${failed}, ${aborted}`),
        plain('replaced, reloaded, restarted beside them', JSON.stringify(one.deeds).replaceAll('"', '')),
        { what: 'violations', got: String(violations.length), wanted: '0', isMet: violations.length === 0 },
      ];
    },
  };
}

export const lifeWithThread = life(true);
export const lifeWithoutThread = life(false);
