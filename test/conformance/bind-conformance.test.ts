import { afterAll, expect, it } from 'vitest';
import { Triton } from 'tstriton';
import { BIND_RULES } from './bind-rules.js';
import { readCases, type BindCase } from './cases.js';
import { replayBind } from './replay-bind.js';
import { summarize } from './rules.js';

const triton = new Triton({ httpPort: 0, allowGrpc: false, allowMetrics: false, serverThread: false });

afterAll(() => triton.stop());

it('bind makes of its settings what PyTriton does', async () => {
  const cases = readCases<BindCase>('pytriton/model-config.jsonl');
  const replay = await replayBind(cases, triton, BIND_RULES);
  expect(replay.cases).toBe(cases.length);
  expect(summarize(replay)).toBe('');
  expect(replay.rules.filter(({ cases: count }) => count === 0)).toEqual([]);
});
