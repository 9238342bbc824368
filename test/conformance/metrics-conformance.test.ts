import { beforeAll, describe, expect, it } from 'vitest';
import { METRICS_RULES } from './metrics-rules.js';
import { replayMetricsFile } from './replays.js';
import { told } from './recorded-answers.js';
import { summarize, totals, type Replay } from './rules.js';

describe('metrics compared with the recorded ones of Triton', () => {
  let replay: Replay;

  beforeAll(async () => {
    replay = (await replayMetricsFile())['metrics']!;
  });

  it('agree, under the rules', () => {
    expect(replay.cases).toBe(56);
    expect(summarize(replay)).toBe('');
  });

  it('need every one of the rules for metrics', () => {
    const own = new Set(METRICS_RULES.map(({ name }) => name));
    expect(totals([replay]).filter(({ name, cases }) => own.has(name) && cases === 0)).toEqual([]);
  });

  it('are told in docs/recorded-answers.md', () => {
    const { page, found } = told('Metrics', { metrics: replay });
    expect(page).toBe(found);
  });
});
