// Answers, ends and counts; who runs when is in batch-scheduler.test.ts.
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fakeTime, ManualInstance, pass, SchedulerHarness, TIMES } from '../../../test/support/scheduler-harness.js';
import { TritonError } from '../../errors.js';
import type { ModelConfig } from '../../model/model-config.js';
import type { ModelInstance } from '../instance/model-instance.js';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

function start(config: ModelConfig = {}, instances: ModelInstance[] = [new ManualInstance()]): SchedulerHarness {
  return new SchedulerHarness(config, instances);
}

const REJECT_AFTER_100 = { batcher: { defaultQueuePolicy: { defaultTimeoutMicroseconds: 100_000 } } };

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('BatchScheduler with preserved order', () => {
  const ORDERED = { maxBatchSize: 1, batcher: { preserveOrdering: true } };

  it('holds answers and errors back until those of all earlier requests are given, but no cancellation', () => {
    const instances = [new ManualInstance(), new ManualInstance(), new ManualInstance(), new ManualInstance()];
    const harness = start(ORDERED, instances);
    const requests = harness.sendAll('abcde');
    pass();
    expect(instances.map(({ batches }) => batches)).toEqual([['a'], ['b'], ['c'], ['d']]);
    instances[3]!.last.finish();
    instances[2]!.last.finish('c');
    requests[1]!.cancel();
    requests[4]!.cancel();
    expect(harness.answers).toEqual(['b CANCELLED', 'e CANCELLED']);
    instances[0]!.last.finish();
    expect(harness.answers.slice(2)).toEqual(['a ok', 'c INTERNAL asked to fail', 'd ok']);
  });

  it('lets go of a request whose client goes while its answer is held back, and counts it once', () => {
    const instances = [new ManualInstance(), new ManualInstance()];
    const harness = start(ORDERED, instances);
    const [, b] = harness.sendAll('ab');
    pass();
    instances[1]!.last.finish();
    b!.cancel();
    b!.cancel();
    expect(harness.answers).toEqual(['b CANCELLED']);
    instances[0]!.last.finish();
    b!.cancel();
    expect(harness.answers).toEqual(['b CANCELLED', 'a ok']);
    expect(harness.ended).toEqual(['b', 'a']);
    expect(instances[1]!.last.cancelled).toEqual([]);
    expect([harness.statistics.success.count, harness.statistics.fail.count]).toEqual([2, 0]);
  });

  it('holds expiries back as well', () => {
    const instance = new ManualInstance();
    const batcher = { preserveOrdering: true, defaultQueuePolicy: { defaultTimeoutMicroseconds: 10_000 } };
    const harness = start({ maxBatchSize: 1, batcher }, [instance]);
    harness.sendAll('ab');
    pass(20);
    expect(harness.answers).toEqual([]);
    expect(harness.statistics.failures.REJECTED).toBe(1);
    instance.last.finish();
    expect(harness.answers).toEqual(['a ok', 'b UNAVAILABLE Request timeout expired']);
  });

  it('refuses what was never accepted at once', () => {
    const batcher = { preserveOrdering: true, defaultQueuePolicy: { maxQueueSize: 1 } };
    const harness = start({ maxBatchSize: 1, batcher });
    harness.send('a');
    pass();
    harness.sendAll('bc');
    expect(harness.answers).toEqual(['c UNAVAILABLE [request id: c] Exceeds maximum queue size']);
  });

  it('gives every answer in order when it stops', () => {
    const instances = [new ManualInstance(), new ManualInstance()];
    const harness = start(ORDERED, instances);
    harness.sendAll('abcd');
    pass();
    instances[1]!.last.finish();
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
    expect(harness.answers).toEqual(['a UNAVAILABLE gone', 'b ok', 'c UNAVAILABLE gone', 'd UNAVAILABLE gone']);
  });
});

describe('BatchScheduler and its end', () => {
  it('fails what waits and what runs, cancels executions, and leaves no timer behind', () => {
    const instance = new ManualInstance();
    const harness = start({ ...REJECT_AFTER_100, maxBatchSize: 2 }, [instance]);
    harness.sendAll('abc');
    pass();
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
    expect(harness.answers).toEqual(['c UNAVAILABLE gone', 'a UNAVAILABLE gone', 'b UNAVAILABLE gone']);
    expect(instance.last.cancelled).toEqual([0, 1]);
    expect(vi.getTimerCount()).toBe(0);
    expect(harness.statistics).toMatchObject({ pending: 0, failures: { OTHER: 3 } });
    instance.last.finish();
    expect(harness.answers).toHaveLength(3);
    expect(harness.statistics.executionCount).toBe(1);
  });

  it('stops once', () => {
    const harness = start();
    harness.send('a');
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'again'));
    expect(harness.answers).toEqual(['a UNAVAILABLE gone']);
  });

  it('lets go of the requests of a callable that never settles', () => {
    const kept: unknown[] = [];
    const instance: ModelInstance = {
      execute: (_, done) => {
        kept.push(done);
        return { cancel: () => undefined };
      },
    };
    const harness = start({}, [instance]);
    const request = new WeakRef(harness.send('a'));
    pass();
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
    expect(kept).toHaveLength(1);
    return vi.waitFor(() => {
      collectGarbage();
      // Not the request itself: a failed expectation would hold it.
      expect(request.deref() === undefined).toBe(true);
    });
  });
});

