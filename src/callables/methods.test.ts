// Decorators on methods, and around functions that need an object: `this` reaches the innermost function.

import { describe, expect, it } from 'vitest';

import { allSteps, callDecorated, requestOf, type Tensors } from '../../test/support/decorated-call.js';
import type { InferenceContext, ModelSpec } from '../model/callable.js';
import { marksOf } from '../model/decorated.js';
import type { RequestGroups, RequestStreams } from '../model/steps.js';
import { Tensor } from '../tensor/tensor.js';
import { batch } from './batch.js';
import { fillOptionals } from './fill-optionals.js';
import { firstValue } from './first-value.js';
import { groupByKeys } from './group-by-keys.js';
import { groupByValues } from './group-by-values.js';
import { padBatch } from './pad-batch.js';
import { sample } from './sample.js';
import { stream } from './stream.js';

const SPEC: ModelSpec = {
  modelName: 'm',
  inputs: {
    x: { dtype: 'float32', shape: [1] },
    k: { dtype: 'int32', shape: [1], optional: true },
    o: { dtype: 'int32', shape: [1], optional: true },
  },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { maxBatchSize: 8, batcher: { preferredBatchSize: [8] } },
};

type AnyFunc = (this: unknown, inputs: Tensors, context: InferenceContext) => unknown;
type Decorate = (fn: AnyFunc) => unknown;

/** Decorators with one function for their argument, as JavaScript calls them on a method. */
const METHOD = { kind: 'method', name: 'infer' } as ClassMethodDecoratorContext;

const around = (decorator: unknown, fn: unknown) => (decorator as (fn: unknown) => never)(fn);

const DECORATED: Readonly<Record<string, Decorate>> = {
  batch: (fn) => around(batch, fn),
  groupByKeys: (fn) => around(groupByKeys, around(batch, fn)),
  fillOptionals: (fn) => fillOptionals({ o: 1 }, around(batch, fn) as never),
  groupByValues: (fn) => around(batch, groupByValues(['k'] as never, fn as never)),
  padBatch: (fn) => around(batch, around(padBatch, fn)),
  firstValue: (fn) => around(batch, firstValue(['x'] as never, fn as never, { strict: false })),
  'all of them': (fn) =>
    fillOptionals(
      { o: 1 },
      around(
        groupByKeys,
        around(
          batch,
          groupByValues(['k'] as never, around(padBatch, firstValue(['x'] as never, fn as never, { strict: false }))),
        ),
      ),
    ),
};

const row = (value: number, more: Tensors = {}) => requestOf({ x: Tensor.from('float32', [[value]]), ...more });
const key = (value: number) => ({ k: Tensor.from('int32', [[value]]) });

describe('this in the function under decorators', () => {
  const seen = (): { readonly objects: unknown[]; readonly fn: AnyFunc } => {
    const objects: unknown[] = [];
    const fn: AnyFunc = function (inputs) {
      objects.push(this);
      return { y: inputs['x'] instanceof Tensor ? inputs['x'] : Object.values(inputs)[1] };
    };
    return { objects, fn };
  };

  it.each(Object.keys(DECORATED))('is what the function was called on, under %s', async (name) => {
    const { objects, fn } = seen();
    const object = { infer: DECORATED[name]!(fn) as AnyFunc };
    const requests = [row(1, key(1)), row(2, key(2)), row(3)];
    // Without groupByKeys, requests of a batch have the same inputs.
    const alike = name === 'groupByKeys' || name === 'all of them' ? requests : requests.slice(0, 2);
    await (callDecorated((r: never, c: never) => object.infer(r, c), alike, SPEC).result as unknown);
    expect(objects.length).toBeGreaterThan(0);
    expect(new Set(objects)).toEqual(new Set([object]));
  });

  it.each(Object.keys(DECORATED))('is undefined where there was none, under %s', async (name) => {
    const { objects, fn } = seen();
    await (callDecorated(DECORATED[name]!(fn), [row(1, key(1)), row(2, key(2))], SPEC).result as unknown);
    expect(objects.length).toBeGreaterThan(0);
    expect(new Set(objects)).toEqual(new Set([undefined]));
  });

  it('is there under sample', () => {
    const { objects, fn } = seen();
    const object = { infer: around(sample, fn) as AnyFunc };
    callDecorated((r: never, c: never) => object.infer(r, c), [row(1)], { ...SPEC, config: { maxBatchSize: 1 } });
    expect(objects).toEqual([object]);
  });

  it('is there under stream, and when groups start later', async () => {
    const spec = { ...SPEC, config: { decoupled: true } };
    const objects: unknown[] = [];
    const generator = async function* (this: unknown, { x }: Tensors) {
      objects.push(this);
      yield { y: x };
    };
    const object = { infer: around(groupByKeys, around(stream, generator)) as AnyFunc };
    const { result } = callDecorated((r: never, c: never) => object.infer(r, c), [row(1), row(2, key(1))], spec);
    for (const group of (result as RequestGroups).groups) {
      for (const start of (group.start() as RequestStreams).streams) await allSteps(start());
    }
    expect(objects).toEqual([object, object]);
  });
});

