// What the scheduler tells the statistics: why batches went, how long requests waited, what became of each response.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fakeTime, ManualInstance, pass, SchedulerHarness, TIMES } from '../../../test/support/scheduler-harness.js';
import { TritonError } from '../../errors.js';
import { counter, type MetricsUpdate } from '../../observability/metrics.js';

const calls = counter({ name: 'calls_total', help: 'Calls.' });
const recorded = (added: number): MetricsUpdate => [{ metric: calls, series: [{ labels: [], added }] }];

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('the statistics of a scheduler', () => {
  it('have why each batch was released, its rows, and how long its requests waited', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({ batcher: { maxQueueDelayMicroseconds: 10_000 } }, [instance]);
    const { statistics } = harness;
    harness.sendAll('abcd');
    pass();
    instance.last.finish();
    harness.sendAll('e');
    pass(20);
    expect(instance.batches).toEqual(['abcd', 'e']);
    expect(statistics.releases).toEqual({ full: 1, preferred: 0, delay: 1, idle: 0, shape: 0, single: 0 });
    expect([statistics.batchRows.count, statistics.batchRows.sum]).toEqual([2, 5]);
    expect(statistics.queueWait.count).toBe(5);
    expect(statistics.queueWait.sum).toBeCloseTo(0.01, 6);
    // Whatever becomes of it.
    instance.last.finish('e');
    expect(statistics.queueWait.count).toBe(5);
    expect(statistics.report('m', '1')).toMatchObject({ executionCount: 2, success: { count: 4 }, fail: { count: 1 } });
  });

  it('have requests that the queue refused, apart from those that failed', () => {
    const harness = new SchedulerHarness({ batcher: { defaultQueuePolicy: { maxQueueSize: 1 } } }, []);
    harness.sendAll('abc');
    expect([...harness.statistics.refusals]).toEqual([['UNAVAILABLE', 2]]);
    expect(harness.statistics.report('m', '1').fail.count).toBe(0);
    expect(harness.statistics.pending).toBe(1);
    expect(harness.scheduler.instances).toBe(0);
  });

  it('have what callables recorded, of batches that were given up too', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({}, [instance]);
    harness.send('a');
    pass();
    instance.last.done([], TIMES, recorded(2));
    harness.send('b');
    pass();
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'Server exiting'));
    instance.last.done([], TIMES, recorded(3));
    expect(harness.statistics.custom.list().map(({ series }) => [...series].map(({ value }) => value))).toEqual([[5]]);
  });
});

describe('the statistics of the responses of a decoupled model', () => {
  function start(ids = 'a') {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({ decoupled: true }, [instance]);
    const requests = harness.sendAll(ids);
    pass();
    const stream = instance.last.stream!;
    return {
      harness,
      requests,
      stream,
      execution: instance.last,
      answer: (index = 0) => void stream.respond(index, [], undefined),
    };
  }

  /** Counts of each duration that has any, by index. */
  function counts(harness: SchedulerHarness) {
    return harness.statistics
      .report('m', '1')
      .responseStats.map((response) =>
        Object.fromEntries(
          Object.entries(response).flatMap(([name, { count }]) => (count === 0 ? [] : [[name, count]])),
        ),
      );
  }

  it('have each response, and that the stream ended with nothing further', () => {
    const { harness, stream, answer } = start();
    pass(5);
    answer();
    pass(3);
    answer();
    pass(1);
    stream.end(0);
    const one = { computeInfer: 1, computeOutput: 1, success: 1 };
    expect(counts(harness)).toEqual([one, one, { emptyResponse: 1 }]);
    const [first, second, last] = harness.statistics.report('m', '1').responseStats;
    expect([first!.computeInfer.ns, second!.computeInfer.ns, last!.emptyResponse.ns]).toEqual([5e6, 3e6, 1e6]);
    expect([harness.statistics.firstResponse.count, harness.statistics.firstResponse.sum]).toEqual([1, 0.005]);
  });

  it('have the time that a connection took for a response with that response, not with the next', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({ decoupled: true }, [instance]);
    harness.send('a', {
      sink: { respond: () => pass(20), complete: () => undefined, fail: () => undefined },
    });
    pass();
    for (let i = 0; i < 2; i++) {
      pass(5);
      void instance.last.stream!.respond(0, [], undefined);
    }
    const times = harness.statistics
      .report('m', '1')
      .responseStats.map(({ computeInfer, computeOutput, success }) => [computeInfer.ns, computeOutput.ns, success.ns]);
    expect(times).toEqual([
      [5e6, 20e6, 25e6],
      [5e6, 20e6, 25e6],
    ]);
  });

  it('have a stream without any response as one that ended at once', () => {
    const { harness, stream } = start();
    pass(2);
    stream.end(0);
    expect(counts(harness)).toEqual([{ emptyResponse: 1 }]);
    expect(harness.statistics.firstResponse.count).toBe(0);
  });

  it('have where a stream failed, and where its client went', () => {
    const { harness, requests, stream, answer } = start('ab');
    answer(0);
    pass(4);
    stream.end(0, new TritonError('INTERNAL', 'boom'));
    pass(6);
    requests[1]!.cancel();
    answer(1);
    stream.end(1);
    expect(counts(harness)).toEqual([{ computeInfer: 1, computeOutput: 1, success: 1, cancel: 1 }, { fail: 1 }]);
    const [first, second] = harness.statistics.report('m', '1').responseStats;
    expect([second!.fail.ns, first!.cancel.ns]).toEqual([4e6, 10e6]);
  });

  it('have nothing of requests that were never executed', () => {
    const harness = new SchedulerHarness({ decoupled: true }, []);
    harness.send('a').cancel();
    expect(counts(harness)).toEqual([]);
  });

  it('have what the callable recorded before its stream ended', () => {
    const { harness, stream } = start();
    stream.recordMetrics(recorded(1));
    expect(harness.statistics.custom.list()).toHaveLength(1);
  });

  it('are none of models that answer each request once', () => {
    const instance = new ManualInstance();
    const harness = new SchedulerHarness({}, [instance]);
    harness.sendAll('ab');
    pass();
    instance.last.finish('b');
    expect(counts(harness)).toEqual([]);
  });
});
