import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  fakeTime,
  ManualExecution,
  ManualInstance,
  pass,
  SchedulerHarness,
} from '../../../test/support/scheduler-harness.js';
import { TritonError } from '../../errors.js';
import type { ModelConfig } from '../../model/model-config.js';
import type { ModelInstance } from '../instance/model-instance.js';
import type { PendingRequest } from './pending-request.js';

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

describe('BatchScheduler', () => {
  it('puts requests that arrive in the same turn of the event loop into one batch', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    harness.sendAll('abc');
    expect(instance.batches).toEqual([]);
    pass();
    expect(instance.batches).toEqual(['abc']);
    instance.last.finish();
    expect(harness.answers).toEqual(['a ok', 'b ok', 'c ok']);
  });

  it('lets the next batch grow while the instance is busy', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    for (const id of 'abcdef') {
      harness.send(id);
      pass(10);
    }
    expect(instance.batches).toEqual(['a']);
    instance.last.finish();
    pass();
    expect(instance.batches).toEqual(['a', 'bcde']);
    instance.last.finish();
    pass();
    expect(instance.batches).toEqual(['a', 'bcde', 'f']);
  });

  it('gives batches to several free instances in turn', () => {
    const instances = [new ManualInstance(), new ManualInstance(), new ManualInstance()];
    const harness = start({ maxBatchSize: 1 }, instances);
    for (const id of 'abcd') {
      harness.send(id);
      pass();
      for (const { executions } of instances) executions.at(-1)?.finish();
    }
    expect(instances.map(({ batches }) => batches)).toEqual([['a', 'd'], ['b'], ['c']]);
  });

  it('lets several instances work at the same time', () => {
    const instances = [new ManualInstance(), new ManualInstance()];
    const harness = start({ maxBatchSize: 2 }, instances);
    harness.sendAll('abcde');
    pass();
    expect(instances.map(({ batches }) => batches)).toEqual([['ab'], ['cd']]);
    instances[1]!.last.finish();
    pass();
    expect(instances.map(({ batches }) => batches)).toEqual([['ab'], ['cd', 'e']]);
  });

  it('overlaps as many batches on an instance as its concurrency, idle instances first', () => {
    const instances = [new ManualInstance(), new ManualInstance()];
    const harness = start({ maxBatchSize: 1, concurrency: 2 }, instances);
    harness.sendAll('abc');
    pass();
    expect(instances.map(({ batches }) => batches)).toEqual([['a', 'c'], ['b']]);
    instances[0]!.executions[0]!.finish();
    instances[0]!.executions[1]!.finish();
    harness.sendAll('defg');
    pass();
    // The second is still busy with b: the first comes first, then each to its limit.
    expect(instances.map(({ batches }) => batches)).toEqual([
      ['a', 'c', 'd', 'f'],
      ['b', 'e'],
    ]);
  });

  it('keeps requests until there is an instance, and gives none to one that was removed', () => {
    const harness = start({}, []);
    harness.sendAll('ab');
    pass(1000);
    const [first, second] = [new ManualInstance(), new ManualInstance()];
    harness.scheduler.addInstance(first);
    pass();
    expect(first.batches).toEqual(['ab']);
    harness.scheduler.removeInstance(first);
    first.last.finish();
    harness.send('c');
    pass();
    harness.scheduler.addInstance(second);
    pass();
    expect([first.batches, second.batches]).toEqual([['ab'], ['c']]);
    expect(harness.answers).toEqual(['a ok', 'b ok']);
  });

  /** How many answers a callable that computes in this thread has given after each turn, when a batch takes so long. */
  function answersByTurn(milliseconds: number, config: ModelConfig): number[] {
    const instance = new ManualInstance(true);
    const now = vi.spyOn(performance, 'now');
    let time = 0;
    now.mockImplementation(() => time);
    const harness = start(config, [instance]);
    const compute = instance.execute.bind(instance);
    instance.execute = (...given) => {
      time += milliseconds;
      return compute(...given);
    };
    harness.sendAll('abcdef');
    const turns: number[] = [];
    while (harness.answers.length < 6) {
      vi.advanceTimersToNextTimer();
      turns.push(harness.answers.length);
    }
    now.mockRestore();
    return turns;
  }

  it.each([
    { milliseconds: 0.3, turns: [4, 6] },
    { milliseconds: 0.5, turns: [2, 4, 6] },
    { milliseconds: 5, turns: [1, 2, 3, 4, 5, 6] },
  ])('computes in this thread for a millisecond at a time, $milliseconds ms a batch', ({ milliseconds, turns }) => {
    expect(answersByTurn(milliseconds, { maxBatchSize: 1 })).toEqual(turns);
  });

  it('computes a batch that may still grow in a turn of its own', () => {
    expect(answersByTurn(0.1, { maxBatchSize: 4 })).toEqual([4, 6]);
  });

  it.each([
    [true, 'b'],
    [false, undefined],
  ])('gives an instance its next batch before it answers when that is in another thread: %s', (inOtherThread, next) => {
    const instance = new ManualInstance(false, inOtherThread);
    const harness = new SchedulerHarness({}, [instance]);
    let runsAtAnswer: string | undefined;
    harness.send('a', {
      sink: {
        respond: () => void (runsAtAnswer = instance.batches[1]),
        complete: () => undefined,
        fail: () => undefined,
      },
    });
    pass();
    harness.send('b');
    instance.last.finish();
    expect(runsAtAnswer).toBe(next);
    pass();
    expect(instance.batches).toEqual(['a', 'b']);
  });

  it('gives an instance in another thread that was done at once its next batch with what else comes in the turn', () => {
    const instance = new ManualInstance(false, true);
    const harness = new SchedulerHarness({}, [instance]);
    harness.send('a');
    pass();
    harness.send('b');
    instance.last.finish('', { computeInput: 0, computeInfer: 0.01, computeOutput: 0 });
    expect([instance.batches, harness.answers]).toEqual([['a'], ['a ok']]);
    harness.send('c');
    pass();
    expect(instance.batches).toEqual(['a', 'bc']);
  });

  it('runs one request at a time without a dynamic batcher', () => {
    const instance = new ManualInstance();
    const harness = start({ batcher: null }, [instance]);
    harness.sendAll('ab');
    pass();
    instance.last.finish();
    pass();
    expect(instance.batches).toEqual(['a', 'b']);
  });
});

