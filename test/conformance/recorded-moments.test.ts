import { describe, expect, it } from 'vitest';
import type { Arrival, RecordedOutcome, SchedulerCase } from './cases.js';
import { RecordedMoments } from './recorded-moments.js';

function arrival(id: string, at: number): Arrival {
  return { id, at_ms: at, rows: 1, run_ms: 100, via: 'grpc' };
}

function moments(
  arrivals: readonly Arrival[],
  executions: NonNullable<RecordedOutcome['executions']>,
  batching: SchedulerCase['config']['dynamic_batching'] = {},
): RecordedMoments {
  const testCase = { name: 'case', config: { max_batch_size: 4, dynamic_batching: batching }, arrivals };
  return new RecordedMoments(testCase, { executions });
}

const run = (id: string, start: number, end: number) => ({ batch: [[id, 1]], start_ms: start, end_ms: end }) as const;

describe('the moments of a recording', () => {
  it('are exact though each execution ended late and the next one began then', () => {
    const { executions } = moments([arrival('a', 0), arrival('b', 20)], [run('a', 0, 110), run('b', 110, 220)]);
    expect(executions).toEqual([
      { start: 0, end: 100 },
      { start: 100, end: 200 },
    ]);
  });

  it('are those of delays that are over', () => {
    const recorded = moments([arrival('a', 0)], [run('a', 510, 620)], { max_queue_delay_microseconds: 500_000 });
    expect(recorded.executions).toEqual([{ start: 500, end: 600 }]);
    expect(recorded.answer('a', 620)).toBe(600);
  });

  it('are those of timeouts for who was refused', () => {
    const policy = { default_queue_policy: { default_timeout_microseconds: 100_000 } };
    const recorded = moments([arrival('a', 0), arrival('b', 20)], [run('a', 0, 300)], policy);
    expect(recorded.answer('b', 130)).toBe(120);
  });

  it('stay as they are when nothing is near that could have caused them', () => {
    const recorded = moments([arrival('a', 0), arrival('b', 20)], [run('a', 0, 100), run('b', 580, 680)]);
    expect(recorded.executions[1]).toEqual({ start: 580, end: 680 });
  });

  it('are never those of a request that has nothing to do with them', () => {
    const recorded = moments(
      [arrival('a', 0), arrival('b', 20), arrival('c', 120)],
      [run('a', 0, 100), run('b', 120, 220), run('c', 220, 320)],
    );
    expect(recorded.executions[1]).toEqual({ start: 100, end: 200 });
  });
});
