import { describe, expect, it } from 'vitest';

import { bursts } from '../../bench/peers/arrivals.js';
import type { BatchingWorkload } from '../../bench/peers/batching-workloads.js';
import { disagreements, overtakers } from '../../bench/peers/comparison-rows.js';
import type { Fate, Outcome } from '../../bench/peers/play-arrivals.js';
import { countersSince } from '../../bench/peers/server-counters.js';
import type { ModelCounters } from '../../bench/peers/server-counters.js';

const arrivals = bursts(4, 1000).slice(0, 4);
const workload: BatchingWorkload = { name: 'w', about: '', config: {}, pbtxt: '', instances: 1, arrivals };

function outcome(place: number, execution: bigint | undefined, fate: Fate = 'answered'): Outcome {
  return { arrival: arrivals[0]!, fate, ms: 1, place, execution, answeredBefore: false };
}

/** What a server counts of two answers from one execution, one refusal of the model, and one timeout. */
function counters(changes: Partial<ModelCounters> = {}): ModelCounters {
  const counted = (count: number) => ({ count, ns: 0 });
  return {
    inferenceCount: 2,
    executionCount: 2,
    durations: {
      success: counted(2),
      fail: counted(2),
      queue: counted(2),
      compute_input: counted(2),
      compute_infer: counted(2),
      compute_output: counted(2),
      cache_hit: counted(0),
      cache_miss: counted(0),
    },
    batches: new Map([
      [1, 1],
      [2, 1],
    ]),
    metrics: {
      nv_inference_request_success: 2,
      nv_inference_count: 2,
      nv_inference_exec_count: 2,
      nv_cache_num_hits_per_model: 0,
      nv_cache_num_misses_per_model: 0,
      nv_inference_pending_request_count: 0,
    },
    failures: { REJECTED: 1, CANCELED: 0, BACKEND: 1, OTHER: 0 },
    ...changes,
  };
}

const OUTCOMES = [outcome(0, 7n), outcome(1, 7n), outcome(2, 8n, 'refused'), outcome(3, undefined, 'timeout')];

describe('overtakers', () => {
  it('are answers that came before one to an earlier request of another batch', () => {
    expect(overtakers([outcome(0, 1n), outcome(1, 2n)])).toBe(0);
    expect(overtakers([outcome(2, 1n), outcome(0, 2n), outcome(1, 2n)])).toBe(2);
    expect(overtakers([outcome(1, 1n), outcome(0, 1n)])).toBe(0);
  });
});

describe('disagreements', () => {
  it('are none where the counters are what the client saw', () => {
    expect(disagreements(workload, { outcomes: OUTCOMES, counters: counters() })).toEqual([]);
  });

  it('name each counter that is something else', () => {
    const wrong = counters({ executionCount: 3, batches: new Map([[2, 2]]), inferenceCount: 1 });
    expect(disagreements(workload, { outcomes: OUTCOMES, counters: wrong })).toEqual([
      'all of batch_stats 2 instead of 3',
      'nv_inference_count 2 instead of 1',
      'nv_inference_exec_count 2 instead of 3',
      'inference_count 1 instead of 2',
      'execution_count 3 instead of 2',
      'batch_stats 0 2 0 0 0 0 0 0 instead of 1 1 0 0 0 0 0 0',
    ]);
  });
});

describe('countersSince', () => {
  it('subtracts what was counted before, but shows a gauge as it is', () => {
    const pending = { ...counters().metrics, nv_inference_pending_request_count: 3 };
    const { inferenceCount, batches, metrics } = countersSince(counters(), counters({ metrics: pending }));
    expect(inferenceCount).toBe(0);
    expect(batches.size).toBe(0);
    expect(metrics.nv_inference_pending_request_count).toBe(3);
    expect(metrics.nv_inference_count).toBe(0);
  });
});