describe('a decorator on a method', () => {
  it.each([
    ['batch', batch],
    ['sample', sample],
    ['stream', stream],
    ['groupByKeys', groupByKeys],
    ['padBatch', padBatch],
  ])('%s marks it as one', (decorator, decorate) => {
    const infer = () => [];
    const decorated = (decorate as (method: () => unknown, context: ClassMethodDecoratorContext) => unknown)(
      infer,
      METHOD,
    );
    expect(marksOf(decorated)).toEqual([{ decorator, inner: infer, isMethod: true, check: undefined }]);
  });
});

describe('decorators with arguments on a method', () => {
  // The tests' compiler leaves decorators as they are: this is what others make of them.
  type Decorator = (method: unknown, context: ClassMethodDecoratorContext) => unknown;
  const decorated = (decorators: readonly unknown[], method: unknown) =>
    decorators.reduceRight((inner, decorate) => (decorate as Decorator)(inner, METHOD), method) as AnyFunc;

  it('do what they do around a function', async () => {
    const decorators = [
      fillOptionals({ k: 2, o: 1 }),
      groupByKeys,
      batch,
      groupByValues(['k']),
      padBatch,
      firstValue(['k', 'o']),
    ];
    const scaler = {
      factor: 10,
      infer: decorated(
        decorators,
        function (this: { factor: number }, { x, k, o }: Record<string, number> & { x: Tensor }) {
          return { y: x.map((value: number) => value * this.factor * k! + o!) };
        },
      ),
    };
    const requests = [row(1, key(3)), row(2), row(4, key(3))];
    const { result } = callDecorated((r: never, c: never) => scaler.infer(r, c) as never, requests, SPEC);
    const rows = ((await (result as unknown)) as { readonly y: Tensor }[]).map(({ y }) => y.toNested());
    expect(rows).toEqual([[[31]], [[41]], [[121]]]);
  });

  it.each<[string, object]>([
    ['fillOptionals', fillOptionals({ o: 1 })],
    ['groupByValues', groupByValues(['k'])],
    ['groupByValues', groupByValues(['k'], {})],
    ['firstValue', firstValue(['k'])],
    ['firstValue', firstValue(['k'], { strict: false })],
  ])('%s marks it as one, with a check of its names', (decorator, decorate) => {
    const infer = () => [];
    expect(marksOf(decorated([decorate], infer))).toEqual([
      { decorator, inner: infer, isMethod: true, check: expect.any(Function) },
    ]);
  });

  it.each([null, 5])('refuse what is neither a function nor options: %o', (given) => {
    const message = expect.stringContaining('takes a function, got') as string;
    for (const decorate of [firstValue, groupByValues, fillOptionals] as unknown as ((...given: unknown[]) => void)[]) {
      expect(() => decorate(['k'], given)).toThrow(expect.objectContaining({ code: 'INVALID_ARG', message }));
    }
  });
});

describe('a decorated function that is called without a context', () => {
  const says = (decorator: string) =>
    `${decorator} was called without a context: it needs the one that a server gives; in a test, call the callable with call(model, inputs) of 'tstriton/testing'`;

  it.each<[string, unknown]>([
    ['batch', around(batch, () => ({}))],
    ['sample', around(sample, () => ({}))],
    ['stream', around(stream, () => [])],
    ['groupByKeys', around(groupByKeys, () => [])],
    ['fillOptionals', fillOptionals({}, (() => []) as never)],
    ['groupByValues', groupByValues(['x'] as never, (() => ({})) as never)],
    ['padBatch', around(padBatch, () => ({}))],
    ['firstValue', firstValue(['x'] as never, (() => ({})) as never)],
  ])('%s says so', (decorator, callable) => {
    for (const context of [undefined, null, {}]) {
      expect(() => (callable as (inputs: unknown, context: unknown) => unknown)({ x: 1 }, context)).toThrow(
        expect.objectContaining({ code: 'INVALID_ARG', message: says(decorator) }),
      );
    }
  });
});
