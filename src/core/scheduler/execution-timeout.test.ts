import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fakeTime, ManualInstance, pass, SchedulerHarness } from '../../../test/support/scheduler-harness.js';
import { READING, standStill } from '../../../test/support/standstill.js';
import { TritonError } from '../../errors.js';

const CONFIG = { executionTimeoutMicroseconds: 50_000 } as const;
const STALLED = "UNAVAILABLE model 'm' is not ready: all instances are busy with batches that took too long";
const TOO_LATE = "UNAVAILABLE model 'm' did not answer within its executionTimeoutMicroseconds of 50000";

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.restoreAllMocks();
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
    pass(1 + READING);
    expect(harness.answers).toEqual([`a ${TOO_LATE}`, `b ${TOO_LATE}`]);
    expect(instance.last.cancelled).toEqual([0, 1]);
    instance.last.finish();
    expect(harness.answers).toHaveLength(2);
    expect(harness.statistics.failures).toMatchObject({ BACKEND: 2 });
    expect([harness.statistics.executionCount, harness.statistics.inferenceCount]).toEqual([1, 0]);
  });

  it('does not count a standstill of its own thread, in which no callable could answer', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness(CONFIG, [instance]);
    harness.sendAll('a');
    pass();
    standStill(60_000);
    pass(50 + READING);
    expect([harness.answers, instance.last.cancelled]).toEqual([[], []]);
    instance.last.finish();
    expect([harness.answers, vi.getTimerCount()]).toEqual([['a ok'], 0]);
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
    pass(10 + READING);
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

  it('fails the requests of a decoupled model that have not ended by then', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({ ...CONFIG, decoupled: true }, [instance]);
    harness.sendAll('ab');
    pass();
    const { stream } = instance.last;
    void stream!.respond(0, [], undefined);
    stream!.end(0);
    void stream!.respond(1, [], undefined);
    pass(50 + READING);
    expect(harness.answers).toEqual(['a answer', 'a complete', 'b answer', `b ${TOO_LATE}`]);
    void stream!.respond(1, [], undefined);
    expect(harness.answers).toHaveLength(4);
  });

  it('ends an instance that can be ended when the callable has not settled a second later', () => {
    const ended: string[] = [];
    const instance = Object.assign(new ManualInstance(false, true), {
      end: (reason: string) => void ended.push(reason),
    });
    const harness = new SchedulerHarness({ ...CONFIG, maxBatchSize: 1 }, [instance]);
    harness.sendAll('ab');
    pass();
    pass(1049);
    expect(ended).toEqual([]);
    pass(1 + 2 * READING);
    expect(ended).toEqual(['a batch was still running 1 s after its executionTimeoutMicroseconds of 50000']);
    // Whoever ends it takes it away; the rest waits for it to be there again.
    harness.scheduler.removeInstance(instance);
    expect(harness.answers).toEqual([`a ${TOO_LATE}`]);
    const next = new ManualInstance();
    harness.scheduler.addInstance(next);
    pass();
    expect(next.batches).toEqual(['b']);
    next.last.finish();
    expect([harness.answers.at(-1), vi.getTimerCount()]).toEqual(['b ok', 0]);
  });

  it('does not end an instance whose callable settles within the second', () => {
    const ended: string[] = [];
    const instance = Object.assign(new ManualInstance(false, true), {
      end: (reason: string) => void ended.push(reason),
    });
    const harness = new SchedulerHarness({ ...CONFIG, maxBatchSize: 1 }, [instance]);
    harness.sendAll('ab');
    pass();
    pass(1000);
    instance.last.finish();
    pass();
    instance.last.finish();
    pass(10_000);
    expect([ended, instance.batches, harness.answers]).toEqual([[], ['a', 'b'], [`a ${TOO_LATE}`, 'b ok']]);
  });

  it('refuses what waits, and whatever comes, when no instance will be free, until one is', () => {
    const interruptions: (string | undefined)[] = [];
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({ ...CONFIG, maxBatchSize: 1 }, [instance]);
    harness.scheduler.onInterrupted = (by) => interruptions.push(by);
    harness.sendAll('ab');
    pass();
    pass(1049);
    expect([interruptions, harness.answers, harness.scheduler.instances]).toEqual([[], [`a ${TOO_LATE}`], 1]);
    pass(1 + 2 * READING);
    expect([interruptions, harness.answers, harness.scheduler.instances]).toEqual([
      ['stalled'],
      [`a ${TOO_LATE}`, `b ${STALLED}`],
      0,
    ]);
    harness.send('c');
    expect(harness.answers.at(-1)).toBe(`c ${STALLED}`);
    instance.last.finish();
    expect([interruptions, harness.scheduler.instances]).toEqual([['stalled', undefined], 1]);
    harness.send('d');
    pass();
    instance.last.finish();
    expect([instance.batches, harness.answers.at(-1)]).toEqual([['a', 'd'], 'd ok']);
    expect(harness.statistics.pending).toBe(0);
  });

  it('goes on with the instances that are left, and with the room that is left on one', () => {
    const interruptions: (string | undefined)[] = [];
    const [first, second] = [new ManualInstance(), new ManualInstance()];
    const harness = new SchedulerHarness({ ...CONFIG, maxBatchSize: 1, concurrency: 2 }, [first, second]);
    harness.scheduler.onInterrupted = (by) => interruptions.push(by);
    harness.sendAll('abc');
    pass();
    expect([first.batches, second.batches]).toEqual([['a', 'c'], ['b']]);
    second.last.finish();
    pass(1050 + 2 * READING);
    expect([interruptions, harness.scheduler.instances]).toEqual([[], 1]);
    harness.sendAll('de');
    pass();
    expect(second.batches).toEqual(['b', 'd', 'e']);
    pass(1050 + 2 * READING);
    expect([interruptions, harness.scheduler.instances]).toEqual([['stalled'], 0]);
    harness.scheduler.removeInstance(second);
    expect(interruptions).toEqual(['stalled']);
    harness.scheduler.addInstance(new ManualInstance());
    expect([interruptions, harness.scheduler.instances]).toEqual([['stalled', undefined], 1]);
  });

  it.each([0, 100, 2000])('leaves no timer behind when it stops %i ms after a batch has begun', (milliseconds) => {
    const harness = new SchedulerHarness(CONFIG, [new ManualInstance()]);
    harness.sendAll('ab');
    pass();
    pass(milliseconds);
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
    expect(vi.getTimerCount()).toBe(0);
  });
});
