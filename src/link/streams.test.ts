// Decoupled models: what a callable yields reaches the engine, through either kind of instance.
import { MessageChannel } from 'node:worker_threads';

import { afterEach, describe, expect, it } from 'vitest';

import { batch } from '../callables/batch.js';
import { groupByKeys } from '../callables/group-by-keys.js';
import { sample } from '../callables/sample.js';
import { stream } from '../callables/stream.js';
import type { ExecutionRequest, ModelInstance } from '../core/instance/model-instance.js';
import { TritonError } from '../errors.js';
import type { Callable } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { completeModelConfig } from '../model/complete-model.js';
import type { InferTensor } from '../model/exchange.js';
import { InferenceResponse } from '../model/inference-response.js';
import { mapOutputs } from '../model/map-outputs.js';
import type { Parameters } from '../model/parameters.js';
import { Tensor } from '../tensor/tensor.js';
import { hostedCallable } from '../host/callable-turns.js';
import { InlineInstance } from './inline-instance.js';
import { PortChannel } from './channel.js';
import { ChannelHost } from './channel-host.js';
import { ChannelInstance } from './channel-instance.js';

const LOGGER = { error: () => undefined, warn: () => undefined, info: () => undefined, verbose: () => undefined };

const CONFIG = completeModelConfig(
  {
    modelName: 'Count',
    inputs: { n: { dtype: 'int32', shape: [1] } },
    outputs: { i: { dtype: 'int32', shape: [1] } },
    config: { decoupled: true },
  },
  1,
);

const closers: (() => void)[] = [];
afterEach(() => closers.splice(0).forEach((close) => close()));

const KINDS: Readonly<
  Record<string, (config: CompleteModelConfig, callable: Callable<never, never, never>) => ModelInstance>
> = {
  'in this thread': (config, callable) =>
    new InlineInstance(config, hostedCallable(callable as unknown as Callable, config.concurrency), { logger: LOGGER }),
  'across a port': (config, callable) => {
    const { port1, port2 } = new MessageChannel();
    const host = new ChannelHost(
      new PortChannel(port1),
      config,
      hostedCallable(callable as unknown as Callable, config.concurrency),
      { logger: LOGGER },
    );
    const instance = new ChannelInstance(config, new PortChannel(port2));
    closers.push(() => (host.close(), instance.close()));
    return instance;
  },
};

function request(n: number): ExecutionRequest {
  const bytes = new Uint8Array(Int32Array.of(n).buffer);
  const input: InferTensor = { name: 'n', datatype: 'INT32', shape: [1, 1], bytes };
  return { id: '', parameters: undefined, inputs: [input], rows: 1, memory: undefined, requestedOutputs: [] };
}

interface Seen {
  readonly answers: number[][];
  readonly ends: (string | undefined)[];
  readonly codes: string[];
  readonly parameters: (Parameters | undefined)[];
}

/** Runs a batch of one request per number to its end. `respond` may make the callable wait. */
function run(instance: ModelInstance, numbers: readonly number[], respond?: (index: number) => Promise<void> | void) {
  const answers: number[][] = numbers.map(() => []);
  const ends: (string | undefined)[] = numbers.map(() => 'open');
  const codes: string[] = [];
  const parameters: (Parameters | undefined)[] = [];
  let cancel!: (index: number) => void;
  const done = new Promise<Seen>((resolve) => {
    const execution = instance.execute(
      numbers.map(request),
      (results) => {
        results.forEach((result, index) => {
          if (result.kind !== 'error' || ends[index] !== 'open') return;
          ends[index] = result.error.message;
          codes.push(result.error.code);
        });
        resolve({ answers, ends, codes, parameters });
      },
      {
        respond: (index, outputs, more) => {
          const { bytes } = outputs[0]!;
          answers[index]!.push(new DataView(bytes.buffer, bytes.byteOffset).getInt32(0, true));
          parameters.push(more?.parameters);
          if (more?.final === true) ends[index] = 'final';
          return respond?.(index);
        },
        end: (index, error) => {
          expect(ends[index]).toBe('open');
          ends[index] = error?.message;
          if (error !== undefined) codes.push(error.code);
        },
        recordMetrics: () => undefined,
      },
    );
    cancel = (index) => execution.cancel(index);
  });
  return { done, cancel };
}

