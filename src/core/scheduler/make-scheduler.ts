// Which scheduler a model has follows from its configuration. This is the one place that knows all schedulers.

import { sequenceBatching } from '../sequences/sequence-scheduler.js';
import { dynamicBatching } from './batch-scheduler.js';
import type { MakeScheduler } from './batch-runner.js';

/** Makes the scheduler that a model's configuration asks for. */
export const makeScheduler: MakeScheduler = (parts, runner) =>
  parts.config.sequenceBatching === undefined ? dynamicBatching(parts, runner) : sequenceBatching(parts, runner);
