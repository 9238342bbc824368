import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { logEverySecond, loggedWait, sequenceLines, waitingLines } from './waiting-log.js';

function recorded() {
  const lines: string[] = [];
  return { lines, logger: { info: (line: string) => void lines.push(line) } };
}

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

describe('logEverySecond', () => {
  it('writes what there is to say, until it is ended', () => {
    const { lines, logger } = recorded();
    const end = logEverySecond(logger, (seconds) => (seconds === 2 ? [] : [`after ${seconds}`, 'and more']));
    vi.advanceTimersByTime(999);
    expect(lines).toEqual([]);
    vi.advanceTimersByTime(2001);
    expect(lines).toEqual(['after 1', 'and more', 'after 3', 'and more']);
    end();
    vi.advanceTimersByTime(5000);
    expect(lines).toHaveLength(4);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('loggedWait', () => {
  it('says what it waits for as long as it waits', async () => {
    const { lines, logger } = recorded();
    let settle!: (value: string) => void;
    const waited = loggedWait(new Promise<string>((resolve) => (settle = resolve)), logger, 'the teardown');
    vi.advanceTimersByTime(2500);
    settle('done');
    expect(await waited).toBe('done');
    vi.advanceTimersByTime(5000);
    expect(lines).toEqual(['Waiting for the teardown', 'Waiting for the teardown']);
  });

  it('hands failures on, and does without a log', async () => {
    const { logger } = recorded();
    await expect(loggedWait(Promise.reject(new Error('no')), logger, 'x')).rejects.toThrow('no');
    await expect(loggedWait(Promise.resolve(1), undefined, 'x')).resolves.toBe(1);
    expect(vi.getTimerCount()).toBe(0);
  });
});

describe('waitingLines', () => {
  const model = (name: string, version: number, inflight: number) => ({ config: { name, version }, inflight });

  it('names the models that have requests, as Triton does', () => {
    expect(waitingLines([model('a', 1, 2), model('b', 1, 0), model('c', 3, 1)], 7, 28.2)).toEqual([
      'Timeout 29: Found 2 model versions that have in-flight inferences',
      "Model 'a' (version 1) has 2 in-flight inferences",
      "Model 'c' (version 3) has 1 in-flight inferences",
    ]);
  });

  it('count connections when no model has requests', () => {
    expect(waitingLines([model('a', 1, 0)], 3, 30)).toEqual([
      'Timeout 30: Found 3 connections that have requests or answers under way',
    ]);
  });

  it('are none when nothing is under way', () => {
    expect(waitingLines([model('a', 1, 0)], 0, 30)).toEqual([]);
    expect(waitingLines([], 0, 30)).toEqual([]);
  });
});

describe('sequenceLines', () => {
  const model = (name: string, version: number, liveSequences: number) => ({
    config: { name, version },
    liveSequences,
  });

  it('names the models whose sequences live, and is empty without any', () => {
    expect(sequenceLines([model('a', 1, 0), model('b', 2, 31)], 0.4)).toEqual([
      'Timeout 1: Found 1 model versions that have live sequences',
      "Model 'b' (version 2) has 31 live sequences",
    ]);
    expect(sequenceLines([model('a', 1, 0)], 9)).toEqual([]);
  });
});
