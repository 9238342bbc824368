// Batches that a busy instance is given ahead, because its callable ends sooner than answers travel. Whatever happens until it begins
// them, requests fare as if they had waited in the queue.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { AheadInstance, fakeTime, pass, SchedulerHarness } from '../../../test/support/scheduler-harness.js';
import { TritonError } from '../../errors.js';
import type { ModelConfig } from '../../model/model-config.js';

beforeEach(fakeTime);
afterEach(() => void vi.useRealTimers());

const ALONE = { batcher: null };

/** Instances whose callable took so many milliseconds for its first batch. */
function start(
  config: ModelConfig,
  milliseconds = 0.1,
  count = 1,
): { harness: SchedulerHarness; instances: AheadInstance[] } {
  const instances = Array.from({ length: count }, () => new AheadInstance());
  const harness = new SchedulerHarness(config, instances);
  for (let i = 0; i < count; i++) harness.send('-');
  pass();
  for (const instance of instances) {
    instance.finish(milliseconds);
    instance.executions.length = 0;
  }
  pass();
  harness.answers.length = 0;
  return { harness, instances };
}

function one(config: ModelConfig, milliseconds?: number): { harness: SchedulerHarness; instance: AheadInstance } {
  const { harness, instances } = start(config, milliseconds);
  return { harness, instance: instances[0]! };
}