describe.each(Object.keys(KINDS))('a decoupled model %s', (kind) => {
  const make = (callable: unknown) => KINDS[kind]!(CONFIG, callable as Callable<never, never, never>);

  it('gives each request its own stream with its own end', async () => {
    const instance = make(
      stream(async function* ({ n }: { n: Tensor<'int32'> }) {
        for (let i = 0; i < n.data[0]!; i++) yield { i: [[i]] };
      } as never),
    );
    expect(await run(instance, [3, 0, 1]).done).toMatchObject({
      answers: [[0, 1, 2], [], [0]],
      ends: [undefined, undefined, undefined],
    });
  });

  it('runs a synchronous generator too, and thousands of answers', async () => {
    const instance = make(
      stream(function* ({ n }: { n: Tensor<'int32'> }) {
        for (let i = 0; i < n.data[0]!; i++) yield [[[i]]];
      } as never),
    );
    const { answers } = await run(instance, [5000]).done;
    expect(answers[0]).toEqual(Array.from({ length: 5000 }, (_, i) => i));
  });

  it('ends a request with the response that says it is the final one, and its generator too', async () => {
    const cleaned: number[] = [];
    const instance = make(
      stream(async function* ({ n }: { n: Tensor<'int32'> }) {
        try {
          for (let i = 0; ; i++) yield new InferenceResponse({ i: [[i]] }, { final: i === n.data[0]! });
        } finally {
          cleaned.push(n.data[0]!);
        }
      } as never),
    );
    expect(await run(instance, [2, 0, 1]).done).toMatchObject({
      answers: [[0, 1, 2], [0], [0, 1]],
      ends: ['final', 'final', 'final'],
    });
    expect(cleaned.sort((a, b) => a - b)).toEqual([0, 1, 2]);
  });

  it('goes on for the other requests of a list after the final response to one', async () => {
    const instance = make(function* () {
      yield [new InferenceResponse({ i: [[1]] }, { final: true }), { i: [[2]] }];
      yield [{ i: [[9]] }, { i: [[3]] }];
    });
    expect(await run(instance, [0, 0]).done).toMatchObject({ answers: [[1], [2, 3]], ends: ['final', undefined] });
  });

  it('ends all requests of a batch with a batched step that is the final one', async () => {
    const instance = make(
      batch(function* ({ n }: { n: Tensor<'int32'> }) {
        yield { i: n };
        yield new InferenceResponse({ i: n.map((value) => -value) }, { final: true });
        yield { i: n };
      } as never),
    );
    expect(await run(instance, [1, 2]).done).toMatchObject({
      answers: [
        [1, -1],
        [2, -2],
      ],
      ends: ['final', 'final'],
    });
  });

  it('ends with the final response under sample, and under a decorator that maps outputs', async () => {
    const doubled = (inputs: { n: Tensor<'int32'> }, context: never) =>
      mapOutputs(
        (function* () {
          yield { i: inputs.n };
          yield new InferenceResponse({ i: inputs.n }, { final: true, parameters: { last: true } });
          yield { i: inputs.n };
        })() as never,
        context,
        ({ i }: { i: Tensor<'int32'> }) => ({ i: i.map((value) => 2 * value) }),
      );
    const seen = await run(make(stream(doubled as never)), [4]).done;
    expect(seen).toMatchObject({ answers: [[8, 8]], ends: ['final'], parameters: [undefined, { last: true }] });
    const one = sample(() => new InferenceResponse({ i: [7] }, { final: true }) as never);
    expect(await run(make(one), [0]).done).toMatchObject({ answers: [[7]], ends: ['final'] });
  });

  it('hands the rows of a batched step back to their requests', async () => {
    const instance = make(
      batch(async function* ({ n }: { n: Tensor<'int32'> }) {
        yield { i: n };
        yield { i: n.map((value) => value * 10) };
      } as never),
    );
    expect(await run(instance, [1, 2]).done).toMatchObject({
      answers: [
        [1, 10],
        [2, 20],
      ],
      ends: [undefined, undefined],
    });
  });

  it('takes undefined for no answer, an error for the end of one request, and response parameters', async () => {
    const instance = make(function* () {
      yield [{ i: [[1]] }, undefined];
      yield [undefined, new TritonError('INVALID_ARG', 'no more')];
      yield [new InferenceResponse({ i: [[2]] }, { parameters: { last: true } }), { i: [[9]] }];
    });
    expect(await run(instance, [0, 0]).done).toEqual({
      answers: [[1, 2], []],
      ends: [undefined, 'no more'],
      codes: ['INVALID_ARG'],
      parameters: [undefined, { last: true }],
    });
  });

  it('fails only the request whose stream threw', async () => {
    const instance = make(
      stream(async function* ({ n }: { n: Tensor<'int32'> }) {
        yield { i: n };
        if (n.data[0] === 2) throw new Error('two is too many');
      } as never),
    );
    expect(await run(instance, [1, 2]).done).toMatchObject({
      answers: [[1], [2]],
      ends: [undefined, 'two is too many'],
    });
  });

  it('fails every open request when the whole batch threw', async () => {
    const instance = make(function* () {
      yield [{ i: [[1]] }, { i: [[2]] }];
      throw new Error('out of tokens');
    });
    expect(await run(instance, [1, 2]).done).toMatchObject({
      answers: [[1], [2]],
      ends: ['out of tokens', 'out of tokens'],
    });
  });

  const plusTen = ({ n }: { n: Tensor<'int32'> }) => ({ i: n.map((value) => value + 10) });
  it.each<[string, unknown]>([
    ['a list of results', (requests: { inputs: never }[]) => requests.map(({ inputs }) => plusTen(inputs))],
    ['a promise of it', async (requests: { inputs: never }[]) => requests.map(({ inputs }) => plusTen(inputs))],
    ['a list of promises', (requests: { inputs: never }[]) => requests.map(async ({ inputs }) => plusTen(inputs))],
    ['outputs under stream', stream(plusTen as never)],
    ['a promise of outputs under stream', stream((async (inputs: never) => plusTen(inputs)) as never)],
    ['a list of outputs under stream', stream(((inputs: never) => [plusTen(inputs).i]) as never)],
    ['outputs under batch', batch(plusTen as never)],
    ['a promise of outputs under batch', batch((async (inputs: never) => plusTen(inputs)) as never)],
    ['outputs under groupByKeys', groupByKeys(batch(plusTen as never) as never)],
  ])('takes %s that is returned for the only response', async (_, callable) => {
    expect(await run(make(callable), [1, 2]).done).toMatchObject({
      answers: [[11], [12]],
      ends: [undefined, undefined],
    });
  });

  it('fails the request whose promise is rejected alone, where promises are returned', async () => {
    const instance = make((requests: { inputs: { n: Tensor<'int32'> } }[]) =>
      requests.map(async ({ inputs: { n } }) => {
        if (n.data[0] === 2) throw new TritonError('INVALID_ARG', 'not two');
        return { i: n };
      }),
    );
    expect(await run(instance, [1, 2, 3]).done).toMatchObject({
      answers: [[1], [], [3]],
      ends: [undefined, 'not two', undefined],
    });
  });

  it('takes a mistake with a tensor for the callable’s own', async () => {
    const instance = make(
      stream(async function* ({ n }: { n: Tensor<'int32'> }) {
        yield { i: n };
        yield { i: n.reshape([7]) };
      }),
    );
    expect(await run(instance, [1]).done).toMatchObject({
      ends: ['unexpected number of elements for a tensor of shape [7]. Expected 7, got 1'],
      codes: ['INTERNAL'],
    });
  });

  it.each([
    ['too few results', () => [], "model 'Count' returned 0 results for 1 requests, expected one result per request"],
    ['undefined', () => undefined, "model 'Count' must return a list with one result per request, got undefined"],
    [
      'undefined under stream',
      stream((() => undefined) as never),
      "model 'Count' returned undefined, expected a record",
    ],
  ])('says so when the callable returned %s', async (_, callable, message) => {
    expect((await run(make(callable), [1]).done).ends).toEqual([expect.stringContaining(message)]);
  });

  it('refuses promises in a step, and those that are rejected are nobody else’s', async () => {
    const instance = make(async function* (requests: readonly unknown[]) {
      yield requests.map(() => Promise.reject(new Error('not seen')));
    } as never);
    const { ends } = await run(instance, [1, 1]).done;
    // A rejection that nobody takes would fail this file.
    await new Promise((resolve) => setImmediate(resolve));
    expect(ends).toEqual(Array(2).fill(expect.stringContaining('await it')));
  });

  it('lets a buffer be used again between answers', async () => {
    const instance = make(
      stream(async function* ({ n }: { n: Tensor<'int32'> }) {
        const reused = new Tensor('int32', Int32Array.of(0), [1, 1]);
        for (let i = 0; i < n.data[0]!; i++) {
          reused.data[0] = i;
          yield { i: reused };
        }
      } as never),
    );
    expect((await run(instance, [4]).done).answers).toEqual([[0, 1, 2, 3]]);
  });

  it('stops the generator of a slow reader, and goes on when it reads', async () => {
    let yielded = 0;
    const instance = make(
      stream(async function* ({ n }: { n: Tensor<'int32'> }) {
        for (let i = 0; i < n.data[0]!; i++) {
          yielded++;
          yield { i: [[i]] };
        }
      } as never),
    );
    const reads: (() => void)[] = [];
    const { done } = run(instance, [2000], () => new Promise<void>((resolve) => reads.push(resolve)));
    await expect.poll(() => yielded).toBeGreaterThan(0);
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    const waitingAt = yielded;
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    expect(yielded).toBe(waitingAt);
    expect(yielded).toBeLessThan(600);
    let over = false;
    void done.then(() => (over = true));
    while (!over) {
      reads.splice(0).forEach((read) => read());
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect(yielded).toBe(2000);
  });

  it('ends a generator whose client is gone, and lets it clean up', async () => {
    let cleaned = false;
    let aborted = false;
    const instance = make(
      stream(async function* (_inputs: unknown, { signal }: { signal: AbortSignal }) {
        try {
          for (let i = 0; ; i++) {
            yield { i: [[i]] };
            await new Promise((resolve) => setImmediate(resolve));
            aborted = signal.aborted;
          }
        } finally {
          cleaned = true;
        }
      } as never),
    );
    const { done, cancel } = run(instance, [1]);
    await new Promise((resolve) => setImmediate(resolve));
    cancel(0);
    await done;
    expect({ cleaned, aborted }).toEqual({ cleaned: true, aborted: true });
  });

  it('works under sample', async () => {
    const instance = KINDS[kind]!(
      { ...CONFIG, maxBatchSize: 1 },
      sample(function* ({ n }: { n: Tensor<'int32'> }) {
        yield { i: n };
        yield { i: [7] };
      } as never) as never,
    );
    expect((await run(instance, [5]).done).answers).toEqual([[5, 7]]);
  });
});
