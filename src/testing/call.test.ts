import { describe, expect, expectTypeOf, it } from 'vitest';

import { batch } from '../callables/batch.js';
import { fillOptionals } from '../callables/fill-optionals.js';
import { firstValue } from '../callables/first-value.js';
import { sample } from '../callables/sample.js';
import { stream } from '../callables/stream.js';
import { TritonError } from '../errors.js';
import { defineModel, type CallableOf } from '../model/callable.js';
import { instanceGroup } from '../model/instance-group.js';
import type { SequenceEndReason } from '../model/sequence-batching.js';
import { Tensor } from '../tensor/tensor.js';
import { call } from './call.js';

const double = defineModel({
  modelName: 'Double',
  inputs: { x: { dtype: 'float32', shape: [-1] }, factor: { dtype: 'float32', shape: [1], optional: true } },
  outputs: { y: { dtype: 'float32', shape: [-1] }, rows: { dtype: 'int32', shape: [1] } },
  strict: true,
});
const doubling: CallableOf<typeof double> = fillOptionals(
  { factor: 2 },
  batch(
    firstValue(['factor'], ({ x, factor }) => ({
      y: x.map((value) => value * factor),
      rows: Array.from({ length: x.rowCount }, () => [x.rowCount]),
    })),
  ),
);
const doubled = { ...double, inferFunc: doubling };

const count = defineModel({
  modelName: 'Count',
  inputs: { to: { dtype: 'int32', shape: [1] } },
  outputs: { i: { dtype: 'int32', shape: [1] } },
  config: { decoupled: true },
  strict: true,
});

describe('a callable whose types say little', () => {
  const listed = defineModel({
    modelName: 'Listed',
    inputs: [{ dtype: 'float32', shape: [-1] }],
    outputs: [{ dtype: 'float32', shape: [-1] }],
    strict: true,
  });
  const answer = (outputs: (inputs: Record<string, Tensor>) => Tensor[]) =>
    call({ ...listed, inferFunc: batch(outputs) }, { INPUT_1: [1, 2] });

  it('serves a model with a list of inputs and outputs', async () => {
    expect((await answer((inputs) => Object.values(inputs))).OUTPUT_1.toNested()).toEqual([1, 2]);
  });

  it.each<[string, (inputs: Record<string, Tensor>) => Tensor[], RegExp]>([
    ['too few outputs', () => [], /OUTPUT_1/],
    ['too many outputs', ({ INPUT_1 }) => [INPUT_1!, INPUT_1!], /2 outputs/],
    ['another dtype', () => [Tensor.from('int32', [[1, 2]])], /int32/],
  ])('is told at the call of %s', async (_, outputs, message) => {
    await expect(answer(outputs)).rejects.toThrow(message);
  });
});

