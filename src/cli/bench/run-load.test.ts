import { describe, expect, it } from 'vitest';

import { runLoad, type LoadPlan } from './run-load.js';

function plan(changes: Partial<LoadPlan>): LoadPlan {
  const { signal } = new AbortController();
  return {
    concurrency: 4,
    warmupMs: 0,
    durationMs: 60_000,
    requests: 20,
    signal,
    onRequest: () => undefined,
    ...changes,
  };
}

const answer = { answers: 1, firstMs: undefined };

describe('a load', () => {
  it('has so many requests at a time, and ends after as many as are asked for', async () => {
    let [now, most] = [0, 0];
    const figures = await runLoad(async () => {
      most = Math.max(most, ++now);
      await new Promise(setImmediate);
      now--;
      return answer;
    }, plan({}));
    expect(most).toBe(4);
    expect(figures).toMatchObject({ requests: 20, answers: 20, failed: 0 });
    expect(figures.latency.count).toBe(20);
    expect(figures.seconds).toBeGreaterThan(0);
  });

  it('counts failures by what they say, and goes on', async () => {
    let sent = 0;
    const figures = await runLoad(
      async () => {
        if (++sent % 2 === 0) throw new Error('full');
        return answer;
      },
      plan({ concurrency: 1 }),
    );
    expect(figures).toMatchObject({ requests: 10, failed: 10 });
    expect([...figures.failures]).toEqual([['full', 10]]);
  });

  it('ends with its time, and when it is interrupted', async () => {
    expect((await runLoad(async () => answer, plan({ requests: undefined, durationMs: 0 }))).requests).toBe(4);
    const controller = new AbortController();
    let sent = 0;
    const figures = await runLoad(
      async () => {
        if (++sent === 3) controller.abort();
        return answer;
      },
      plan({ concurrency: 1, requests: undefined, signal: controller.signal }),
    );
    expect(figures.requests).toBe(3);
  });

  it('measures a request of each sender even of a model that is slower than warm-up and load together', async () => {
    const takes = 60;
    const figures = await runLoad(
      async () => {
        await new Promise((resolve) => setTimeout(resolve, takes));
        return answer;
      },
      plan({ concurrency: 3, warmupMs: 10, durationMs: 10, requests: undefined }),
    );
    expect(figures.requests).toBe(3);
    // Only their own time counts, not what the warm-up took.
    expect(figures.latency.least).toBeGreaterThanOrEqual(takes - 2);
    expect(figures.seconds * 1000).toBeLessThan(2 * figures.latency.most);
  });

  it('does not measure what warms up', async () => {
    let sent = 0;
    let isWarm = false;
    const warming = runLoad(
      async () => {
        sent++;
        await new Promise(setImmediate);
        return answer;
      },
      plan({ warmupMs: 20, requests: 5, onRequest: (_, measured) => (isWarm ||= measured > 0) }),
    );
    const figures = await warming;
    expect(isWarm).toBe(true);
    // Of the senders each may have one more under way.
    expect(figures.requests).toBeLessThanOrEqual(8);
    expect(sent).toBeGreaterThan(figures.requests);
  });
});
