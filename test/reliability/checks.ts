// All checks, by the name that `npm run reliability` takes.
import type { Check } from './check.js';
import { cancellationWithoutThread, cancellationWithThread } from './checks/cancellation.js';
import { fuzzing, fuzzingTests } from './checks/fuzzing.js';
import { idle } from './checks/idle.js';
import { cancellations, loads, requestsWithoutThread, requestsWithThread } from './checks/leaks.js';
import { lifeWithoutThread, lifeWithThread } from './checks/life.js';
import { livesWithoutThread, livesWithThread } from './checks/lives.js';
import { matrixWithoutThread, matrixWithThread } from './checks/matrix.js';
import { overload } from './checks/overload.js';
import { rollWithoutThread, rollWithThread } from './checks/roll.js';
import { soak } from './checks/soak.js';

export const CHECKS: Readonly<Record<string, Check>> = {
  life: lifeWithThread,
  'life-inline': lifeWithoutThread,
  lives: livesWithThread,
  'lives-inline': livesWithoutThread,
  matrix: matrixWithThread,
  'matrix-inline': matrixWithoutThread,
  fuzz: fuzzing,
  ...fuzzingTests,
  requests: requestsWithThread,
  'requests-inline': requestsWithoutThread,
  loads,
  cancellations,
  cancel: cancellationWithThread,
  'cancel-inline': cancellationWithoutThread,
  overload,
  idle,
  roll: rollWithThread,
  'roll-inline': rollWithoutThread,
  soak,
};