describe('call', () => {
  it('runs a decorated callable on one sample, without the batch axis', async () => {
    const { y, rows } = await call(doubled, { x: [1, 2] });
    expectTypeOf(y).toEqualTypeOf<Tensor<'float32'>>();
    expect([y.toNested(), rows.toNested()]).toEqual([[2, 4], [1]]);
    expect((await call(doubled, { x: Float32Array.of(1), factor: [5] })).y.toNested()).toEqual([5]);
    expect((await call(doubled, [[7]])).y.toNested()).toEqual([14]);
  });

  it('runs it on a batch, with the batch axis', async () => {
    const { y, rows } = await call(doubled, { x: [[1], [2], [3]] }, { batch: true });
    expect([y.toNested(), rows.toNested()]).toEqual([[[2], [4], [6]], [[3], [3], [3]]]); // prettier-ignore
  });

  it('hands parameters, id and requested outputs to the callable, and only those outputs back', async () => {
    const seen: unknown[] = [];
    const inferFunc: CallableOf<typeof double> = batch(({ x }, context) => {
      const { requests, modelConfig, rowParameters, requestedOutputs } = context;
      seen.push(requests[0]!.id, rowParameters, requestedOutputs, modelConfig.dynamicBatching);
      return { y: x, rows: undefined };
    });
    const config = { batcher: { maxQueueDelayMicroseconds: 60_000_000 } };
    const model = { ...double, inferFunc, config, strict: true };
    const options = { parameters: { user: 'a' }, requestId: '7', outputs: ['y'] } as const;
    expect(Object.keys(await call(model, { x: [1] }, options))).toEqual(['y']);
    // The queue delay is the server's business.
    expect(seen).toEqual([
      '7',
      [{ user: 'a' }],
      ['y'],
      expect.objectContaining({ maxQueueDelayMicroseconds: 60_000_000 }),
    ]);
  });

  it.each<[string, unknown, object, string]>([
    ['an unknown input', { z: [1] }, {}, "unexpected inference input 'z' for model 'Double'"],
    ['a missing one', {}, {}, "expected number of inputs between 1 and 2 but got 0 inputs for model 'Double'"],
    ['a sample for a batch', { x: [1] }, { batch: true }, 'inferBatch takes tensors with the batch axis first'],
    ['too many rows', { x: Array(9).fill([1]) }, { batch: true }, "inference request batch-size must be <= 4 for 'Double'"],
    ['an unknown output', { x: [1] }, { outputs: ['z'] }, "unexpected inference output 'z' for model 'Double'"],
    ['an unknown option', { x: [1] }, { output: ['y'] }, "call has an unknown option 'output'; did you mean 'outputs'?"],
  ])('refuses %s, as client and server do', async (_, inputs, options, message) => {
    await expect(call(doubled, inputs as never, options as never)).rejects.toMatchObject({
      code: 'INVALID_ARG',
      message: expect.stringContaining(message) as string,
    });
  }); // prettier-ignore

  it.each<[string, object, string]>([
    ['a model that bind refuses', { config: { batching: false } }, 'is decorated with batch, but the model has batching: false'],
    ['a misspelt option', { configs: {} }, "has an unknown option 'configs'"],
    ['nothing to call', { inferFunc: undefined }, 'must be a function, an object with a method'],
    ['an instance group', { inferFunc: instanceGroup('file:///m.js') }, 'call runs callables of this thread'],
  ])('refuses %s', async (_, changes, message) => {
    await expect(call({ ...doubled, ...changes } as never, { x: [1] } as never)).rejects.toThrow(message);
  }); // prettier-ignore

  it('checks outputs, and keeps what was thrown', async () => {
    const wrong = { ...double, inferFunc: batch(() => ({ yy: [[1]] })) as never };
    await expect(call(wrong, { x: [1] })).rejects.toThrow(
      "model 'Double' returned an output 'yy' that is not declared; did you mean 'y'?",
    );
    const thrown = new RangeError('no such row');
    const failing = {
      ...double,
      inferFunc: () => {
        throw thrown;
      },
    };
    await expect(call(failing, { x: [1] })).rejects.toMatchObject({ code: 'INTERNAL', cause: thrown });
    const refusing = { ...double, inferFunc: () => [new TritonError('INVALID_ARG', 'too small')] };
    await expect(call(refusing, { x: [1] })).rejects.toMatchObject({ code: 'INVALID_ARG', message: 'too small' });
  });

  it('takes every form of callable', async () => {
    class Model {
      readonly factor = 3;
      infer: CallableOf<typeof double> = (requests) =>
        requests.map(({ inputs }) => [inputs.x.map((value) => value * this.factor), [[1]]]);
      inverse(requests: Parameters<CallableOf<typeof double>>[0]) {
        return requests.map(({ inputs }) => [inputs.x.map((value) => value / this.factor), [[1]]] as const);
      }
    }
    const object = new Model();
    expect((await call({ ...double, inferFunc: object }, { x: [3] })).y.toNested()).toEqual([9]);
    expect((await call({ ...double, inferFunc: [object, object] }, { x: [3] })).y.toNested()).toEqual([9]);
    const named = { ...double, inferFunc: { object, method: 'inverse' } as const };
    expect((await call(named, { x: [3] })).y.toNested()).toEqual([1]);
    const alone = defineModel({ ...double, config: { batching: false } });
    const sampled = { ...alone, inferFunc: sample(({ x }) => [x, [1]]) as CallableOf<typeof alone> };
    expect((await call(sampled, { x: [3] })).y.toNested()).toEqual([3]);
  });

  it('sets the model up before and tears it down after', async () => {
    const events: string[] = [];
    const inferFunc: CallableOf<typeof double> = batch(({ x }) => {
      events.push('infer');
      return { y: x, rows: [[1]] };
    });
    const model = {
      ...double,
      inferFunc,
      setup: () => void events.push('setup'),
      teardown: async () => void events.push('teardown'),
    };
    await call(model, { x: [1] });
    expect(events).toEqual(['setup', 'infer', 'teardown']);
    const failing = { ...model, setup: () => Promise.reject(new Error('no weights')) };
    await expect(call(failing, { x: [1] })).rejects.toThrow("setup of model 'Double' failed: no weights");
    expect(events).toHaveLength(3);
  });

  it('keeps the state of a sequence, as a server does', async () => {
    const ends: string[] = [];
    const model = {
      ...double,
      config: {
        sequenceBatching: {
          state: () => ({ sum: 5 }),
          onEnd: ({ sum }: { sum: number }, reason: SequenceEndReason) => void ends.push(`${sum} ${reason}`),
        },
      },
      inferFunc: batch(({ x }, { sequences }) => {
        const state = sequences[0]!.state as { sum: number };
        return { y: [[(state.sum += x.data[0]!)]], rows: [[1]] };
      }) satisfies CallableOf<typeof double>,
    };
    const { y } = await call(model, { x: [2] }, { sequence: { id: 'a', start: true, end: true } });
    expect([y.toNested(), ends]).toEqual([[7], ['7 ended']]);
    await call(model, { x: [3] }, { sequence: { id: 'a', start: true } });
    expect(ends).toEqual(['7 ended', '8 unloaded']);
  });

  it('hands on what is logged', async () => {
    const lines: string[] = [];
    const logger = {
      error: (line: string) => void lines.push(line),
      warn: () => undefined,
      info: (line: string) => void lines.push(line),
      verbose: () => undefined,
    };
    const model = {
      ...double,
      inferFunc: ((_, context) => {
        context.logger.info('here');
        throw new RangeError('no such row');
      }) as CallableOf<typeof double>,
    };
    await expect(call(model, { x: [1] }, { logger })).rejects.toThrow('no such row');
    expect(lines).toEqual([
      "instance 0 of model 'Double': here",
      expect.stringMatching(/^instance 0 of model 'Double': the callable failed: RangeError: no such row\n +at /),
    ]);
  });

  it('is cancelled by its signal, as by a client that goes away', async () => {
    const controller = new AbortController();
    let seen: AbortSignal | undefined;
    const model = {
      ...double,
      // It never comes to an end, and nobody waits for that.
      inferFunc: ((_, { signal }) => {
        seen = signal;
        controller.abort();
        return new Promise(() => undefined);
      }) as CallableOf<typeof double>,
    };
    const cancelled = { code: 'CANCELLED', message: "the call of model 'Double' was cancelled" };
    await expect(call(model, { x: [1] }, { signal: controller.signal })).rejects.toMatchObject(cancelled);
    expect(seen!.aborted).toBe(true);
    await expect(call(doubled, { x: [1] }, { signal: AbortSignal.abort() })).rejects.toMatchObject(cancelled);
  });
});