describe('BatchScheduler with a queue delay', () => {
  it('waits for the delay of the oldest request', () => {
    const instance = new ManualInstance();
    const harness = start({ batcher: { maxQueueDelayMicroseconds: 50_000 } }, [instance]);
    harness.send('a');
    pass(20);
    harness.send('b');
    pass(29);
    expect(instance.batches).toEqual([]);
    pass(1);
    expect(instance.batches).toEqual(['ab']);
    expect(harness.statistics.pending).toBe(0);
  });

  it('sends a full batch without waiting, and leaves no timer behind', () => {
    const instance = new ManualInstance();
    const harness = start({ batcher: { maxQueueDelayMicroseconds: 50_000 } }, [instance]);
    harness.send('a');
    pass(10);
    harness.sendAll('bcd');
    pass();
    expect(instance.batches).toEqual(['abcd']);
    expect(vi.getTimerCount()).toBe(0);
  });

  it('sends at once what cannot grow, because the next has other optional inputs', () => {
    const instance = new ManualInstance();
    const config = { maxBatchSize: 4, batcher: { maxQueueDelayMicroseconds: 50_000 } };
    const inputs = { x: { dtype: 'float32', shape: [1], optional: true } } as const;
    const harness = new SchedulerHarness(config, [instance], inputs);
    const x = { name: 'x', datatype: 'FP32', shape: [1, 1], bytes: new Uint8Array(4) } as const;
    harness.send('a', { inputs: [undefined] });
    harness.send('b', { inputs: [undefined] });
    pass(10);
    expect(instance.batches).toEqual([]);
    harness.send('c', { inputs: [x] });
    pass();
    expect(instance.batches).toEqual(['ab']);
    instance.last.finish();
    pass(49);
    expect(instance.batches).toEqual(['ab']);
    pass(1);
    expect(instance.batches).toEqual(['ab', 'c']);
  });

  it('looks again when a request is cancelled: those behind it may make a preferred size without it', () => {
    const instance = new ManualInstance();
    const config = { maxBatchSize: 8, batcher: { preferredBatchSize: [2, 8], maxQueueDelayMicroseconds: 50_000 } };
    const harness = start(config, [instance]);
    harness.send('a');
    const between = harness.send('b', { rows: 2 });
    harness.send('c');
    pass(10);
    expect(instance.batches).toEqual([]);
    between.cancel();
    pass();
    expect(instance.batches).toEqual(['ac']);
  });

  it('waits out a delay shorter than any timer by looking again and again', async () => {
    vi.useRealTimers();
    const setTimeoutSpy = vi.spyOn(globalThis, 'setTimeout');
    const instance = new ManualInstance();
    const harness = start({ batcher: { maxQueueDelayMicroseconds: 300 } }, [instance]);
    const sentAt = performance.now();
    harness.send('a');
    while (instance.executions.length === 0) await new Promise((resolve) => setImmediate(resolve));
    expect(performance.now() - sentAt).toBeGreaterThanOrEqual(0.3);
    expect(setTimeoutSpy).not.toHaveBeenCalled();
    instance.last.finish();
  });
});

