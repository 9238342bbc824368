import { MessageChannel, type MessagePort } from 'node:worker_threads';

import { afterEach, describe, expect, it } from 'vitest';

import { wireTensor } from '../../test/support/infer-requests.js';
import {
  describeResult,
  executionRequest,
  hostCallable,
  outcomes,
  Run,
  type AnyCallable,
  type HostedInstance,
} from '../../test/support/instances.js';
import type { ExecutionDone, ExecutionRequest } from '../core/instance/model-instance.js';
import type { Callable, InferenceContext, InferenceRequest } from '../model/callable.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { ModelConfig } from '../model/model-config.js';
import { Tensor } from '../tensor/tensor.js';
import { hostedCallable } from '../host/callable-turns.js';
import { RESPONSES, RESULTS } from './messages.js';
import { PortChannel } from './channel.js';
import { ChannelHost } from './channel-host.js';
import { ChannelInstance } from './channel-instance.js';

const SPEC = {
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
} as const;
const GONE = "UNAVAILABLE an instance of model 'm' ended while it was working on the request";

const open: HostedInstance[] = [];

afterEach(() => {
  for (const hosted of open.splice(0)) hosted.close();
});

function host(callable: AnyCallable, config: ModelConfig = {}): HostedInstance {
  const hosted = hostCallable('port', { ...SPEC, config }, callable);
  open.push(hosted);
  return hosted;
}

function x(values: number): ExecutionRequest {
  const tensor = wireTensor('x', 'float32', new Float32Array(values).fill(1), [1, values]);
  return executionRequest([tensor], { memory: [tensor.bytes.buffer as ArrayBuffer] });
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}

const echo: AnyCallable = (requests) => requests;

describe('ChannelInstance', () => {
  it('transfers large memory, which is gone for the sender, and copies what is small', async () => {
    const { instance } = host(echo);
    const [small, large] = [x(10), x(1_100_000)];
    const results = await outcomes(instance, [small, large]);
    expect(results[0]).toBe(`y FP32 [1,10] ${new Array(10).fill(1).join(' ')}`);
    expect(results[1]).toContain('y FP32 [1,1100000] 1 1');
    expect([small, large].map(({ memory }) => memory![0]!.byteLength)).toEqual([40, 0]);
  });

  it('keeps batches apart that overlap', async () => {
    const waiting: (() => void)[] = [];
    const wait = async (requests: readonly InferenceRequest[]) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return requests;
    };
    const { instance } = host(wait, { concurrency: 2 });
    const first = new Run(instance, [x(1)]);
    const second = new Run(instance, [x(2)]);
    while (waiting.length < 2) await new Promise((resolve) => setImmediate(resolve));
    waiting[1]!();
    expect((await second.ended).results.map(describeResult)).toEqual(['y FP32 [1,2] 1 1']);
    expect(first.done).toBe(0);
    waiting[0]!();
    expect((await first.ended).results.map(describeResult)).toEqual(['y FP32 [1,1] 1']);
  });

  it('fails what runs with UNAVAILABLE when it is closed, once, and whatever comes after at once', async () => {
    const { instance } = host(never);
    const run = new Run(instance, [x(1), x(1)]);
    (instance as ChannelInstance).close();
    const { results, times } = await run.ended;
    expect(results.map(describeResult)).toEqual([GONE, GONE]);
    expect(times.computeInfer).toBeGreaterThanOrEqual(0);
    const late = new Run(instance, [x(1)]);
    expect(late.done).toBe(1);
    expect((await late.ended).results.map(describeResult)).toEqual([GONE]);
    late.execution.cancel(0);
    expect(run.done).toBe(1);
  });

  it('fails what runs when the other end goes away, and whatever comes after', async () => {
    const config = completeModelConfig({ modelName: 'm', ...SPEC }, 1);
    const { port1, port2 } = new MessageChannel();
    const instance = new ChannelInstance(config, new PortChannel(port1));
    port2.on('message', () => port2.close());
    const run = new Run(instance, [x(1)]);
    expect((await run.ended).results.map(describeResult)).toEqual([GONE]);
    expect(await outcomes(instance, [x(1)])).toEqual([GONE]);
  });

  it('fails a batch that cannot be sent, and not those of the same turn', async () => {
    const { instance } = host(echo);
    const parameters = { text: () => 'not cloneable' } as never;
    const runs = [[x(1)], [{ ...x(1), parameters }], [x(2)]].map((batch) => new Run(instance, batch));
    const ended = await Promise.all(runs.map((run) => run.ended));
    expect(ended.flatMap(({ results }) => results.map(describeResult))).toEqual([
      'y FP32 [1,1] 1',
      expect.stringContaining('could not be cloned'),
      'y FP32 [1,2] 1 1',
    ]);
  });
});

