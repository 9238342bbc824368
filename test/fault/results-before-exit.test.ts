// A thread runs the batches of one message one after the other, and sends the results of fast ones together. When one of them ends
// the thread, the results of those before it are sent all the same: what was executed is answered.
import { once } from 'node:events';
import { MessageChannel, Worker } from 'node:worker_threads';

import { expect, it } from 'vitest';

import { completeModelConfig } from '../../src/model/complete-model.js';
import { ChannelInstance } from '../../src/link/channel-instance.js';
import { PortChannel } from '../../src/link/channel.js';
import type { ThreadData } from '../../src/link/thread-messages.js';
import { wireTensor } from '../support/infer-requests.js';
import { describeResult, executionRequest, Run } from '../support/instances.js';

const THREAD = new URL('../../dist/link/instance-thread.js', import.meta.url);
const MODULE = new URL('../fixtures/sync-exit.js', import.meta.url);
const EXIT = -1;
/** How many batches are executed before the one that exits. The results of the first one always wait. */
const COUNTS = [1, 2, 3, 20];
const GONE = "UNAVAILABLE an instance of model 'm' ended while it was working on the request";

it('is so when a callable exits', async () => {
  const executed = new Int32Array(new SharedArrayBuffer(4));
  const tensor = { dtype: 'int32', shape: [1] } as const;
  const spec = { modelName: 'm', inputs: { x: tensor }, outputs: { y: tensor }, config: { batching: false } };
  const config = completeModelConfig(spec, 1);
  for (const count of COUNTS) {
    const { port1, port2 } = new MessageChannel();
    const workerData: ThreadData = {
      url: MODULE.href,
      tsx: undefined,
      instance: 0,
      args: executed,
      config,
      verboseLevel: 0,
      traces: false,
      port: port2,
    };
    const thread = new Worker(THREAD, { workerData, transferList: [port2] });
    await once(thread, 'message');
    const exited = once(thread, 'exit');
    const instance = new ChannelInstance(config, new PortChannel(port1));
    const run = async (value: number) => {
      const { results } = await new Run(instance, [
        executionRequest([wireTensor('x', 'int32', Int32Array.of(value), [1])]),
      ]).ended;
      return describeResult(results[0]!);
    };
    // So that all code has run once.
    await Promise.all([run(1), run(2)]);
    Atomics.store(executed, 0, 0);
    const values = Array.from({ length: count }, (_, i) => 100 * count + i);
    const answers = await Promise.all([...values, EXIT, 7].map(run));
    expect(answers).toEqual([...values.map((value) => `y INT32 [1] ${2 * value}`), GONE, GONE]);
    expect(executed[0]).toBe(values.length);
    await exited;
  }
});