describe('call of a decoupled model', () => {
  const counting = (events: string[] = []): CallableOf<typeof count> =>
    stream(async function* ({ to }, { signal }) {
      try {
        for (let i = 0; i < to.data[0]!; i++) yield { i: [[i]] };
      } finally {
        events.push(`ended, aborted: ${signal.aborted}`);
      }
    });

  it('gives the responses as they come', async () => {
    const seen: unknown[] = [];
    const responses = call({ ...count, inferFunc: counting() }, { to: [3] });
    expectTypeOf(responses).toEqualTypeOf<AsyncGenerator<{ readonly i: Tensor<'int32'> }, void, undefined>>();
    for await (const { i } of responses) seen.push(i.toNested());
    expect(seen).toEqual([[0], [1], [2]]);
  });

  it('ends the generator when the loop is left', async () => {
    const events: string[] = [];
    const model = { ...count, inferFunc: counting(events), teardown: () => void events.push('teardown') };
    for await (const { i } of call(model, { to: [1_000_000_000] })) {
      if (i.data[0] === 5) break;
    }
    expect(events).toEqual(['ended, aborted: true', 'teardown']);
  });

  it('fails where the generator does, after the responses before', async () => {
    const failing: CallableOf<typeof count> = stream(function* () {
      yield { i: [[1]] };
      throw new TritonError('UNAVAILABLE', 'no more today');
    });
    const seen: unknown[] = [];
    const all = async () => {
      for await (const { i } of call({ ...count, inferFunc: failing }, { to: [1] })) seen.push(i.toNested());
    };
    await expect(all()).rejects.toMatchObject({ code: 'UNAVAILABLE', message: 'no more today' });
    expect(seen).toEqual([[1]]);
  });

  it('gives one response of a callable that returns', async () => {
    const returning: CallableOf<typeof count> = (requests) => requests;
    const seen: unknown[] = [];
    for await (const { i } of call({ ...count, inferFunc: returning }, { to: [4] })) seen.push(i.toNested());
    expect(seen).toEqual([[4]]);
  });
});

describe('call of a model that calls others', () => {
  const words = defineModel({ ...count, modelName: 'Words' });
  const chaining: CallableOf<typeof double> = batch(async ({ x }, { modelOf }) => {
    const { y } = await modelOf(double).infer({ x });
    let responses = 0;
    for await (const { i } of modelOf(words).stream({ to: Tensor.from('int32', [[y!.data[0]!]]) }))
      responses += i!.rowCount;
    return { y, rows: [[responses]] };
  });
  const chain = { ...double, modelName: 'Chain', inferFunc: chaining };
  const counting: CallableOf<typeof words> = stream(function* ({ to }) {
    for (let i = 0; i < to.data[0]!; i++) yield { i: [[i]] };
  });

  it('knows those that it is given', async () => {
    const models = [doubled, { ...words, inferFunc: counting }];
    const { y, rows } = await call(chain, { x: [2] }, { models });
    expect([y.toNested(), rows.toNested()]).toEqual([[4], [4]]);
  });

  it('says which one is missing', async () => {
    await expect(call(chain, { x: [2] })).rejects.toThrow(
      "Request for unknown model: 'Double' is not found; a call knows the model that is called and its option models",
    );
  });

  it('refuses circles', async () => {
    const self = {
      ...double,
      inferFunc: (async (_, { models }) => {
        await models['Double']!.infer({});
        return [];
      }) as CallableOf<typeof double>,
    };
    await expect(call(self, { x: [1] })).rejects.toThrow('models call each other in a circle: Double → Double');
  });
});