describe('BatchScheduler and cancellation', () => {
  it('takes a queued request out and answers it at once', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    harness.send('a');
    pass();
    const [b] = harness.sendAll('bc');
    expect(harness.statistics.pending).toBe(2);
    b!.cancel();
    expect(harness.answers).toEqual(['b CANCELLED']);
    expect(harness.statistics.pending).toBe(1);
    instance.last.finish();
    pass();
    expect(instance.batches).toEqual(['a', 'c']);
    expect(harness.statistics).toMatchObject({ failures: { CANCELED: 1 } });
  });

  it('answers a running request at once and tells its execution', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    const [, b] = harness.sendAll('ab');
    pass();
    b!.cancel();
    b!.cancel();
    expect(instance.last.cancelled).toEqual([1]);
    expect(harness.answers).toEqual(['b CANCELLED']);
    instance.last.finish();
    expect(harness.answers).toEqual(['b CANCELLED', 'a ok']);
    expect(harness.statistics.success.count).toBe(1);
    expect(harness.statistics.fail.count).toBe(1);
  });

  it('does nothing after the end', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    const [a] = harness.sendAll('a');
    pass();
    instance.last.finish();
    a!.cancel();
    expect(harness.answers).toEqual(['a ok']);
    expect(instance.last.cancelled).toEqual([]);
    expect(harness.statistics.fail.count).toBe(0);
  });

  it('tells an execution of a request that was cancelled while the execution began', () => {
    const executions: ManualExecution[] = [];
    const requests: PendingRequest[] = [];
    const instance: ModelInstance = {
      execute: (batch, done) => {
        requests[0]!.cancel();
        executions.push(new ManualExecution(batch, done));
        return executions[0]!;
      },
    };
    const harness = start({}, [instance]);
    requests.push(harness.send('a'));
    pass();
    expect(executions[0]!.cancelled).toEqual([0]);
    expect(harness.answers).toEqual(['a CANCELLED']);
  });
});

