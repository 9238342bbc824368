// Models as metrics see them, without an engine around them.
import { InferenceStatistics } from '../../src/core/scheduler/statistics.js';
import type { MeasuredModel } from '../../src/frontend/measured-metrics.js';

interface Given {
  readonly version?: number;
  readonly decoupled?: boolean;
  readonly responseCache?: boolean;
  readonly statistics?: InferenceStatistics;
}

export function servedModel(name: string, given: Given = {}): MeasuredModel {
  const { version = 1, decoupled = false, responseCache = false, statistics = new InferenceStatistics() } = given;
  return { config: { name, version, decoupled, responseCache }, statistics, inflight: 3, instances: 2 };
}

export function statisticsAfterWork(statistics = new InferenceStatistics()): InferenceStatistics {
  const times = { computeInput: 0.5, computeInfer: 2.0015, computeOutput: 0.25 };
  statistics.recordRelease('full', 3);
  statistics.recordDispatch(1);
  statistics.recordDispatch(3);
  statistics.recordExecution(3, times);
  statistics.recordSuccess(2, 10, 1, times);
  statistics.recordSuccess(1, 12, 3, times);
  statistics.recordFailure('REJECTED', 5);
  statistics.recordRefusal('INVALID_ARG');
  statistics.pending = 4;
  return statistics;
}

/** The lines of a family, headings included. */
export function familyLines(text: string, name: string): string[] {
  const own = new RegExp(`^(?:# (?:HELP|TYPE) )?${name}(?:_bucket|_sum|_count)?(?:[ {])`);
  return text.split('\n').filter((line) => own.test(line));
}