describe('ChannelInstance and batches that it sends ahead', () => {
  /** Sends ahead a batch of one row with this many values. */
  function ahead({ instance }: HostedInstance, values: number) {
    const outcomesSoFar: string[] = [];
    let end!: () => void;
    const ended = new Promise<void>((resolve) => (end = resolve));
    const execution = instance.executeAhead!([x(values)], (results) => {
      outcomesSoFar.push(...results.map(describeResult));
      end();
    });
    return { execution, ended, outcomes: outcomesSoFar };
  }

  it('runs those of one turn one after the other, each with its own answer', async () => {
    const sizes: number[] = [];
    const hosted = host((requests) => {
      sizes.push(requests[0]!.inputs['x']!.data.length);
      return requests;
    });
    const first = new Run(hosted.instance, [x(1)]);
    const [second, third] = [ahead(hosted, 2), ahead(hosted, 3)];
    await Promise.all([first.ended, second.ended, third.ended]);
    expect(sizes).toEqual([1, 2, 3]);
    expect([second.outcomes, third.outcomes]).toEqual([['y FP32 [1,2] 1 1'], ['y FP32 [1,3] 1 1 1']]);
    expect(second.execution.takeBack()).toBe(false);
  });

  it('never runs one that was taken back, and uses its number for another', async () => {
    const sizes: number[] = [];
    const hosted = host((requests) => {
      sizes.push(requests[0]!.inputs['x']!.data.length);
      return requests;
    });
    const first = new Run(hosted.instance, [x(1)]);
    const [second, third] = [ahead(hosted, 2), ahead(hosted, 3)];
    expect(second.execution.takeBack()).toBe(true);
    expect(second.execution.takeBack()).toBe(false);
    const fourth = ahead(hosted, 4);
    await Promise.all([first.ended, third.ended, fourth.ended]);
    expect(sizes).toEqual([1, 3, 4]);
    expect([second.outcomes, fourth.outcomes]).toEqual([[], ['y FP32 [1,4] 1 1 1 1']]);
  });

  it('gives each to an asynchronous callable when that has ended the one before, unless it is taken back by then', async () => {
    const waiting: (() => void)[] = [];
    const hosted = host(async (requests: readonly InferenceRequest[]) => {
      await new Promise<void>((resolve) => waiting.push(resolve));
      return requests;
    });
    const first = new Run(hosted.instance, [x(1)]);
    const [second, third] = [ahead(hosted, 2), ahead(hosted, 3)];
    await expect.poll(() => waiting.length).toBe(1);
    expect(second.execution.takeBack()).toBe(true);
    const fourth = ahead(hosted, 4);
    waiting[0]!();
    await expect.poll(() => waiting.length).toBe(2);
    expect(third.execution.takeBack()).toBe(false);
    third.execution.cancel(0);
    waiting[1]!();
    await expect.poll(() => waiting.length).toBe(3);
    waiting[2]!();
    await Promise.all([first.ended, third.ended, fourth.ended]);
    expect([second.outcomes, third.outcomes]).toEqual([[], ['y FP32 [1,3] 1 1 1']]);
  });

  it('lets a callable use the memory of its outputs again', async () => {
    const memory = new Float32Array(1);
    const hosted = host((requests) => {
      memory[0] = requests[0]!.inputs['x']!.data.length;
      return [{ y: new Tensor('float32', memory, [1, 1]) }];
    });
    const first = new Run(hosted.instance, [x(1)]);
    const others = [2, 3, 4].map((values) => ahead(hosted, values));
    await Promise.all(others.map(({ ended }) => ended));
    expect((await first.ended).results.map(describeResult)).toEqual(['y FP32 [1,1] 1']);
    expect(others.flatMap((other) => other.outcomes)).toEqual([2, 3, 4].map((value) => `y FP32 [1,1] ${value}`));
  });

  it('has those back that had not begun when the other end went away', async () => {
    const config = completeModelConfig({ modelName: 'm', ...SPEC }, 1);
    const { port1, port2 } = new MessageChannel();
    const instance = new ChannelInstance(config, new PortChannel(port1));
    const hosted: HostedInstance = {
      instance,
      config,
      errors: [],
      infos: [],
      onUnrecoverable: undefined,
      close: () => instance.close(),
    };
    port2.on('message', () => port2.close());
    const first = new Run(instance, [x(1)]);
    const second = ahead(hosted, 2);
    const back: boolean[] = [];
    instance.onClosed = () => void back.push(second.execution.takeBack());
    expect((await first.ended).results.map(describeResult)).toEqual([GONE]);
    expect([back, second.outcomes]).toEqual([[true], []]);
  });
});

