// The matrix, long: requests that all differ, by every client and wire, and each gets its own answer (R13).
import { Matrix } from '../../support/matrix/matrix.js';
import { WAYS, type WayName } from '../../support/matrix/ways.js';
import { plain, type Check } from '../check.js';

function matrix(serverThread: boolean): Check {
  return {
    about: `requests that all differ, by every client and wire, serverThread: ${serverThread}`,
    async run({ seed, isFull }) {
      const one = new Matrix({ seed, answers: isFull ? 50_000 : 5000, serverThread });
      await one.run();
      const { violations, counts, byWay, byModel, largest } = one;
      for (const violation of violations.slice(0, 5)) console.error(violation);
      const ways = (Object.keys(WAYS) as WayName[]).map((name) => `${byWay[name] ?? 0} by ${name}`);
      return [
        plain('answers, each checked whole', counts.answered),
        plain('given up by their clients', counts.givenUp),
        plain('of them', ways.join(', ')),
        plain('from models', JSON.stringify(byModel).replaceAll('"', '')),
        plain('bytes of answers, largest request or answer', `${(counts.bytes / 1e9).toFixed(2)} GB, ${largest}`),
        plain('connections or clients opened, models bound anew', `${counts.links}, ${counts.rebinds}`),
        {
          what: 'mixed up, lost or hanging',
          got: String(violations.length),
          wanted: '0',
          isMet: violations.length === 0,
        },
      ];
    },
  };
}

export const matrixWithThread = matrix(true);
export const matrixWithoutThread = matrix(false);
