import { beforeAll, describe, expect, it } from 'vitest';
import { inBothModes, MODES, replayMetricsFile, type ModeReplays } from './replays.js';
import { shortcomings } from './unread-members.js';

describe('metrics compared with the recorded ones of Triton', () => {
  let replays: ModeReplays;

  beforeAll(async () => {
    replays = await inBothModes(replayMetricsFile);
  });

  it.each(MODES)('agree, under the rules, %s', (mode) => {
    const { metrics } = replays[mode];
    expect(metrics?.cases).toBe(56);
    expect(shortcomings('metrics', metrics)).toBe('');
  });
});
