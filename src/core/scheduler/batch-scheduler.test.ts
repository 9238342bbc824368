import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { TritonError } from '../../errors.js';
import type { ModelConfig } from '../../model/model-config.js';
import { completeModelConfig } from '../../model/complete-model.js';
import type { Execution, ExecutionDone, ExecutionRequest, ModelInstance } from '../instance/model-instance.js';
import { PendingRequest } from '../pending-request.js';
import type { ResponseSink } from '../response-sink.js';
import { InferenceStatistics } from '../statistics.js';
import { BatchScheduler } from './batch-scheduler.js';

const TIMES = { computeInput: 1, computeInfer: 2, computeOutput: 3 };

/** A batch that an instance works on until the test ends it. */
class ManualExecution implements Execution {
  readonly batch: readonly ExecutionRequest[];
  readonly done: ExecutionDone;
  readonly cancelled: number[] = [];

  constructor(batch: readonly ExecutionRequest[], done: ExecutionDone) {
    this.batch = batch;
    this.done = done;
  }

  get ids(): string {
    return this.batch.map(({ id }) => id).join('');
  }

  cancel(index: number): void {
    this.cancelled.push(index);
  }

  /** Answers all; the requests whose ids are in `failing` with an error. */
  finish(failing = ''): void {
    const failure = { kind: 'error', error: new TritonError('INTERNAL', 'asked to fail') } as const;
    const answer = { kind: 'outputs', outputs: [] } as const;
    this.done(
      this.batch.map(({ id }) => (failing.includes(id) && id !== '' ? failure : answer)),
      TIMES,
    );
  }
}

class ManualInstance implements ModelInstance {
  readonly executions: ManualExecution[] = [];
  /** Computes at once, as a synchronous callable in the server's thread does. */
  readonly synchronous: boolean;

  constructor(synchronous = false) {
    this.synchronous = synchronous;
  }

  get last(): ManualExecution {
    return this.executions.at(-1)!;
  }

  get batches(): string[] {
    return this.executions.map(({ ids }) => ids);
  }

  execute(batch: readonly ExecutionRequest[], done: ExecutionDone): Execution {
    const execution = new ManualExecution(batch, done);
    this.executions.push(execution);
    if (this.synchronous) execution.finish();
    return execution;
  }
}

interface Sent {
  readonly rows?: number;
  readonly priority?: number;
  readonly timeoutMicroseconds?: number;
}

/** A scheduler with instances and a log of what became of its requests. */
class Harness {
  readonly statistics = new InferenceStatistics();
  readonly scheduler: BatchScheduler;
  readonly instances: ModelInstance[];
  /** `a ok`, `b CANCELLED`, …, in the order of the answers. */
  readonly answers: string[] = [];
  readonly ended: string[] = [];

  constructor(config: ModelConfig, instances: ModelInstance[]) {
    const spec = { modelName: 'm', inputs: {}, outputs: {}, config };
    this.scheduler = new BatchScheduler(completeModelConfig(spec, instances.length), this.statistics);
    this.instances = instances;
    for (const instance of instances) this.scheduler.addInstance(instance);
  }

  send(
    id: string,
    { rows = 1, priority = 0, timeoutMicroseconds = 0 }: Sent = {},
    sink?: ResponseSink,
  ): PendingRequest {
    const request = new PendingRequest(
      {
        modelName: 'm',
        modelVersion: '',
        id,
        parameters: undefined,
        inputs: [],
        outputs: [],
        priority,
        timeoutMicroseconds,
      },
      { inputs: [], rows },
      {
        owner: {
          cancelled: (gone) => this.scheduler.cancelled(gone),
          ended: (over) => this.ended.push(over.id),
        },
        sink: sink ?? {
          respond: (response) => this.answers.push(`${response.id} ok`),
          fail: ({ code, message }) => this.answers.push(`${id} ${code}${message && ` ${message}`}`),
        },
        now: performance.now(),
      },
    );
    this.scheduler.enqueue(request);
    return request;
  }

