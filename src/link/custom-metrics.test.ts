import { afterEach, describe, expect, it } from 'vitest';

import { type AnyCallable, executionRequest, hostCallable, type HostedInstance } from '../../test/support/instances.js';
import type { ResponseStream } from '../core/instance/model-instance.js';
import { counter, type MetricsUpdate } from '../observability/metrics.js';

const calls = counter({ name: 'calls_total', help: 'Calls.' });
const TENSORS = {
  inputs: { x: { dtype: 'int32', shape: [1] } },
  outputs: { y: { dtype: 'int32', shape: [1] } },
} as const;
const request = executionRequest([{ name: 'x', datatype: 'INT32', shape: [1, 1], bytes: new Uint8Array(4) }]);

describe.each(['inline', 'port'] as const)('what a callable of an %s instance records', (kind) => {
  let hosted: HostedInstance | undefined;
  afterEach(() => hosted?.close());

  function host(callable: AnyCallable, decoupled = false) {
    hosted = hostCallable(kind, { ...TENSORS, config: { decoupled } }, callable);
    return hosted.instance;
  }

  /** Runs a batch of one; what came with its end, and before. `onMetrics` is told of what came before. */
  function run(instance: HostedInstance['instance'], decoupled = false, onMetrics: () => void = () => undefined) {
    const before: MetricsUpdate[] = [];
    const stream: ResponseStream = {
      respond: () => undefined,
      end: () => undefined,
      recordMetrics: (update) => {
        before.push(update);
        onMetrics();
      },
    };
    return new Promise<{ atEnd: MetricsUpdate | undefined; before: readonly MetricsUpdate[] }>((resolve) => {
      instance.execute([request], (_, __, atEnd) => resolve({ atEnd, before }), decoupled ? stream : undefined);
    });
  }

  const once = (amount: number): MetricsUpdate => [{ metric: calls, series: [{ labels: [], added: amount }] }];

  it('comes with the results of its batch, and nothing when it recorded nothing', async () => {
    let count = 2;
    const instance = host((requests, { metrics }) => {
      if (count > 0) metrics.add(calls, count);
      count -= 2;
      return requests;
    });
    expect((await run(instance)).atEnd).toEqual(once(2));
    expect((await run(instance)).atEnd).toBeUndefined();
  });

  it('comes with the failure of its batch too', async () => {
    const instance = host((_, { metrics }) => {
      metrics.add(calls, 1);
      throw new Error('as the test wants');
    });
    expect((await run(instance)).atEnd).toEqual(once(1));
  });

  it('comes with the next batch when it was recorded after the results', async () => {
    let later!: () => void;
    const instance = host((requests, { metrics }) => {
      later = () => metrics.add(calls, 5);
      return requests;
    });
    expect((await run(instance)).atEnd).toBeUndefined();
    later();
    expect((await run(instance)).atEnd).toEqual(once(5));
  });

  it('comes with the answers of a stream, before its end', async () => {
    let go!: () => void;
    const seen = new Promise<void>((resolve) => (go = resolve));
    const instance = host(async function* (requests, { metrics }) {
      metrics.add(calls, 1);
      yield requests;
      await seen;
      metrics.add(calls, 10);
    }, true);
    const { before, atEnd } = await run(instance, true, go);
    expect([...before, atEnd].filter((update) => update !== undefined)).toEqual([once(1), once(10)]);
  });

  it('fails its own request when the metric cannot take it', async () => {
    const instance = host((_, { metrics }) => {
      metrics.add(calls, -1);
      return [];
    });
    const results = await new Promise((resolve) => instance.execute([request], resolve));
    expect(results).toEqual([
      {
        kind: 'error',
        error: expect.objectContaining({
          message: expect.stringContaining("counter 'calls_total' can be added") as string,
        }) as unknown,
      },
    ]);
  });
});
