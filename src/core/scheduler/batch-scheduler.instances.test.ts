// Which of several instances gets the next batch when each may work on more than one.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fakeTime, ManualInstance, pass, SchedulerHarness } from '../../../test/support/scheduler-harness.js';

beforeEach(fakeTime);
afterEach(() => void vi.useRealTimers());

describe('BatchScheduler with several instances', () => {
  it('gives the next batch to the least busy one, though it were the turn of another', () => {
    const [first, second] = [new ManualInstance(), new ManualInstance()];
    const harness = new SchedulerHarness({ maxBatchSize: 1, concurrency: 3 }, [first, second]);
    harness.sendAll('abcd');
    pass();
    expect([first.batches, second.batches]).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ]);
    second.last.finish();
    harness.send('e');
    pass();
    expect([first.batches, second.batches]).toEqual([
      ['a', 'c'],
      ['b', 'd', 'e'],
    ]);
  });

  it('gives no more batches to an instance than it may work on at a time', () => {
    const instances = [new ManualInstance(), new ManualInstance()];
    const harness = new SchedulerHarness({ maxBatchSize: 1, concurrency: 2 }, instances);
    harness.sendAll('abcde');
    pass();
    expect(instances.map(({ batches }) => batches)).toEqual([
      ['a', 'c'],
      ['b', 'd'],
    ]);
    expect(harness.statistics.pending).toBe(1);
  });
});
