import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';

import { inferRequest } from '../../test/support/infer-requests.js';
import { fakeTime, ManualInstance, pass } from '../../test/support/scheduler-harness.js';
import { completeModelConfig } from '../model/complete-model.js';
import { Model } from './model.js';
import { dynamicBatching } from './scheduler/batch-scheduler.js';

beforeEach(fakeTime);
afterEach(() => void vi.useRealTimers());

describe('Model', () => {
  it('finishes what it has accepted, and waits its delays out, when it accepts no more', async () => {
    const instance = new ManualInstance();
    const batcher = { maxQueueDelayMicroseconds: 50_000 };
    const spec = { modelName: 'm', inputs: {}, outputs: {}, config: { maxBatchSize: 4, batcher } };
    const model = new Model(completeModelConfig(spec, 1), dynamicBatching);
    model.addInstance(instance);
    const answers: string[] = [];
    const send = (id: string) =>
      model.infer(inferRequest({ id }), {
        respond: () => void answers.push(`${id} ok`),
        complete: () => undefined,
        fail: ({ code, message }) => void answers.push(`${id} ${code} ${message}`),
      });
    send('a');
    pass(10);
    const drained = model.drain();
    send('b');
    send('');
    const text = 'Server is stopping, scheduler for model has stopped accepting new inference requests';
    expect(answers).toEqual([
      `b UNAVAILABLE [request id: b] ${text}`,
      ` UNAVAILABLE [request id: <id_unknown>] ${text}`,
    ]);
    pass(39);
    expect(instance.batches).toEqual([]);
    pass(1);
    instance.last.finish();
    await drained;
    expect(answers[2]).toBe('a ok');
    expect(model.statistics.fail.count).toBe(0);
  });
});
