import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  fakeTime,
  ManualInstance,
  OfferedInstance,
  pass,
  SchedulerHarness,
} from '../../../test/support/scheduler-harness.js';
import { TritonError } from '../../errors.js';

const CONFIG = { executionTimeoutMicroseconds: 50_000 } as const;
const TOO_LATE = "UNAVAILABLE model 'm' did not answer within its executionTimeoutMicroseconds of 50000";

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('BatchScheduler of a model with executionTimeoutMicroseconds', () => {
  it('fails a batch that takes longer, tells the execution so, and drops what comes of it afterwards', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness(CONFIG, [instance]);
    harness.sendAll('ab');
    pass();
    pass(49);
    expect(harness.answers).toEqual([]);
    pass(1);
    expect(harness.answers).toEqual([`a ${TOO_LATE}`, `b ${TOO_LATE}`]);
    expect(instance.last.cancelled).toEqual([0, 1]);
    instance.last.finish();
    expect(harness.answers).toHaveLength(2);
    expect(harness.statistics.failures).toMatchObject({ BACKEND: 2 });
    expect([harness.statistics.executionCount, harness.statistics.inferenceCount]).toEqual([0, 0]);
  });

  it('counts from the beginning of the execution, not from the arrival', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({ ...CONFIG, maxBatchSize: 1 }, [instance]);
    harness.sendAll('ab');
    pass();
    pass(40);
    instance.last.finish();
    pass(40);
    expect(harness.answers).toEqual(['a ok']);
    pass(10);
    expect(harness.answers).toEqual(['a ok', `b ${TOO_LATE}`]);
  });

  it('gives the instance its next batch only when the callable has settled', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({ ...CONFIG, maxBatchSize: 1 }, [instance]);
    harness.sendAll('ab');
    pass();
    pass(200);
    expect([instance.batches, harness.answers]).toEqual([['a'], [`a ${TOO_LATE}`]]);
    instance.last.finish();
    pass();
    instance.last.finish();
    expect([instance.batches, harness.answers]).toEqual([
      ['a', 'b'],
      [`a ${TOO_LATE}`, 'b ok'],
    ]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('limits a batch that the instance began by itself like any other', () => {
    const instance = new OfferedInstance();
    const harness = new SchedulerHarness({ ...CONFIG, maxBatchSize: 1 }, [instance]);
    harness.sendAll('ab');
    pass();
    instance.begin();
    instance.executions[0]!.finish();
    pass(50);
    expect(harness.answers).toEqual(['a ok', `b ${TOO_LATE}`]);
  });

  it('fails the requests of a decoupled model that have not ended by then', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({ ...CONFIG, decoupled: true }, [instance]);
    harness.sendAll('ab');
    pass();
    const { stream } = instance.last;
    void stream!.respond(0, [], undefined);
    stream!.end(0);
    void stream!.respond(1, [], undefined);
    pass(50);
    expect(harness.answers).toEqual(['a answer', 'a complete', 'b answer', `b ${TOO_LATE}`]);
    void stream!.respond(1, [], undefined);
    expect(harness.answers).toHaveLength(4);
  });

  it('leaves no timer behind when it stops', () => {
    const harness = new SchedulerHarness(CONFIG, [new ManualInstance()]);
    harness.sendAll('ab');
    pass();
    expect(vi.getTimerCount()).toBe(1);
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
    expect(vi.getTimerCount()).toBe(0);
  });
});
