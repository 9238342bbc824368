// An instance and its callable's host with nothing but bytes between them, as on a socket: what they send must be plain data.
import { deserialize, serialize } from 'node:v8';

import { afterEach, describe, expect, it } from 'vitest';

import { wireTensor } from '../../test/support/infer-requests.js';
import { describeResult, executionRequest, outcomes, Run, type AnyCallable } from '../../test/support/instances.js';
import { TritonError } from '../errors.js';
import { hostedCallable } from '../host/callable-turns.js';
import type { Callable, InferenceContext, InferenceRequest } from '../model/callable.js';
import { completeModelConfig } from '../model/complete-model.js';
import { counter } from '../observability/metrics.js';
import type { ModelConfig } from '../model/model-config.js';
import { Tensor } from '../tensor/tensor.js';
import type { Channel } from './channel.js';
import { ChannelHost } from './channel-host.js';
import { ChannelInstance } from './channel-instance.js';
import type { HostChannel, InstanceChannel } from './messages.js';

/** One end of a stream of bytes; its messages arrive in later turns of the event loop. */
class ByteChannel<Sent, Received> implements Channel<Sent, Received> {
  other: ByteChannel<Received, Sent> | undefined;
  isClosed = false;
  receive: (message: Received) => void = () => undefined;
  #closed: () => void = () => undefined;

  post(message: Sent): void {
    const bytes = serialize(message);
    setImmediate(() => {
      if (!this.isClosed) this.other?.receive(deserialize(bytes) as Sent);
    });
  }

  onMessage(listener: (message: Received) => void): void {
    this.receive = listener;
  }

  onClose(listener: () => void): void {
    this.#closed = listener;
  }

  close(): void {
    if (this.isClosed) return;
    this.isClosed = true;
    setImmediate(() => this.#closed());
    this.other?.close();
  }

  now(): number {
    return performance.now();
  }
}

const SPEC = {
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
} as const;
const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };

const open: ChannelInstance[] = [];
afterEach(() => {
  for (const instance of open.splice(0)) instance.close();
});

function host(callable: AnyCallable, config: ModelConfig = {}): ChannelInstance {
  const complete = completeModelConfig({ modelName: 'm', ...SPEC, config }, 1);
  const near: ByteChannel<never, never> = new ByteChannel();
  const far: ByteChannel<never, never> = new ByteChannel();
  near.other = far;
  far.other = near;
  const instance = new ChannelInstance(complete, near as unknown as InstanceChannel);
  const own = hostedCallable(callable as Callable, complete.concurrency);
  new ChannelHost(far as unknown as HostChannel, complete, own, { logger: quiet });
  open.push(instance);
  return instance;
}

function x(...values: number[]) {
  return wireTensor('x', 'float32', Float32Array.from(values), [1, values.length]);
}

describe('an instance and its host across a stream of bytes', () => {
  it('have the results of a batch, with ids, parameters and metrics of its requests', async () => {
    const runs = counter({ name: 'runs', help: 'Runs.' });
    const instance = host((requests, context) => {
      context.metrics.add(runs, 1);
      const [first] = requests;
      if (first!.id !== 'a' || first!.parameters['big'] !== 2n ** 60n) throw new Error('not what was sent');
      return requests.map((request) => (request.id === 'b' ? new TritonError('NOT_FOUND', 'no b') : request));
    });
    const batch = [
      executionRequest([x(1, 2)], { id: 'a', parameters: { big: 2n ** 60n } }),
      executionRequest([x(3, 4)], { id: 'b' }),
    ];
    const metrics = await new Promise((resolve) => {
      instance.execute(batch, (results, _, update) => {
        expect(results.map(describeResult)).toEqual(['y FP32 [1,2] 1 2', 'NOT_FOUND no b']);
        resolve(update);
      });
    });
    expect(metrics).toMatchObject([{ metric: { name: 'runs' }, series: [{ added: 1 }] }]);
  });

  it('have the responses of a stream, as fast as their reader takes them', async () => {
    const instance = host(
      async function* () {
        for (let i = 0; i < 1000; i++) yield [{ y: new Tensor('float32', Float32Array.of(i), [1, 1]) }];
      },
      { decoupled: true },
    );
    const taken: number[] = [];
    await new Promise<void>((resolve) => {
      instance.execute([executionRequest([x(0)])], () => resolve(), {
        respond: async (_, [output]) => {
          taken.push(new Float32Array(output!.bytes.slice().buffer)[0]!);
        },
        end: () => void taken.push(-1),
        recordMetrics: () => undefined,
      });
    });
    expect(taken).toEqual([...Array.from({ length: 1000 }, (_, i) => i), -1]);
  });

  it('cancel requests, and call other models', async () => {
    let begin!: () => void;
    const begun = new Promise<void>((resolve) => (begin = resolve));
    const instance = host(async (requests: readonly InferenceRequest[], context: InferenceContext) => {
      const { z } = await context.models['other']!.infer({ x: requests[0]!.inputs['x']! });
      const { signal } = requests[0]!;
      const aborted = new Promise((resolve) => signal.addEventListener('abort', resolve));
      begin();
      await aborted;
      return [{ y: z! }];
    });
    instance.caller = ({ inputs }, sink) => {
      sink.answered([{ ...inputs[0]!, name: 'z' }]);
      return () => undefined;
    };
    const run = new Run(instance, [executionRequest([x(7)])]);
    await begun;
    run.execution.cancel(0);
    expect((await run.ended).results.map(describeResult)).toEqual(['y FP32 [1,1] 7']);
  });

  it('fail what runs when the other end closes', async () => {
    const instance = host(() => new Promise(() => undefined));
    const outcome = outcomes(instance, [executionRequest([x(1)])]);
    instance.close();
    expect(await outcome).toEqual(["UNAVAILABLE an instance of model 'm' ended while it was working on the request"]);
  });
});
