import { beforeAll, describe, expect, it } from 'vitest';

import { readCases } from './cases.js';
import { ERROR_RULES } from './error-rules.js';
import type { ErrorCase, LifecycleCase } from './lifecycle-cases.js';
import { LIFECYCLE_RULES } from './lifecycle-rules.js';
import { replayErrors } from './replay-errors.js';
import { replayLifecycle } from './replay-lifecycle.js';
import { misstated, summarize, type Replay } from './rules.js';

describe.each([
  { what: 'the life cycle', cases: 137, replayAll: () => replayLifecycle(readCases<LifecycleCase>('pytriton/lifecycle.jsonl'), LIFECYCLE_RULES) },
  { what: 'errors of callables', cases: 28, replayAll: () => replayErrors(readCases<ErrorCase>('pytriton/errors.jsonl'), ERROR_RULES) },
])("$what compared with PyTriton's", ({ cases, replayAll }) => {
  let replay: Replay;

  beforeAll(async () => {
    replay = await replayAll();
    // A dozen processes of their own.
  }, 60_000);

  it('agrees, under the rules', () => {
    expect(replay.cases).toBe(cases);
    expect(summarize(replay)).toBe('');
  });

  it('needs every one of the rules', () => {
    expect(misstated(replay.rules)).toEqual([]);
  });
}); // prettier-ignore
