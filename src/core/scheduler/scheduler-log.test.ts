import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fakeTime, ManualInstance, pass, SchedulerHarness } from '../../../test/support/scheduler-harness.js';
import type { DynamicBatcher } from '../../model/model-config.js';
import { SILENT } from '../engine-logger.js';

/** A scheduler whose log is kept; `verbose` counts how often it was told something. */
function logged(verboseLevel: number | undefined, batcher: DynamicBatcher | null = {}) {
  const lines: string[] = [];
  const logger = {
    ...SILENT,
    ...(verboseLevel === undefined ? {} : { verboseLevel }),
    verbose: (level: number, message: string) => void lines.push(`${level} ${message}`),
  };
  const instance = new ManualInstance();
  return { harness: new SchedulerHarness({ batcher }, [instance], {}, logger), instance, lines };
}

beforeEach(fakeTime);
afterEach(() => void vi.useRealTimers());

describe("the scheduler's log", () => {
  it('tells at level 1 which batches were released, why, and how long they waited', () => {
    const { harness, instance, lines } = logged(1);
    harness.send('a', { rows: 2 });
    pass();
    pass(5);
    harness.send('b', { rows: 3 });
    harness.send('c', { rows: 2 });
    pass(10);
    instance.last.finish();
    pass();
    expect(lines[0]).toMatch(
      /^1 model 'm' version 1: batch of 1 request, 2 rows, to instance 0: the instance is free; the oldest waited [0-9.]+ ms, 0 still wait$/,
    );
    expect(lines[1]).toMatch(
      /: batch of 1 request, 3 rows, to instance 0: no more rows fit; the oldest waited 1[0-9]\.[0-9]+ ms, 1 still wait$/,
    );
    expect(lines).toHaveLength(2);
  });

  it('tells at level 1 which requests ended without a batch', () => {
    const policy = { maxQueueSize: 2, defaultTimeoutMicroseconds: 100_000 };
    const { harness, lines } = logged(1, { defaultQueuePolicy: policy });
    harness.send('z');
    pass();
    harness.send('a').cancel();
    harness.send('b');
    harness.send('c');
    harness.send('d');
    pass(200);
    expect(lines.slice(1)).toEqual([
      "1 model 'm' version 1: request 'a' is cancelled before it ran",
      "1 model 'm' version 1: request 'd' is refused: [request id: d] Exceeds maximum queue size",
      expect.stringMatching(
        /^1 model 'm' version 1: request 'b' is refused: its time in the queue is over after 10\d\.\d\d ms$/,
      ),
      expect.stringMatching(/request 'c' is refused: its time/),
    ]);
  });

  it('tells at level 2 every request and every wait', () => {
    const { harness, lines } = logged(2, { maxQueueDelayMicroseconds: 50_000 });
    harness.send('a');
    harness.send('', { rows: 2 });
    pass(1);
    expect(lines).toEqual([
      "2 model 'm' version 1: request 'a' waits: 1 row; 1 request in the queue",
      "2 model 'm' version 1: request <id_unknown> waits: 2 rows; 2 requests in the queue",
      expect.stringMatching(/^2 model 'm' version 1: 2 requests wait for a fuller batch, for [0-9.]+ ms at most$/),
    ]);
    pass(60);
    expect(lines.at(-1)).toMatch(
      /: batch of 2 requests \('a', <id_unknown>\), 3 rows, to instance 0: its delay is over;/,
    );
  });

  it.each([undefined, 0])('makes no line at all at level %s', (level) => {
    const { harness, instance, lines } = logged(level, { defaultQueuePolicy: { defaultTimeoutMicroseconds: 1000 } });
    harness.send('a');
    pass();
    harness.send('b').cancel();
    harness.send('c');
    pass(10);
    instance.last.finish();
    expect(lines).toEqual([]);
  });
});
