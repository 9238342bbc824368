// Instances whose thread is blocked for a while.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fakeTime, ManualInstance, pass, SchedulerHarness } from '../../../test/support/scheduler-harness.js';

beforeEach(fakeTime);
afterEach(() => void vi.useRealTimers());

const BLOCKED = "UNAVAILABLE model 'm' is not ready: the thread that it runs in is blocked";

/** A scheduler on these instances, and what it said of its interruptions. */
function harnessOf(...instances: ManualInstance[]) {
  const harness = new SchedulerHarness({ maxBatchSize: 1 }, instances);
  const interruptions: (string | undefined)[] = [];
  harness.scheduler.onInterrupted = (by) => interruptions.push(by);
  return { harness, interruptions };
}

describe('instances in a thread that is blocked', () => {
  it('have what came before wait, and refuse what comes, until the thread goes on', () => {
    const instance = new ManualInstance();
    const { harness, interruptions } = harnessOf(instance);
    harness.sendAll('ab');
    pass();
    harness.scheduler.blockInstance(instance, true);
    harness.send('c');
    pass(100_000);
    expect([interruptions, harness.answers, harness.scheduler.instances]).toEqual([['blocked'], [`c ${BLOCKED}`], 0]);
    harness.scheduler.blockInstance(instance, false);
    instance.last.finish();
    harness.send('d');
    pass();
    instance.last.finish();
    pass();
    instance.last.finish();
    expect([interruptions, harness.scheduler.instances]).toEqual([['blocked', undefined], 1]);
    expect(harness.answers.slice(1)).toEqual(['a ok', 'b ok', 'd ok']);
  });

  it('get no batches, which the others get', () => {
    const [blocked, free] = [new ManualInstance(), new ManualInstance()];
    const { harness, interruptions } = harnessOf(blocked, free);
    harness.scheduler.blockInstance(blocked, true);
    harness.sendAll('ab');
    pass();
    free.last.finish();
    pass();
    expect([blocked.batches, free.batches, interruptions]).toEqual([[], ['a', 'b'], []]);
    harness.scheduler.removeInstance(free);
    expect(interruptions).toEqual(['blocked']);
    harness.scheduler.removeInstance(blocked);
    expect(interruptions).toEqual(['blocked', 'ended']);
  });

  it('take what waits as soon as the thread goes on', () => {
    const [blocked, free] = [new ManualInstance(), new ManualInstance()];
    const { harness } = harnessOf(blocked, free);
    harness.scheduler.blockInstance(blocked, true);
    harness.sendAll('ab');
    pass();
    harness.scheduler.blockInstance(blocked, false);
    pass();
    expect([blocked.batches, free.batches]).toEqual([['b'], ['a']]);
  });
});