  sendAll(ids: string): PendingRequest[] {
    return [...ids].map((id) => this.send(id));
  }
}

function start(config: ModelConfig = {}, instances: ModelInstance[] = [new ManualInstance()]): Harness {
  return new Harness({ maxBatchSize: 4, ...config }, instances);
}

/** Lets immediates run, and timers that are due within so many milliseconds. */
function pass(milliseconds = 0): void {
  vi.advanceTimersByTime(milliseconds);
}

const REJECT_AFTER_100 = { batcher: { defaultQueuePolicy: { defaultTimeoutMicroseconds: 100_000 } } };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setImmediate', 'clearImmediate', 'performance'] });
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

  it('gives the event loop a turn between the batches of a callable that computes in this thread', () => {
    const instance = new ManualInstance(true);
    const harness = start({ maxBatchSize: 1 }, [instance]);
    harness.sendAll('abc');
    const turns: number[] = [];
    for (let turn = 0; turn < 3; turn++) {
      vi.advanceTimersToNextTimer();
      turns.push(harness.answers.length);
    }
    expect(turns).toEqual([1, 2, 3]);
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

  it('looks again when the request is cancelled that kept those behind it out of the batch', () => {
    const instance = new ManualInstance();
    const config = { batcher: { maxQueueDelayMicroseconds: 50_000 } };
    const inputs = { x: { dtype: 'float32', shape: [1], optional: true } } as const;
    const scheduler = new BatchScheduler(
      completeModelConfig({ modelName: 'm', inputs, outputs: {}, config: { ...config, maxBatchSize: 2 } }, 1),
      new InferenceStatistics(),
    );
    scheduler.addInstance(instance);
    const send = (id: string, present: boolean) => {
      const x = { name: 'x', datatype: 'FP32', shape: [1, 1], bytes: new Uint8Array(4) } as const;
      const request = new PendingRequest(
        {
          modelName: 'm',
          modelVersion: '',
          id,
          parameters: undefined,
          inputs: [],
          outputs: [],
          priority: 0,
          timeoutMicroseconds: 0,
        },
        { inputs: [present ? x : undefined], rows: 1 },
        {
          owner: { cancelled: (gone) => scheduler.cancelled(gone), ended: () => undefined },
          sink: { respond: () => undefined, fail: () => undefined },
          now: performance.now(),
        },
      );
      scheduler.enqueue(request);
      return request;
    };
    send('a', false);
    const between = send('b', true);
    send('c', false);
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
    let a: PendingRequest | undefined;
    const instance: ModelInstance = {
      execute: (batch, done) => {
        a!.cancel();
        executions.push(new ManualExecution(batch, done));
        return executions[0]!;
      },
    };
    const harness = start({}, [instance]);
    a = harness.send('a');
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

describe('BatchScheduler with preserved order', () => {
  const ORDERED = { maxBatchSize: 1, batcher: { preserveOrdering: true } };

  it('holds answers, errors and cancellations back until those of all earlier requests are given', () => {
    const instances = [new ManualInstance(), new ManualInstance(), new ManualInstance(), new ManualInstance()];
    const harness = start(ORDERED, instances);
    const requests = harness.sendAll('abcde');
    pass();
    expect(instances.map(({ batches }) => batches)).toEqual([['a'], ['b'], ['c'], ['d']]);
    instances[3]!.last.finish();
    instances[2]!.last.finish('c');
    requests[1]!.cancel();
    requests[4]!.cancel();
    expect(harness.answers).toEqual([]);
    instances[0]!.last.finish();
    expect(harness.answers).toEqual(['a ok', 'b CANCELLED', 'c INTERNAL asked to fail', 'd ok', 'e CANCELLED']);
  });

  it('counts a request once whose client goes while its answer is held back', () => {
    const instances = [new ManualInstance(), new ManualInstance()];
    const harness = start(ORDERED, instances);
    const [, b] = harness.sendAll('ab');
    pass();
    instances[1]!.last.finish();
    b!.cancel();
    instances[0]!.last.finish();
    expect(harness.answers).toEqual(['a ok', 'b ok']);
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
    expect(harness.statistics.executionCount).toBe(0);
  });

  it('forgets the requests of a callable that never settles', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    harness.send('a');
    pass();
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'again'));
    expect(harness.answers).toEqual(['a UNAVAILABLE gone']);
    expect(instance.last.cancelled).toEqual([0]);
  });

  it('finishes what it has accepted, and waits its delays out, when it accepts no more', () => {
    const instance = new ManualInstance();
    const harness = start({ batcher: { maxQueueDelayMicroseconds: 50_000 } }, [instance]);
    harness.send('a');
    pass(10);
    harness.scheduler.stopAccepting();
    harness.send('b');
    harness.send('');
    const text = 'Server is stopping, scheduler for model has stopped accepting new inference requests';
    expect(harness.answers).toEqual([
      `b UNAVAILABLE [request id: b] ${text}`,
      ` UNAVAILABLE [request id: <id_unknown>] ${text}`,
    ]);
    pass(39);
    expect(instance.batches).toEqual([]);
    pass(1);
    instance.last.finish();
    expect(harness.answers[2]).toBe('a ok');
    expect(harness.statistics.fail.count).toBe(0);
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
          batch.map(() => ({ kind: 'outputs', outputs: [] })),
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
    instance.last.done([{ kind: 'outputs', outputs: [] }], TIMES);
    expect(harness.answers).toEqual(['a ok', expect.stringContaining('b INTERNAL this is a bug in TSTriton')]);
  });

  it('answers the rest of a batch when one sink throws', () => {
    const instance = new ManualInstance();
    const harness = start({}, [instance]);
    const broken: string[] = [];
    harness.send(
      'a',
      {},
      {
        respond: () => {
          throw new Error('cannot encode');
        },
        fail: ({ message }) => {
          broken.push(message);
          throw new Error('cannot even fail');
        },
      },
    );
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
      success: { count: 2, ns: 45e6 },
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

// Random lives of a model: everything that can happen, in any order.
const step = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      rows: fc.integer({ min: 1, max: 4 }),
      priority: fc.nat({ max: 3 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('finish' as const), which: fc.nat(), fails: fc.boolean() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('twice' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), which: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), milliseconds: fc.nat({ max: 30 }) }) },
);

const settings = fc.record({
  instances: fc.array(fc.boolean(), { minLength: 1, maxLength: 3 }),
  concurrency: fc.integer({ min: 1, max: 2 }),
  delay: fc.constantFrom(0, 0, 10_000),
  order: fc.constantFrom('none', 'levels', 'preserved'),
  timeoutAction: fc.constantFrom('REJECT', 'DELAY'),
  defaultTimeoutMicroseconds: fc.constantFrom(0, 20_000),
  maxQueueSize: fc.constantFrom(0, 3),
  batcher: fc.boolean(),
});

describe('BatchScheduler in any life', () => {
  it('ends every request exactly once and keeps its counts', () => {
    fc.assert(
      fc.property(settings, fc.array(step, { maxLength: 60 }), (given, steps) => {
        const preserved = given.order === 'preserved';
        const harness = start(
          {
            maxBatchSize: 4,
            concurrency: given.concurrency,
            batcher: !given.batcher
              ? null
              : {
                  maxQueueDelayMicroseconds: given.delay,
                  preserveOrdering: preserved,
                  ...(given.order === 'levels' ? { priorityLevels: 2, defaultPriorityLevel: 1 } : {}),
                  defaultQueuePolicy: {
                    timeoutAction: preserved ? 'REJECT' : (given.timeoutAction as 'REJECT'),
                    defaultTimeoutMicroseconds: given.defaultTimeoutMicroseconds,
                    maxQueueSize: given.maxQueueSize,
                  },
                },
          },
          given.instances.map((synchronous) => new ManualInstance(synchronous)),
        );
        const instances = harness.instances as ManualInstance[];
        const finished = new Set<ManualExecution>();
        const running = () =>
          instances.flatMap(({ executions }) => executions.filter((execution) => !finished.has(execution)));
        const settle = () => {
          pass();
          for (const instance of instances) {
            if (instance.synchronous) for (const execution of instance.executions) finished.add(execution);
            const busy = instance.executions.filter((execution) => !finished.has(execution));
            expect(busy.length).toBeLessThanOrEqual(given.concurrency);
          }
        };
        const sent: PendingRequest[] = [];
        const cancelled = new Set<string>();
        for (const each of steps) {
          if (each.kind === 'send') {
            sent.push(harness.send(String(sent.length), { rows: each.rows, priority: each.priority }));
          } else if (each.kind === 'finish') {
            const execution = running()[each.which % Math.max(1, running().length)];
            if (execution === undefined) continue;
            finished.add(execution);
            execution.finish(each.fails ? '0123456789' : '');
          } else if (each.kind === 'twice') {
            const execution = [...finished][each.which % Math.max(1, finished.size)];
            execution?.finish();
          } else if (each.kind === 'cancel') {
            const request = sent[each.which % Math.max(1, sent.length)];
            if (request === undefined) continue;
            cancelled.add(request.id);
            request.cancel();
          } else {
            pass(each.milliseconds);
          }
          settle();
          const idle = instances.some(
            (instance) => !running().some((execution) => instance.executions.includes(execution)),
          );
          // Nobody waits before an idle instance, unless a delay is to be waited out.
          if (given.delay === 0 || !given.batcher) expect(idle && harness.statistics.pending > 0).toBe(false);
        }
        harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
        for (const execution of running()) execution.finish();
        pass(1000);

        // Each ended once, in the order of the requests where that was promised.
        const answered = harness.answers.map((answer) => Number(answer.split(' ')[0]));
        expect(answered.toSorted((a, b) => a - b)).toEqual(sent.map((_, index) => index));
        const refused = harness.answers.filter((answer) => answer.includes('Exceeds maximum queue size')).length;
        if (preserved && given.batcher) {
          const inTurn = harness.answers.filter((answer) => !answer.includes('Exceeds maximum queue size'));
          const numbers = inTurn.map((answer) => Number(answer.split(' ')[0]));
          expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
        }
        for (const answer of harness.answers) {
          const [id = '', outcome] = answer.split(' ');
          if (outcome === 'CANCELLED') expect(cancelled.has(id)).toBe(true);
        }
        const ran = instances.flatMap(({ executions }) => executions.flatMap(({ batch }) => batch.map(({ id }) => id)));
        expect(new Set(ran).size).toBe(ran.length);
        for (const { batch } of instances.flatMap(({ executions }) => executions)) {
          expect(batch.reduce((sum, { rows }) => sum + rows, 0)).toBeLessThanOrEqual(4);
        }

        const { success, fail, queue, computeInput, computeInfer, computeOutput, failures, pending, batchStats } = {
          ...harness.statistics,
          ...harness.statistics.report('m', '1'),
        };
        expect(pending).toBe(0);
        expect(success.count + fail.count + refused).toBe(sent.length);
        expect(success.count).toBe(harness.answers.filter((answer) => answer.endsWith(' ok')).length);
        for (const { count } of [queue, computeInput, computeInfer, computeOutput]) expect(count).toBe(success.count);
        expect(Object.values(failures).reduce((sum, count) => sum + count, 0)).toBe(fail.count);
        expect(batchStats.reduce((sum, { computeInfer: { count } }) => sum + count, 0)).toBe(
          harness.statistics.executionCount,
        );
        expect(vi.getTimerCount()).toBe(0);
      }),
      { numRuns: 300 },
    );
  });
});
