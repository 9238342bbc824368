// What a scheduler that chooses instances gets from the runner; the schedulers' own tests have the rest.

import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { fakeTime, ManualInstance } from '../../../test/support/scheduler-harness.js';
import { inferRequest } from '../../../test/support/infer-requests.js';
import { completeModelConfig } from '../../model/complete-model.js';
import { SILENT } from '../engine-logger.js';
import { PendingRequest } from './pending-request.js';
import { InferenceStatistics } from './statistics.js';
import { BatchRunner } from './batch-runner.js';
import type { Slot } from './instance-slots.js';
import { RequestOutcomes } from './request-outcomes.js';
import { SchedulerLog } from './scheduler-log.js';

beforeEach(fakeTime);
afterEach(() => void vi.useRealTimers());

/** A runner whose scheduler does nothing by itself. */
function start(instances: readonly ManualInstance[]) {
  const config = completeModelConfig({ modelName: 'm', inputs: {}, outputs: {} }, instances.length);
  const statistics = new InferenceStatistics();
  const log = new SchedulerLog(config, SILENT);
  const runner = new BatchRunner({
    config,
    statistics,
    log,
    outcomes: new RequestOutcomes(config, { statistics, log }),
  });
  const events: string[] = [];
  const ended: Slot[] = [];
  runner.scheduler = {
    enqueue: () => undefined,
    cancelled: () => undefined,
    dispatch: () => undefined,
    failQueued: () => undefined,
    instanceEnded: (slot) => void ended.push(slot),
  };
  runner.start(instances);
  const run = (id: string, slot: Slot) => {
    const request = new PendingRequest(
      inferRequest({ id }),
      { inputs: [], rows: 1 },
      {
        owner: { cancelled: () => undefined, ended: () => undefined },
        sink: {
          respond: () => void events.push(`${id} answered`),
          complete: () => undefined,
          fail: () => void events.push(`${id} failed`),
        },
        now: 0,
      },
    );
    runner.run(slot, { batch: [request], rows: 1, onEnded: () => void events.push(`${id} ended`) }, 0);
  };
  return { runner, run, events, ended };
}

describe('BatchRunner', () => {
  it('runs a batch on the instance that the scheduler chose, whosever turn it is', () => {
    const instances = [new ManualInstance(), new ManualInstance()];
    const { runner, run } = start(instances);
    const [first, second] = runner.slots;
    run('a', second!);
    expect(instances.map(({ batches }) => batches)).toEqual([[], ['a']]);
    expect([runner.hasRoom(first!), runner.hasRoom(second!)]).toEqual([true, false]);
    instances[1]!.last.finish();
    expect(runner.hasRoom(second!)).toBe(true);
  });

  it('gives a blocked instance no room', () => {
    const instance = new ManualInstance();
    const { runner } = start([instance, new ManualInstance()]);
    runner.blockInstance(instance, true);
    expect(runner.slots.map((slot) => runner.hasRoom(slot))).toEqual([false, true]);
  });

  it('tells that an execution has ended before it answers the requests', () => {
    const instance = new ManualInstance();
    const { runner, run, events } = start([instance]);
    run('a', runner.slots[0]!);
    instance.last.finish();
    instance.last.finish();
    expect(events).toEqual(['a ended', 'a answered']);
  });

  it('tells of the end of an instance once', () => {
    const instance = new ManualInstance();
    const { runner, ended } = start([instance]);
    const [slot] = runner.slots;
    runner.removeInstance(instance);
    runner.removeInstance(instance);
    expect(ended).toEqual([slot]);
    runner.close();
  });
});
