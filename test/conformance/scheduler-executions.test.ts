// Fewer executions are what batching is for: no recorded scenario may need more of them here than in Triton.
import { beforeAll, describe, expect, it } from 'vitest';

import { readCases, type RecordedOutcome, type SchedulerCase } from './cases.js';
import { simulate } from './scheduler-simulator.js';

/** What it takes to answer correctly; each has a rule of its own in `scheduler-rules.ts`. */
const NEEDED = {
  'ragged-delay': 'TSTriton has no ragged batches',
  'cache-same-bytes-other-shape': 'Triton answers from its cache in the wrong shape',
  'cache-other-id-priority-parameters': 'Triton answers from its cache although the parameters are others',
  'cache-error-kept': 'Triton keeps an error and answers with no outputs',
  'cache-cancelled-executing': 'Triton keeps the answer of an execution that was told to stop',
};

describe('executions in the recorded scenarios', () => {
  let more: Record<string, string>;

  beforeAll(async () => {
    more = {};
    for (const testCase of readCases<SchedulerCase>('scheduler/scenarios.jsonl')) {
      const { executions } = await simulate(testCase);
      const recorded = fewestOf(testCase);
      if (executions.length > recorded) more[testCase.name] = `${executions.length} instead of ${recorded}`;
    }
  });

  it('are at most as many as in Triton, but where it answers wrongly or mixes shapes', () => {
    expect(Object.keys(more).sort()).toEqual(Object.keys(NEEDED).sort());
  });
});

/** The fewest executions of any recorded outcome in which every request was looked after. */
function fewestOf({ seen, seen_varies: varies = [] }: SchedulerCase): number {
  const outcomes: readonly RecordedOutcome[] = seen === undefined ? varies : [seen];
  const sound = outcomes.filter(({ idle_while_waiting_ms: idle }) => idle === undefined);
  return Math.min(...sound.map(({ executions = [] }) => executions.length));
}
