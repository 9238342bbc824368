// Batches that lie ready at a callable behind a port, whichever side is quicker.
import { MessageChannel } from 'node:worker_threads';

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
import type { BatchOffer, ExecutionRequest, ExecutionResult } from '../core/instance/model-instance.js';
import { completeModelConfig } from '../model/complete-model.js';
import { BatchGate } from './batch-gate.js';
import { OFFER } from './messages.js';
import { PortInstance } from './port-instance.js';

const SPEC = {
  inputs: { x: { dtype: 'float32', shape: [-1] } },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
} as const;

const open: HostedInstance[] = [];

afterEach(() => {
  for (const hosted of open.splice(0)) hosted.close();
});

function host(callable: AnyCallable): PortInstance {
  const hosted = hostCallable('port', SPEC, callable);
  open.push(hosted);
  return hosted.instance as PortInstance;
}

function x(value: number, values = 1): ExecutionRequest {
  const tensor = wireTensor('x', 'float32', new Float32Array(values).fill(value), [1, values]);
  return executionRequest([tensor], { memory: [tensor.bytes.buffer as ArrayBuffer] });
}

/** A callable that ends each batch when it is told to. */
class Steps {
  /** The values of the batches that began, in order. */
  readonly began: number[] = [];
  readonly #ends: (() => void)[] = [];

  readonly infer: AnyCallable = async (requests) => {
    this.began.push(requests[0]!.inputs['x']!.data[0] as number);
    await new Promise<void>((resolve) => this.#ends.push(resolve));
    return requests;
  };

  /** Ends the batch that began first of those that run. */
  end(): void {
    this.#ends.shift()!();
  }

  async until(count: number): Promise<void> {
    while (this.began.length < count) await turn();
  }
}

function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** What becomes of a batch that has begun by itself. */
function accepted(offer: BatchOffer): Promise<string[]> {
  return new Promise((resolve) => {
    offer.accept((results: readonly ExecutionResult[]) => resolve(results.map(describeResult)));
  });
}

describe('a batch that lies ready behind one that runs', () => {
  it('begins by itself when the callable is free, before the server asks for anything', async () => {
    const steps = new Steps();
    const instance = host(steps.infer);
    const first = new Run(instance, [x(1)]);
    const offer = instance.offer([x(2), x(3)])!;
    await steps.until(1);
    await turn();
    expect(steps.began).toEqual([1]);
    steps.end();
    await first.ended;
    expect(offer.withdraw()).toBe(false);
    const second = accepted(offer);
    await steps.until(2);
    steps.end();
    expect(await second).toEqual(['y FP32 [1,1] 2', 'y FP32 [1,1] 3']);
  });

  it('begins by itself behind a callable that blocks its thread, whose message was never read meanwhile', async () => {
    const began: number[] = [];
    let offer: BatchOffer | undefined;
    const instance = host((requests) => {
      began.push(requests[0]!.inputs['x']!.data[0] as number);
      // Sent while the callable keeps the event loop.
      if (began.length === 2) offer = instance.offer([x(3)]);
      return requests;
    });
    // The first offer brings the gate along.
    await outcomes(instance, [x(1)]);
    expect(instance.offer([x(9)])!.withdraw()).toBe(true);
    await turn();
    expect(await outcomes(instance, [x(2)])).toEqual(['y FP32 [1,1] 2']);
    expect(offer!.withdraw()).toBe(false);
    expect(await accepted(offer!)).toEqual(['y FP32 [1,1] 3']);
    expect(began).toEqual([1, 2, 3]);
  });

  it('never begins once it is taken back, and the next one does', async () => {
    const steps = new Steps();
    const instance = host(steps.infer);
    const first = new Run(instance, [x(1)]);
    expect(instance.offer([x(2)])!.withdraw()).toBe(true);
    const next = instance.offer([x(3)])!;
    await steps.until(1);
    steps.end();
    await first.ended;
    expect(next.withdraw()).toBe(false);
    const third = accepted(next);
    await steps.until(2);
    steps.end();
    expect(await third).toEqual(['y FP32 [1,1] 3']);
    expect(steps.began).toEqual([1, 3]);
  });

  it('is forgotten when another batch comes instead', async () => {
    const steps = new Steps();
    const instance = host(steps.infer);
    const first = new Run(instance, [x(1)]);
    const offer = instance.offer([x(2)])!;
    await steps.until(1);
    expect(offer.withdraw()).toBe(true);
    steps.end();
    await first.ended;
    const second = new Run(instance, [x(4)]);
    await steps.until(2);
    steps.end();
    await second.ended;
    await turn();
    expect(steps.began).toEqual([1, 4]);
  });

  it('can be cancelled once it has begun', async () => {
    const signals: AbortSignal[] = [];
    let end: () => void = () => undefined;
    const instance = host(async (requests) => {
      signals.push(requests[0]!.signal);
      await new Promise<void>((resolve) => (end = resolve));
      return requests;
    });
    const first = new Run(instance, [x(1)]);
    const offer = instance.offer([x(2)])!;
    while (signals.length < 1) await turn();
    end();
    await first.ended;
    expect(offer.withdraw()).toBe(false);
    const execution = offer.accept(() => undefined);
    while (signals.length < 2) await turn();
    const aborted = new Promise((resolve) => signals[1]!.addEventListener('abort', resolve));
    execution.cancel(0);
    await aborted;
    end();
  });

  it('is never one whose memory would be handed over: that could not be taken back', () => {
    const instance = host((requests) => requests);
    const large = x(1, 1_100_000);
    expect(instance.offer([x(1), large])).toBeUndefined();
    expect(large.memory![0]!.byteLength).toBe(4_400_000);
  });

  it('counts as taken back when the instance is closed', () => {
    const steps = new Steps();
    const instance = host(steps.infer);
    void new Run(instance, [x(1)]);
    const offer = instance.offer([x(2)])!;
    instance.close();
    expect(offer.withdraw()).toBe(true);
    expect(instance.offer([x(3)])).toBeUndefined();
  });

  it('counts as taken back when the other side died before it told of the end of the batch before', async () => {
    const { port1, port2 } = new MessageChannel();
    const instance = new PortInstance(completeModelConfig({ modelName: 'm', ...SPEC }, 1), port1);
    port2.on('message', (message: unknown[]) => {
      if (message[0] !== OFFER) return;
      new BatchGate(message[4] as SharedArrayBuffer).takeAny();
      port2.close();
    });
    const first = new Run(instance, [x(1)]);
    const offer = instance.offer([x(2)])!;
    const closed = new Promise<boolean>((resolve) => (instance.onClosed = () => resolve(offer.withdraw())));
    expect(await closed).toBe(true);
    expect((await first.ended).results.map(describeResult)).toEqual([expect.stringContaining('UNAVAILABLE')]);
  });

  it('is refused like any batch that cannot be sent, and the next one is as good as the first', async () => {
    const steps = new Steps();
    const instance = host(steps.infer);
    const first = new Run(instance, [x(1)]);
    const parameters = { text: () => 'not cloneable' } as never;
    expect(() => instance.offer([{ ...x(2), parameters }])).toThrow('could not be cloned');
    const offer = instance.offer([x(3)])!;
    await steps.until(1);
    steps.end();
    await first.ended;
    expect(offer.withdraw()).toBe(false);
    const third = accepted(offer);
    await steps.until(2);
    steps.end();
    expect(await third).toEqual(['y FP32 [1,1] 3']);
  });
});