describe('ChannelInstance and the answers of a stream', () => {
  /** A batch of one, whose answers the test posts; `respond` may take its time. */
  function startStream(respond: () => void = () => undefined) {
    const config = completeModelConfig({ modelName: 'm', ...SPEC, config: { decoupled: true } }, 1);
    const { port1, port2 } = new MessageChannel();
    const instance = new ChannelInstance(config, new PortChannel(port1));
    open.push({
      instance,
      config,
      errors: [],
      infos: [],
      onUnrecoverable: undefined,
      close: () => (instance.close(), port2.close()),
    });
    const events: string[] = [];
    const ended = new Promise<void>((resolve) => {
      const done: ExecutionDone = (results) => {
        events.push(`done ${results.map(({ kind }) => kind).join()}`);
        resolve();
      };
      instance.execute([x(1)], done, {
        respond: () => (events.push('answer'), respond()),
        end: () => void events.push('end'),
        recordMetrics: () => undefined,
      });
    });
    return {
      events,
      ended,
      close: () => port2.close(),
      answer: () => port2.postMessage([RESPONSES, 0, new ArrayBuffer(0), [0, 0], undefined, undefined, undefined]),
      end: () => port2.postMessage([RESPONSES, 0, new ArrayBuffer(0), [0, -1], undefined, undefined, undefined]),
      finish: () => port2.postMessage([RESULTS, [[0, undefined, [['INTERNAL', '']], 0, 0]]]),
    };
  }

  it('lets the event loop turn while many of them come', async () => {
    const { answer, end, finish, ended, events } = startStream(() => {
      const until = performance.now() + 0.6;
      while (performance.now() < until);
    });
    for (let i = 0; i < 40; i++) answer();
    end();
    finish();
    let turns = 0;
    let over = false;
    const turn = () => void (over || (turns++, setImmediate(turn)));
    setImmediate(turn);
    await ended;
    over = true;
    expect(events).toHaveLength(42);
    // Two of them are more than a turn's share.
    expect(turns).toBeGreaterThan(15);
  });

  it('keeps their order, and that of the end, when some wait for a later turn', async () => {
    const { answer, end, finish, ended, events } = startStream(() => {
      const until = performance.now() + 2;
      while (performance.now() < until);
    });
    for (let i = 0; i < 3; i++) answer();
    end();
    finish();
    await ended;
    expect(events).toEqual(['answer', 'answer', 'answer', 'end', 'done error']);
  });

  it('hands on what has come before its instance ended', async () => {
    const { answer, close, ended, events } = startStream(() => {
      const until = performance.now() + 2;
      while (performance.now() < until);
    });
    for (let i = 0; i < 3; i++) answer();
    close();
    await ended;
    expect(events).toEqual(['answer', 'answer', 'answer', 'done error']);
  });
});