describe('BatchScheduler and instances that misbehave', () => {
  it('fails the batch of an instance that throws, and goes on with it', () => {
    let throwing = true;
    const working = new ManualInstance();
    const instance: ModelInstance = {
      execute: (batch, done) => {
        if (throwing) throw new Error('out of memory');
        return working.execute(batch, done);
      },
    };
    const harness = start({}, [instance]);
    harness.sendAll('ab');
    pass();
    expect(harness.answers).toEqual(['a INTERNAL out of memory', 'b INTERNAL out of memory']);
    throwing = false;
    harness.send('c');
    pass();
    expect(working.batches).toEqual(['c']);
  });

  it('takes the first word of an instance that answers twice', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    harness.send('a');
    pass();
    instance.last.finish();
    instance.last.finish('a');
    harness.sendAll('bc');
    pass();
    harness.send('d');
    pass();
    // Had the second word counted, the instance would look idle with b and c still running.
    expect(instance.batches).toEqual(['a', 'bc']);
    expect(harness.answers).toEqual(['a ok']);
    expect(harness.statistics.executionCount).toBe(1);
  });

  it('takes the word of an instance that answers and then throws', () => {
    const instance: ModelInstance = {
      execute: (batch, done) => {
        done(
          batch.map(() => ({ kind: 'outputs', outputs: [], parameters: undefined })),
          TIMES,
        );
        throw new Error('afterwards');
      },
    };
    const harness = start({}, [instance]);
    harness.send('a');
    pass();
    expect(harness.answers).toEqual(['a ok']);
  });

  it('fails the requests that an instance leaves out', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    harness.sendAll('ab');
    pass();
    instance.last.done([{ kind: 'outputs', outputs: [], parameters: undefined }], TIMES);
    expect(harness.answers).toEqual(['a ok', expect.stringContaining('b INTERNAL this is a bug in TSTriton')]);
  });

  it('does not care for the last answer to a reader who went away', async () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    const respond = () => Promise.reject(new Error('socket closed'));
    harness.send('a', { sink: { respond, complete: () => undefined, fail: () => undefined } });
    pass();
    instance.last.finish();
    // A rejection that nobody handles fails the run.
    await Promise.resolve();
    expect(harness.ended).toEqual(['a']);
  });

  it('answers the rest of a batch when one sink throws', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    const broken: string[] = [];
    harness.send('a', {
      sink: {
        respond: () => {
          throw new Error('cannot encode');
        },
        complete: () => undefined,
        fail: ({ message }) => {
          broken.push(message);
          throw new Error('cannot even fail');
        },
      },
    });
    harness.send('b');
    pass();
    instance.last.finish();
    expect(broken).toEqual(['cannot encode']);
    expect(harness.answers).toEqual(['b ok']);
    expect(harness.ended).toEqual(['a', 'b']);
  });
});

describe('BatchScheduler and statistics', () => {
  it('counts executions, requests, rows and batch sizes as the statistics extension says', () => {
    const instance = new ManualInstance();
    const harness = start({ batcher: { defaultQueuePolicy: { maxQueueSize: 2 } } }, [instance]);
    harness.send('a', { rows: 2 });
    pass();
    pass(10);
    harness.send('b');
    harness.send('c', { rows: 3 });
    harness.send('refused');
    pass(10);
    instance.last.finish();
    pass();
    pass(5);
    instance.last.finish('c');
    const report = harness.statistics.report('m', '1');
    expect(report).toMatchObject({
      inferenceCount: 3,
      executionCount: 2,
      success: { count: 2, ns: 35e6 },
      fail: { count: 1, ns: 15e6 },
      queue: { count: 2, ns: 10e6 },
      computeInput: { count: 2, ns: 2e6 },
      computeInfer: { count: 2, ns: 4e6 },
      computeOutput: { count: 2, ns: 6e6 },
      cacheHit: { count: 0, ns: 0 },
      batchStats: [
        {
          batchSize: 2,
          computeInput: { count: 1, ns: 1e6 },
          computeInfer: { count: 1, ns: 2e6 },
          computeOutput: { count: 1, ns: 3e6 },
        },
        { batchSize: 4, computeInput: { count: 1, ns: 1e6 } },
      ],
    });
    expect(harness.statistics.failures).toEqual({ REJECTED: 0, CANCELED: 0, BACKEND: 1, OTHER: 0 });
  });
});