describe('BatchScheduler with timeouts', () => {
  it('refuses expired requests while the instance is busy, within a millisecond of their moment', () => {
    const instance = new ManualInstance();
    const harness = start(REJECT_AFTER_100, [instance]);
    harness.send('z');
    pass();
    pass(10);
    harness.sendAll('ab');
    pass(99);
    expect(harness.answers).toEqual([]);
    pass(2);
    expect(harness.answers).toEqual(['a UNAVAILABLE Request timeout expired', 'b UNAVAILABLE Request timeout expired']);
    expect(harness.statistics).toMatchObject({ failures: { REJECTED: 2 }, pending: 0 });
    expect(vi.getTimerCount()).toBe(0);
    instance.last.finish();
    pass();
    expect(instance.batches).toEqual(['z']);
  });

  it('refuses them before the delay of their batch is over', () => {
    const policy = { defaultTimeoutMicroseconds: 20_000 };
    const harness = start({ batcher: { maxQueueDelayMicroseconds: 50_000, defaultQueuePolicy: policy } });
    harness.send('a');
    pass(21);
    expect(harness.answers).toEqual(['a UNAVAILABLE Request timeout expired']);
  });

  it('does not let an expired request count towards the queue size, however late the timer is', () => {
    const policy = { defaultTimeoutMicroseconds: 100_000, maxQueueSize: 1 };
    const harness = start({ batcher: { defaultQueuePolicy: policy } });
    harness.send('z');
    pass();
    harness.send('a');
    harness.send('b');
    // The clock goes on while a callable keeps the event loop.
    vi.setSystemTime(Date.now() + 200);
    const blocked = performance.now() + 200;
    vi.spyOn(performance, 'now').mockImplementation(() => blocked);
    harness.send('c');
    expect(harness.answers).toEqual([
      'b UNAVAILABLE [request id: b] Exceeds maximum queue size',
      'a UNAVAILABLE Request timeout expired',
    ]);
    expect(harness.statistics.pending).toBe(1);
  });

  it('refuses no request that a free instance has room for, though others came in the same turn', () => {
    const policy = { maxQueueSize: 1 };
    const instances = [new ManualInstance(), new ManualInstance(), new ManualInstance()];
    const harness = start({ maxBatchSize: 1, batcher: { defaultQueuePolicy: policy } }, instances);
    harness.sendAll('abcde');
    pass();
    expect(instances.map(({ batches }) => batches)).toEqual([['a'], ['b'], ['c']]);
    expect(harness.answers).toEqual(['e UNAVAILABLE [request id: e] Exceeds maximum queue size']);
    expect(harness.statistics.pending).toBe(1);
  });

  it('refuses the requests of one turn that would wait for others', () => {
    const policy = { maxQueueSize: 2 };
    const harness = start({ batcher: { maxQueueDelayMicroseconds: 50_000, defaultQueuePolicy: policy } });
    harness.sendAll('abc');
    expect(harness.answers).toEqual(['c UNAVAILABLE [request id: c] Exceeds maximum queue size']);
  });

  it('never refuses a request that executes', () => {
    const instance = new ManualInstance();
    const harness = start(REJECT_AFTER_100, [instance]);
    harness.send('a');
    pass(1000);
    expect(harness.answers).toEqual([]);
    instance.last.finish();
    expect(harness.answers).toEqual(['a ok']);
  });

  it('runs delayed requests behind the others', () => {
    const instance = new ManualInstance();
    const policy = { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 100_000 } as const;
    const harness = start({ maxBatchSize: 2, batcher: { defaultQueuePolicy: policy } }, [instance]);
    harness.send('z', { rows: 2 });
    pass();
    harness.sendAll('ab');
    pass(150);
    harness.sendAll('cd');
    instance.last.finish();
    pass();
    instance.last.finish();
    pass();
    expect(instance.batches).toEqual(['z', 'cd', 'ab']);
  });

  it('sets no timer longer than timers can be', () => {
    const harness = start({ batcher: { defaultQueuePolicy: { defaultTimeoutMicroseconds: 2 ** 31 * 2000 } } });
    const setTimeoutSpy = vi.spyOn(globalThis, 'setTimeout');
    harness.send('z', { rows: 4 });
    pass();
    harness.send('a');
    pass();
    expect(setTimeoutSpy.mock.calls.map(([, delay]) => delay)).toEqual([2 ** 31 - 1]);
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
  });
});