describe('ChannelHost', () => {
  const quiet = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };

  /** A host and the server's end of its port. */
  function startHost(callable: AnyCallable): { port: MessagePort; host: ChannelHost; next: () => Promise<unknown> } {
    const { port1, port2 } = new MessageChannel();
    const host = new ChannelHost(
      new PortChannel(port2),
      completeModelConfig({ modelName: 'm', ...SPEC }, 1),
      hostedCallable(callable as Callable, 1),
      { logger: quiet },
    );
    return { port: port1, host, next: () => new Promise((resolve) => port1.once('message', resolve)) };
  }

  it('answers a batch that it cannot read', async () => {
    const { port, host: portHost, next } = startHost(echo);
    port.postMessage([0, [[5, [new ArrayBuffer(3)]]]]);
    expect(await next()).toEqual([2, [[5, undefined, [['INTERNAL', expect.any(String)]], expect.any(Number), 0]]]);
    portHost.close();
  });

  it('ends a batch whose results it cannot send', async () => {
    // Looks like a tensor, but has a dimension that is no number.
    const fake = { __proto__: Tensor.prototype, dtype: 'float32', data: Float32Array.of(1), shape: [1, Symbol('n')] };
    const { instance } = host((requests) => (requests.length === 2 ? [{ y: fake }, {}] : requests));
    const results = await outcomes(instance, [x(1), x(1)]);
    expect(results[0]).toContain('INTERNAL');
    expect(await outcomes(instance, [x(1)])).toEqual(['y FP32 [1,1] 1']);
  });

  it('sends errors that are made by hand as far as they make sense', async () => {
    const thrown: unknown[] = [];
    const { instance } = host(() => {
      throw thrown.pop(); // oxlint-disable-line typescript/only-throw-error
    });
    const brand = Symbol.for('tstriton.TritonError');
    thrown.push({ [brand]: true, code: 'TEAPOT', message: 'short and stout' });
    expect(await outcomes(instance, [x(1)])).toEqual(['INTERNAL short and stout']);
    thrown.push({ [brand]: true, code: 'NOT_FOUND', message: () => 'not cloneable' });
    expect(await outcomes(instance, [x(1)])).toEqual([expect.stringContaining('NOT_FOUND')]);
  });

  it('aborts the signals of what runs when the server is gone', async () => {
    let signals: AbortSignal[] = [];
    let all: AbortSignal | undefined;
    const started = new Promise<void>((resolve) => {
      const { instance } = host((requests: readonly InferenceRequest[], context: InferenceContext) => {
        signals = requests.map(({ signal }) => signal);
        all = context.signal;
        resolve();
        return never();
      });
      void new Run(instance, [x(1), x(1)]);
    });
    await started;
    const aborted = new Promise((resolve) => all!.addEventListener('abort', resolve));
    open[0]!.close();
    await aborted;
    expect(signals.map((signal) => signal.aborted)).toEqual([true, true]);
  });

  it('begins the batch of another server when the callable has ended what the one before left to it', async () => {
    const config = completeModelConfig({ modelName: 'm', ...SPEC }, 1);
    const ends: (() => void)[] = [];
    const callable = hostedCallable(
      (async (requests: readonly InferenceRequest[]) => {
        await new Promise<void>((resolve) => ends.push(resolve));
        return requests;
      }) as Callable,
      1,
    );
    const connect = () => {
      const { port1, port2 } = new MessageChannel();
      const portHost = new ChannelHost(new PortChannel(port2), config, callable, { logger: quiet });
      const instance = new ChannelInstance(config, new PortChannel(port1));
      open.push({
        instance,
        config,
        errors: [],
        infos: [],
        onUnrecoverable: undefined,
        close: () => (instance.close(), portHost.close()),
      });
      return instance;
    };
    const dying = connect();
    const orphan = new Run(dying, [x(1)]);
    await expect.poll(() => ends.length).toBe(1);
    dying.close();
    expect((await orphan.ended).results.map(describeResult)).toEqual([GONE]);
    const next = new Run(connect(), [x(2)]);
    // The orphan's end goes nowhere; only now the next one begins.
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends.length).toBe(1);
    ends[0]!();
    await expect.poll(() => ends.length).toBe(2);
    ends[1]!();
    expect((await next.ended).results.map(describeResult)).toEqual(['y FP32 [1,2] 1 1']);
  });

  it('drops the results of a callable that ends after the server is gone', async () => {
    let finish!: () => void;
    const called = new Promise<void>((resolve) => {
      const hosted = host(async (requests) => {
        resolve();
        await new Promise<void>((settle) => (finish = settle));
        return requests;
      });
      void new Run(hosted.instance, [x(1)]);
    });
    await called;
    open[0]!.close();
    finish();
    await new Promise((resolve) => setImmediate(resolve));
    expect(open[0]!.errors).toEqual([]);
  });
});