describe('batches ahead', () => {
  it.each([
    { milliseconds: 0.3, ahead: 'b c d' },
    { milliseconds: 0.6, ahead: 'b' },
    { milliseconds: 1.1, ahead: '' },
  ])('are as many as the callable runs in a millisecond: $milliseconds ms each', ({ milliseconds, ahead }) => {
    const { harness, instance } = one(ALONE, milliseconds);
    harness.sendAll('abcde');
    pass();
    expect(instance.batches).toEqual(['a']);
    expect(instance.idsAhead).toBe(ahead);
  });

  it('are none before the callable has run', () => {
    const instance = new AheadInstance();
    const harness = new SchedulerHarness(ALONE, [instance]);
    harness.sendAll('abc');
    pass();
    expect([instance.batches, instance.idsAhead]).toEqual([['a'], '']);
    instance.finish(0.1);
    pass();
    expect([instance.batches, instance.idsAhead]).toEqual([['a', 'b'], 'c']);
  });

  it.each([{ decoupled: true }, { executionTimeoutMicroseconds: 1e6 }])('are none with %o', (config) => {
    const { harness, instance } = one({ ...ALONE, concurrency: 1, ...config });
    harness.sendAll('abc');
    pass();
    expect(instance.idsAhead).toBe('');
    expect(harness.statistics.pending).toBeGreaterThan(0);
  });

  it('run in the order of their requests, and more follow', () => {
    const { harness, instance } = one(ALONE, 0.5);
    harness.sendAll('abcdef');
    pass();
    for (let i = 0; i < 6; i++) {
      instance.finish(0.5);
      pass();
    }
    expect(instance.batches).toEqual(['a', 'b', 'c', 'd', 'e', 'f']);
    expect(harness.answers).toEqual(['a ok', 'b ok', 'c ok', 'd ok', 'e ok', 'f ok']);
  });

  it('wait and are counted as waiting until they begin', () => {
    const { harness, instance } = one(ALONE);
    harness.sendAll('abc');
    pass();
    expect(harness.statistics.pending).toBe(2);
    pass(5);
    instance.finish(5);
    expect(harness.statistics.pending).toBe(2);
    instance.finish(0.1);
    expect(harness.statistics.pending).toBe(1);
  });

  it('are full batches, and none that may still grow', () => {
    const { harness, instance } = one({ maxBatchSize: 2 });
    harness.sendAll('abcde');
    pass();
    expect([instance.batches, instance.idsAhead]).toEqual([['ab'], 'cd']);
    harness.send('f');
    pass();
    expect(instance.idsAhead).toBe('cd ef');
  });

  it('are taken back for a request that is cancelled, which ends the others no later', () => {
    const { harness, instance } = one({ maxBatchSize: 2 });
    const [, , c] = harness.sendAll('abcdef');
    pass();
    expect(instance.idsAhead).toBe('cd ef');
    c!.cancel();
    pass();
    expect(harness.answers).toEqual(['c CANCELLED']);
    expect(instance.idsAhead).toBe('de');
    harness.send('g');
    pass();
    expect(instance.idsAhead).toBe('de fg');
  });

  it('that have begun are told of a request that is cancelled', () => {
    const { harness, instance } = one(ALONE);
    const [, b] = harness.sendAll('abc');
    pass();
    instance.begin();
    b!.cancel();
    pass();
    expect(instance.batches).toEqual(['a', 'b']);
    expect(instance.last.cancelled).toEqual([0]);
    expect([harness.answers, instance.idsAhead]).toEqual([['b CANCELLED'], 'c']);
  });

  it('let a more urgent request pass', () => {
    const { harness, instance } = one({ maxBatchSize: 1, batcher: { priorityLevels: 2, defaultPriorityLevel: 2 } });
    harness.sendAll('abc');
    pass();
    instance.begin();
    harness.send('u', { priority: 1 });
    harness.send('d', { priority: 2 });
    pass();
    expect([instance.batches, instance.idsAhead]).toEqual([['a', 'b'], 'u c d']);
  });

  it('are refused when their time to wait is over, unless they have begun', () => {
    const policy = { defaultTimeoutMicroseconds: 100_000 };
    const { harness, instance } = one({ maxBatchSize: 1, batcher: { defaultQueuePolicy: policy } });
    harness.sendAll('abc');
    pass();
    expect(instance.idsAhead).toBe('b c');
    instance.begin();
    pass(101);
    expect(harness.answers).toEqual(['c UNAVAILABLE Request timeout expired']);
    expect(instance.idsAhead).toBe('');
  });

  it('count towards the limit of the queue', () => {
    const { harness, instance } = one({ maxBatchSize: 1, batcher: { defaultQueuePolicy: { maxQueueSize: 2 } } });
    harness.sendAll('a');
    pass();
    harness.sendAll('bcd');
    expect(harness.answers).toEqual([expect.stringMatching('d UNAVAILABLE .*Exceeds maximum queue size')]);
    pass();
    instance.finish(0.1);
    harness.send('e');
    pass();
    expect(instance.idsAhead).toBe('c e');
  });

  it('go to another instance when theirs has gone, or is blocked', () => {
    for (const end of ['removeInstance', 'blockInstance'] as const) {
      const { harness, instances } = start(ALONE, 0.1, 2);
      const [first, second] = instances as [AheadInstance, AheadInstance];
      harness.sendAll('abcdef');
      pass();
      expect([first.idsAhead, second.idsAhead]).toEqual(['c e', 'd f']);
      harness.scheduler[end](first, true);
      pass();
      expect([first.idsAhead, second.idsAhead]).toEqual(['', 'c d e f']);
      for (let i = 0; i < 5; i++) second.finish(0.1);
      expect(second.batches).toEqual(['b', 'c', 'd', 'e', 'f']);
    }
  });

  it('go to an instance that has nothing to do', () => {
    const { harness, instances } = start(ALONE, 0.1, 2);
    const [first, second] = instances as [AheadInstance, AheadInstance];
    harness.sendAll('abcdef');
    pass();
    // The first one is blocked by what it runs.
    for (let i = 0; i < 3; i++) second.finish(0.1);
    pass();
    expect(second.batches.slice(0, 4)).toEqual(['b', 'd', 'f', 'c']);
    second.finish(0.1);
    pass();
    second.finish(0.1);
    pass();
    expect(harness.answers.toSorted()).toEqual(['b ok', 'c ok', 'd ok', 'e ok', 'f ok']);
    expect(first.batches).toEqual(['a']);
  });

  it('fail when they cannot be handed over', () => {
    const { harness, instance } = one(ALONE);
    harness.send('a');
    pass();
    instance.executeAhead = () => {
      throw new TritonError('INTERNAL', 'cannot be sent');
    };
    harness.send('b');
    pass();
    expect(harness.answers).toEqual([expect.stringContaining('cannot be sent')]);
    expect([harness.ended.at(-1), harness.statistics.pending]).toEqual(['b', 0]);
  });

  it('never begin after a stop, and those that have begun are cancelled', () => {
    const { harness, instance } = one(ALONE);
    harness.sendAll('abcd');
    pass();
    instance.begin();
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'Server exiting'));
    expect(harness.answers.map((answer) => answer.slice(0, 13)).toSorted()).toEqual([
      'a UNAVAILABLE',
      'b UNAVAILABLE',
      'c UNAVAILABLE',
      'd UNAVAILABLE',
    ]);
    expect([instance.batches, instance.idsAhead, instance.last.cancelled]).toEqual([['a', 'b'], '', [0]]);
    pass(2000);
  });
});
