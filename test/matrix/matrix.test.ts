// Thousands of requests at once that all differ: each gets its own answer, whole, and nothing is lost, mixed up or left to hang.
// Longer, or again: MATRIX_ANSWERS, TEST_SEED.
import { describe, expect, it } from 'vitest';

import { Matrix, type MatrixOptions } from '../support/matrix/matrix.js';
import { MODEL_NAMES } from '../support/matrix/matrix-models.js';
import { wayNames } from '../support/matrix/ways.js';
import { SEED } from '../support/seed.js';

const ANSWERS = Number(process.env['MATRIX_ANSWERS'] ?? 10_000);
/** Of all answers, those that come while the server is stopped now and then. */
const THROUGH_STOPS = 0.1;
const RESTARTS = 4;
/** Far more than it takes: what hangs is found, and named, long before. */
const TIMEOUT_MS = 300_000 + 50 * ANSWERS;
/** Connections that undici holds back may not be closed by the server: it asserts that, and ends the process. */
const OF_UNDICI = /undici|fetch|generate/;

async function ask(options: Omit<MatrixOptions, 'seed'>): Promise<Matrix> {
  const matrix = new Matrix({ seed: SEED, ...options });
  await matrix.run();
  expect(matrix.violations, `TEST_SEED=${SEED}`).toEqual([]);
  expect(matrix.counts.answered).toBeGreaterThanOrEqual(options.answers);
  return matrix;
}

describe.each([{ serverThread: true }, { serverThread: false }])(
  'requests that all differ, with %o',
  ({ serverThread }) => {
    const all = wayNames(serverThread);

    it(
      'have each its own answer, by every client and wire, from every kind of model',
      async () => {
        const { byWay, byModel, counts, largest } = await ask({
          answers: (ANSWERS * (1 - THROUGH_STOPS)) / 2,
          serverThread,
        });
        expect(Object.keys(byWay).sort()).toEqual([...all].sort());
        expect(Object.keys(byModel).sort()).toEqual([...MODEL_NAMES].sort());
        expect(largest).toBeGreaterThan(16_000_000);
        expect(counts.givenUp).toBeGreaterThan(0);
        expect(counts.rebinds).toBeGreaterThan(0);
      },
      TIMEOUT_MS,
    );

    it(
      'have each its own answer when they ran, though the server stops and threads end',
      async () => {
        const { counts, server } = await ask({
          answers: (ANSWERS * THROUGH_STOPS) / 2,
          serverThread,
          ways: all.filter((name) => !OF_UNDICI.test(name)),
          restarts: RESTARTS,
        });
        expect(server.restarts).toBe(RESTARTS);
        expect(server.kills).toBeGreaterThan(0);
        expect(counts.refused).toBeGreaterThan(0);
      },
      TIMEOUT_MS,
    );
  },
);
