import { describe, expect, it } from 'vitest';

import { InferenceStatistics } from './statistics.js';

const TIMES = { computeInput: 0.5, computeInfer: 2, computeOutput: 0.25 };

describe('the statistics of a model', () => {
  it('are all zero at first', () => {
    const none = { count: 0, ns: 0 };
    expect(new InferenceStatistics().report('m', '1')).toEqual({
      name: 'm',
      version: '1',
      lastInference: 0,
      inferenceCount: 0,
      executionCount: 0,
      success: none,
      fail: none,
      queue: none,
      computeInput: none,
      computeInfer: none,
      computeOutput: none,
      cacheHit: none,
      cacheMiss: none,
      responseStats: [],
      batchStats: [],
    });
  });

  it('count rows as inferences, batches as executions, and durations in nanoseconds', () => {
    const statistics = new InferenceStatistics();
    const before = Date.now();
    statistics.recordExecution(3, TIMES);
    statistics.recordSuccess(2, 10, 1, TIMES);
    statistics.recordSuccess(1, 12, 3, TIMES);
    const report = statistics.report('m', '1');
    expect(report).toMatchObject({
      inferenceCount: 3,
      executionCount: 1,
      success: { count: 2, ns: 22e6 },
      queue: { count: 2, ns: 4e6 },
      computeInput: { count: 2, ns: 1e6 },
      computeInfer: { count: 2, ns: 4e6 },
      computeOutput: { count: 2, ns: 5e5 },
      batchStats: [
        {
          batchSize: 3,
          computeInput: { count: 1, ns: 5e5 },
          computeInfer: { count: 1, ns: 2e6 },
          computeOutput: { count: 1, ns: 2.5e5 },
        },
      ],
    });
    expect(report.lastInference).toBeGreaterThanOrEqual(before);
  });

  it('list batch sizes in ascending order', () => {
    const statistics = new InferenceStatistics();
    for (const rows of [8, 2, 8, 16, 1]) statistics.recordExecution(rows, TIMES);
    expect(
      statistics.report('m', '1').batchStats.map(({ batchSize, computeInfer }) => [batchSize, computeInfer.count]),
    ).toEqual([
      [1, 1],
      [2, 1],
      [8, 2],
      [16, 1],
    ]);
  });

  it('hold together: as many queue times as successes, as many compute times as successes that were computed', () => {
    const statistics = new InferenceStatistics();
    statistics.recordSuccess(1, 10, 1, TIMES);
    statistics.recordCacheMiss(0.5);
    statistics.recordCacheHit(0.3, 0.1, 0.2);
    statistics.recordCacheHit(0.3, 0.1, 0.2);
    statistics.recordFailure('BACKEND', 4);
    const { success, queue, cacheHit, cacheMiss, fail, computeInput, computeInfer, computeOutput, inferenceCount } =
      statistics.report('m', '1');
    expect(queue.count).toBe(success.count);
    for (const compute of [computeInput, computeInfer, computeOutput]) {
      expect(compute.count).toBe(success.count - cacheHit.count);
    }
    expect([success.count, cacheHit, cacheMiss, fail, inferenceCount]).toEqual([
      3,
      { count: 2, ns: 4e5 },
      { count: 1, ns: 5e5 },
      { count: 1, ns: 4e6 },
      1,
    ]);
  });

  it('count failures and refusals by their reasons', () => {
    const statistics = new InferenceStatistics();
    statistics.recordFailure('CANCELED', 1);
    statistics.recordFailure('REJECTED', 1);
    statistics.recordFailure('REJECTED', 1);
    statistics.recordRefusal('INVALID_ARG');
    statistics.recordRefusal('UNAVAILABLE');
    statistics.recordRefusal('INVALID_ARG');
    expect(statistics.failures).toEqual({ REJECTED: 2, CANCELED: 1, BACKEND: 0, OTHER: 0 });
    expect([...statistics.refusals]).toEqual([
      ['INVALID_ARG', 2],
      ['UNAVAILABLE', 1],
    ]);
    expect(statistics.report('m', '1').fail.count).toBe(3);
  });

  it('tell of each response of a stream by its index, and how streams ended', () => {
    const statistics = new InferenceStatistics();
    const { responses } = statistics;
    responses.recordResponse(0, 5, 1);
    responses.recordResponse(0, 7, 1);
    responses.recordResponse(1, 2, 0.5);
    responses.recordEnd(1, 'fail', 3);
    responses.recordEnd(2, 'emptyResponse', 4);
    responses.recordEnd(0, 'cancel', 6);
    const none = { count: 0, ns: 0 };
    const empty = {
      computeInfer: none,
      computeOutput: none,
      success: none,
      fail: none,
      emptyResponse: none,
      cancel: none,
    };
    expect(statistics.report('m', '1').responseStats).toEqual([
      {
        ...empty,
        computeInfer: { count: 2, ns: 12e6 },
        computeOutput: { count: 2, ns: 2e6 },
        success: { count: 2, ns: 14e6 },
        cancel: { count: 1, ns: 6e6 },
      },
      {
        ...empty,
        computeInfer: { count: 1, ns: 2e6 },
        computeOutput: { count: 1, ns: 5e5 },
        success: { count: 1, ns: 2.5e6 },
        fail: { count: 1, ns: 3e6 },
      },
      { ...empty, emptyResponse: { count: 1, ns: 4e6 } },
    ]);
  });

  it('tell the first thousand responses of a stream apart', () => {
    const { responses } = new InferenceStatistics();
    for (let index = 0; index < 1010; index++) responses.recordResponse(index, 1, 1);
    responses.recordEnd(1010, 'emptyResponse', 1);
    expect(responses.report()).toHaveLength(1000);
  });
});

describe('what metrics show beyond the statistics', () => {
  it('are durations in seconds, waiting of what was executed, rows and reasons of batches', () => {
    const statistics = new InferenceStatistics();
    statistics.recordRelease('full', 8);
    statistics.recordRelease('idle', 1);
    statistics.recordDispatch(2);
    statistics.recordSuccess(1, 30, 2, TIMES);
    statistics.recordCacheHit(1, 0.5, 0.5);
    statistics.recordFirstResponse(1500);
    const { requestDuration, queueWait, batchRows, firstResponse, releases } = statistics;
    expect([requestDuration.count, requestDuration.sum]).toEqual([2, 0.031]);
    expect([queueWait.count, queueWait.sum]).toEqual([1, 0.002]);
    expect([batchRows.count, batchRows.sum]).toEqual([2, 9]);
    expect([firstResponse.count, firstResponse.sum]).toEqual([1, 1.5]);
    expect(releases).toEqual({ full: 1, preferred: 0, delay: 0, idle: 1, shape: 0, single: 0 });
  });

  it('keep quantiles only when asked', () => {
    expect(new InferenceStatistics().summaries).toBeUndefined();
    const statistics = new InferenceStatistics([{ quantile: 0.5, error: 0.05 }]);
    statistics.recordSuccess(1, 10.0019, 1, TIMES);
    statistics.recordCacheHit(1, 0.5, 0.25);
    statistics.recordCacheMiss(0.125);
    const { summaries } = statistics;
    const sums = Object.entries(summaries!).map(([name, { count, sum }]) => [name, count, sum]);
    expect(sums).toEqual([
      ['request', 1, 10_001],
      ['queue', 2, 1500],
      ['computeInput', 1, 500],
      ['computeInfer', 1, 2000],
      ['computeOutput', 1, 250],
      ['cacheHit', 1, 250],
      ['cacheMiss', 1, 125],
    ]);
    expect(summaries!.request.quantiles(performance.now())).toEqual([10_001]);
  });
});
