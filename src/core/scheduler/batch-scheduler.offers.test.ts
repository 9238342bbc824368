import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  fakeTime,
  ManualInstance,
  OfferedInstance,
  pass,
  SchedulerHarness,
} from '../../../test/support/scheduler-harness.js';
import { TritonError } from '../../errors.js';
import type { ModelConfig } from '../../model/model-config.js';

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.useRealTimers();
});

/** A busy instance with `abcd` running, and what was sent after it. */
function busy(ids: string, config: ModelConfig = {}): { harness: SchedulerHarness; instance: OfferedInstance } {
  const instance = new OfferedInstance();
  const harness = new SchedulerHarness(config, [instance]);
  harness.sendAll('abcd');
  pass();
  harness.sendAll(ids);
  pass();
  return { harness, instance };
}

describe('BatchScheduler with instances that take batches ahead', () => {
  it('lays the next batch ready when it is full, and one at a time', () => {
    const { harness, instance } = busy('efg');
    expect(instance.offers).toEqual([]);
    harness.sendAll('hijklm');
    pass();
    expect([instance.batches, instance.offers]).toEqual([['abcd'], ['efgh ready']]);
  });

  it('goes on with the batch that the instance began by itself, and lays the one after it ready', () => {
    const { harness, instance } = busy('efghijklm');
    instance.begin();
    instance.executions[0]!.finish();
    pass();
    expect(harness.answers).toEqual(['a ok', 'b ok', 'c ok', 'd ok']);
    expect([instance.batches, instance.offers]).toEqual([
      ['abcd', 'efgh'],
      ['efgh begun', 'ijkl ready'],
    ]);
    instance.last.finish();
    pass();
    expect(harness.answers.slice(4)).toEqual(['e ok', 'f ok', 'g ok', 'h ok']);
    // It had not begun the third by itself.
    expect([instance.batches, instance.offers]).toEqual([
      ['abcd', 'efgh', 'ijkl'],
      ['efgh begun', 'ijkl withdrawn'],
    ]);
  });

  it('counts the requests of a batch that lies ready as waiting until it has begun', () => {
    const { harness, instance } = busy('efgh');
    expect(harness.statistics.pending).toBe(4);
    expect(harness.statistics.releases.full).toBe(1);
    instance.begin();
    instance.executions[0]!.finish();
    expect(harness.statistics.pending).toBe(0);
    expect(harness.statistics.releases.full).toBe(2);
    expect(harness.statistics.batchRows.count).toBe(2);
  });

  it('leaves the batch alone when a request behind it is cancelled', () => {
    const { harness, instance } = busy('efgh');
    harness.send('i').cancel();
    expect([harness.answers, instance.offers]).toEqual([['i CANCELLED'], ['efgh ready']]);
  });

  it('leaves a cancelled request out and fills its place, and lays nothing ready again while the same batch runs', () => {
    const instance = new OfferedInstance();
    const harness = new SchedulerHarness({}, [instance]);
    harness.sendAll('abcd');
    pass();
    const [first] = harness.sendAll('efghi');
    pass();
    first!.cancel();
    pass();
    expect([harness.answers, instance.offers]).toEqual([['e CANCELLED'], ['efgh withdrawn']]);
    instance.last.finish();
    pass();
    expect(instance.batches).toEqual(['abcd', 'fghi']);
  });

  it('tells the execution of a cancelled request whose batch had begun by itself', () => {
    const instance = new OfferedInstance();
    const harness = new SchedulerHarness({}, [instance]);
    harness.sendAll('abcd');
    pass();
    const requests = harness.sendAll('efgh');
    pass();
    instance.begin();
    requests[2]!.cancel();
    expect([harness.answers, instance.batches]).toEqual([['g CANCELLED'], ['abcd', 'efgh']]);
    expect(instance.last.cancelled).toEqual([2]);
    instance.executions[0]!.finish();
    instance.last.finish();
    pass();
    expect(harness.answers.slice(1)).toEqual(['a ok', 'b ok', 'c ok', 'd ok', 'e ok', 'f ok', 'h ok']);
    expect(harness.statistics.pending).toBe(0);
  });

  it('refuses the requests of a batch that lies ready when their time is over', () => {
    const policy = { defaultTimeoutMicroseconds: 50_000 };
    const { harness, instance } = busy('efgh', { batcher: { defaultQueuePolicy: policy } });
    pass(60);
    expect(harness.answers).toEqual(Array.from('efgh', (id) => `${id} UNAVAILABLE Request timeout expired`));
    expect(instance.offers).toEqual(['efgh withdrawn']);
  });

  it('gives the batch to another instance that is free sooner', () => {
    const [first, second] = [new OfferedInstance(), new OfferedInstance()];
    const harness = new SchedulerHarness({}, [first, second]);
    harness.sendAll('abcd');
    pass(1);
    harness.sendAll('efgh');
    pass(1);
    harness.sendAll('ijkl');
    pass();
    // Where it is likely to be free first.
    expect([first.offers, second.offers]).toEqual([['ijkl ready'], []]);
    second.last.finish();
    pass();
    expect([first.offers, second.batches]).toEqual([['ijkl withdrawn'], ['efgh', 'ijkl']]);
  });

  it('lays nothing ready at an instance that cannot take a batch back, nor for several at a time', () => {
    const plain = new ManualInstance(false, true);
    const harness = new SchedulerHarness({}, [plain]);
    harness.sendAll('abcdefgh');
    pass();
    expect(plain.batches).toEqual(['abcd']);
    const { instance } = busy('efghijklmnopq', { concurrency: 2 });
    expect([instance.batches, instance.offers]).toEqual([['abcd', 'efgh'], []]);
  });

  it('keeps the requests of a batch that lies ready at an instance which goes away, for the others', () => {
    const { harness, instance } = busy('efgh');
    harness.scheduler.removeInstance(instance);
    expect(instance.offers).toEqual(['efgh withdrawn']);
    const next = new OfferedInstance();
    harness.scheduler.addInstance(next);
    pass();
    expect(next.batches).toEqual(['efgh']);
  });

  it('fails the requests of a batch that lies ready when it stops, once, even if it has just begun', () => {
    const { harness, instance } = busy('efgh');
    instance.begin();
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
    expect(harness.answers.toSorted()).toEqual(Array.from('abcdefgh', (id) => `${id} UNAVAILABLE gone`));
    expect(instance.last.cancelled).toEqual([0, 1, 2, 3]);
    for (const execution of instance.executions) execution.finish();
    expect([harness.answers.length, harness.statistics.pending]).toEqual([8, 0]);
  });

  it('counts the requests of a batch that lies ready towards the size of the queue', () => {
    const { harness } = busy('efgh', { batcher: { defaultQueuePolicy: { maxQueueSize: 4 } } });
    harness.send('i');
    expect(harness.answers).toEqual(['i UNAVAILABLE [request id: i] Exceeds maximum queue size']);
  });
});
