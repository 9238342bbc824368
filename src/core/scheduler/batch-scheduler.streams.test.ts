// The scheduler of a decoupled model: answers pass on as they come, each request ends by itself.
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fakeTime, ManualInstance, pass, SchedulerHarness, TIMES } from '../../../test/support/scheduler-harness.js';
import { TritonError } from '../../errors.js';
import type { ResponseSink } from '../response-sink.js';

/** A decoupled model with two running requests, a and b. */
function startStreams(sink?: ResponseSink) {
  const instance = new ManualInstance();
  const harness = new SchedulerHarness({ decoupled: true, batcher: { preserveOrdering: true } }, [instance]);
  const a = harness.send('a', sink === undefined ? {} : { sink });
  harness.send('b');
  pass();
  const stream = instance.last.stream!;
  const answer = (index: number) => void stream.respond(index, [], undefined);
  return { harness, a, stream, answer, execution: instance.last };
}

function sinkThat(respond: ResponseSink['respond'], log: string[] = []): ResponseSink {
  return {
    respond,
    complete: () => void log.push('complete'),
    fail: ({ code, message }) => void log.push(`${code} ${message}`),
  };
}

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.useRealTimers();
});

describe('BatchScheduler of a decoupled model', () => {
  it('hands answers on as they come, whatever the order of the requests, and ends each request once', () => {
    const { harness, stream, answer, execution } = startStreams();
    answer(1);
    answer(0);
    answer(1);
    stream.end(1);
    stream.end(1);
    answer(1);
    expect(harness.answers).toEqual(['b answer', 'a answer', 'b answer', 'b complete']);
    stream.end(0, new TritonError('INTERNAL', 'boom'));
    execution.done([], TIMES);
    expect(harness.answers.slice(4)).toEqual(['a INTERNAL boom']);
    expect(harness.ended).toEqual(['b', 'a']);
    expect(harness.statistics).toMatchObject({ executionCount: 1, inferenceCount: 1, failures: { BACKEND: 1 } });
    expect(harness.statistics.queue.count).toBe(harness.statistics.success.count);
  });

  it('counts the time from the dispatch to the end of each request', () => {
    const { harness, stream } = startStreams();
    pass(5);
    stream.end(0);
    pass(5);
    stream.end(1);
    expect(harness.statistics.report('m', '1')).toMatchObject({
      success: { count: 2, ns: 15e6 },
      computeInfer: { count: 2, ns: 15e6 },
    });
  });

  it('ends the requests that are left open when the execution is over', () => {
    const { harness, execution } = startStreams();
    execution.finish('b');
    expect(harness.answers).toEqual(['a complete', 'b INTERNAL asked to fail']);
  });

  it('hands the patience for a slow reader on to the callable', async () => {
    let read!: () => void;
    const reading = new Promise<void>((resolve) => (read = resolve));
    const { stream } = startStreams(sinkThat(() => reading));
    expect(stream.respond(0, [], undefined)).toBe(reading);
    expect(stream.respond(1, [], undefined)).toBeUndefined();
    read();
    await reading;
  });

  it('loses only the request whose sink cannot take an answer', () => {
    const log: string[] = [];
    const broken = sinkThat(() => {
      throw new Error('cannot encode');
    }, log);
    const { harness, stream, answer, execution } = startStreams(broken);
    answer(0);
    answer(0);
    answer(1);
    stream.end(0);
    expect(log).toEqual(['INTERNAL cannot encode']);
    expect(execution.cancelled).toEqual([0]);
    expect(harness.answers).toEqual(['b answer']);
    expect(harness.statistics.failures.OTHER).toBe(1);
  });

  it('tells the execution of a client that is gone, and drops what still comes for it', () => {
    const { harness, a, stream, answer, execution } = startStreams();
    answer(0);
    a.cancel();
    answer(0);
    stream.end(0);
    expect(execution.cancelled).toEqual([0]);
    expect(harness.answers).toEqual(['a answer', 'a CANCELLED']);
  });

  it('drops what comes after it stopped', () => {
    const { harness, stream, answer, execution } = startStreams();
    harness.scheduler.stop(new TritonError('UNAVAILABLE', 'gone'));
    answer(0);
    stream.end(1);
    execution.finish();
    expect(harness.answers).toEqual(['a UNAVAILABLE gone', 'b UNAVAILABLE gone']);
    expect(harness.statistics.success.count).toBe(0);
  });
});
