/* oxlint-disable vitest/no-conditional-expect -- a property checks every step of a random sequence */
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import {
  fakeTime,
  type ManualExecution,
  ManualInstance,
  pass,
  SchedulerHarness,
} from '../../../test/support/scheduler-harness.js';
import { TritonError } from '../../errors.js';
import type { PendingRequest } from './pending-request.js';

beforeEach(() => {
  fakeTime();
});

afterEach(() => {
  vi.useRealTimers();
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
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('finish' as const),
      which: fc.nat(),
      fails: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('twice' as const), which: fc.nat() }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('cancel' as const), which: fc.nat() }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('pass' as const), milliseconds: fc.nat({ max: 30 }) }) },
);

const settings = fc.record({
  instances: fc.array(fc.constantFrom('waiting', 'computing', 'elsewhere'), { minLength: 1, maxLength: 3 }),
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
        const harness = new SchedulerHarness(
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
          given.instances.map((kind) => new ManualInstance(kind === 'computing', kind === 'elsewhere')),
        );
        const instances = harness.instances as ManualInstance[];
        const finished = new Set<ManualExecution>();
        const succeeded = new Set<string>();
        const ended = (execution: ManualExecution, failing = '') => {
          finished.add(execution);
          for (const { id } of execution.batch) if (!failing.includes(id)) succeeded.add(id);
        };
        const running = () =>
          instances.flatMap(({ executions }) => executions.filter((execution) => !finished.has(execution)));
        const settle = () => {
          pass();
          for (const instance of instances) {
            if (instance.synchronous) for (const execution of instance.executions) ended(execution);
            const busy = instance.executions.filter((execution) => !finished.has(execution));
            expect(busy.length).toBeLessThanOrEqual(given.concurrency);
          }
        };
        const sent: PendingRequest[] = [];
        const cancelled = new Set<string>();
        // Those whose answers waited for their turns. Statistics have the execution, which succeeded.
        const withdrawn = new Set<string>();
        for (const each of steps) {
          if (each.kind === 'send') {
            sent.push(harness.send(String(sent.length), { rows: each.rows, priority: each.priority }));
          } else if (each.kind === 'finish') {
            const execution = running()[each.which % Math.max(1, running().length)];
            if (execution === undefined) continue;
            const failing = each.fails ? '0123456789' : '';
            ended(execution, failing);
            execution.finish(failing);
          } else if (each.kind === 'twice') {
            const execution = [...finished][each.which % Math.max(1, finished.size)];
            execution?.finish();
          } else if (each.kind === 'cancel') {
            const request = sent[each.which % Math.max(1, sent.length)];
            if (request === undefined) continue;
            const isAnswered = harness.answers.some((answer) => answer.split(' ')[0] === request.id);
            if (succeeded.has(request.id) && !isAnswered) withdrawn.add(request.id);
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
          const inTurn = harness.answers.filter((answer) => !/Exceeds maximum queue size|CANCELLED/.test(answer));
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
          failures: harness.statistics.failures,
          pending: harness.statistics.pending,
          ...harness.statistics.report('m', '1'),
        };
        expect(pending).toBe(0);
        expect(success.count + fail.count + refused).toBe(sent.length);
        const succeededAnswers = harness.answers.filter((answer) => answer.endsWith(' ok')).length;
        expect(success.count).toBe(succeededAnswers + withdrawn.size);
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
