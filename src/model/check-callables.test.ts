import { describe, expect, it } from 'vitest';

import type { Callable, ModelSpec } from './callable.js';
import { checkCallables, refuseMisspeltCallable } from './check-callables.js';
import { completeModelConfig } from './complete-model.js';
import { TritonError } from '../errors.js';
import { markDecorated, type DecoratorName } from './decorated.js';
import type { ModelConfig } from './model-config.js';

function configured(config: ModelConfig) {
  const spec: ModelSpec = { modelName: 'm', inputs: {}, outputs: {}, config };
  return completeModelConfig(spec, 1);
}

const raw = () => [];

describe('a model without inferFunc', () => {
  it.each(['inferFn', 'infer_func', 'infer', 'predict'])('is told so where its callable is called %s', (name) => {
    const model = { modelName: 'm', setup: () => undefined, [name]: raw };
    expect(() => refuseMisspeltCallable(model)).toThrow(
      `model 'm' has an unknown option '${name}'; did you mean 'inferFunc'?`,
    );
    expect(() => refuseMisspeltCallable({ ...model, inferFunc: raw })).not.toThrow();
  });

  it('is no business of this check where it has no callable at all', () => {
    const hooksAlone = { modelName: 'm', setup: raw, teardown: raw, inputs: {} };
    expect(() => refuseMisspeltCallable(hooksAlone)).not.toThrow();
  });
});

describe('checkCallables', () => {
  it('gives one callable or a list of them as a list', () => {
    const object = { infer: raw };
    class WithMethod {
      infer() {
        return [];
      }
    }
    const instance = new WithMethod();
    expect(checkCallables(raw, 'm')).toEqual([raw]);
    expect(checkCallables(object, 'm')).toEqual([object]);
    expect(checkCallables([raw, object, instance, raw], 'm')).toEqual([raw, object, instance, raw]);
  });

  it('refuses an object that brings a setup or a teardown which nobody would call, and leaves those of classes to the user', () => {
    class Model {
      setup() {}
      infer() {
        return [];
      }
    }
    expect(checkCallables([new Model()], 'm')).toHaveLength(1);
    expect(() => checkCallables([raw, { setup() {}, infer: raw }], 'm')).toThrow(
      "inferFunc of model 'm' has a setup of its own, which would not be called; give bind a setup, beside inferFunc",
    );
    expect(() => checkCallables({ infer: raw, teardown: () => undefined }, 'm')).toThrow('has a teardown of its own');
  });

  it('takes a method by its name, of an object, of its class or what that inherits, or of a function', () => {
    class Base {
      inherited() {
        return [];
      }
    }
    class Model extends Base {
      static made() {
        return [];
      }
      classify() {
        return [];
      }
    }
    const object = new Model();
    const callables = [
      { object, method: 'classify' },
      { object, method: 'inherited' },
      { object: Model, method: 'made' },
      { object: { run: raw }, method: 'run' },
    ];
    expect(checkCallables(callables, 'm')).toBe(callables);
    expect(checkCallables(callables[0], 'm', configured({}))).toEqual([callables[0]]);
  });

  class Classifier {
    readonly size = 1;
    classify() {
      return [];
    }
    describe() {
      return [];
    }
  }
  it.each<[unknown, string]>([
    [
      { object: new Classifier(), method: 'clasify' },
      " names a method 'clasify' that a Classifier does not have; did you mean 'classify'?",
    ],
    [
      { object: new Classifier(), method: 'run' },
      " names a method 'run' that a Classifier does not have; it has classify, describe",
    ],
    [
      { object: new Classifier(), method: 'size' },
      " names a method 'size' that a Classifier does not have; it has classify, describe",
    ],
    [{ object: {}, method: 'infer' }, " names a method 'infer' that a record does not have; it has none"],
    [{ object: 'model', method: 'infer' }, ' names a method of a string, expected an object'],
    [{ object: null, method: 'infer' }, ' names a method of null, expected an object'],
    [{ object: new Classifier(), method: 7 }, ' names a method by a number, expected a string'],
    [
      { object: new Classifier(), method: 'classify', metod: 1 },
      " has an unknown option 'metod'; did you mean 'method'?",
    ],
  ])('refuses %o', (inferFunc, problem) => {
    expect(() => checkCallables(inferFunc, 'm')).toThrow(
      expect.objectContaining({ code: 'INVALID_ARG', message: `inferFunc of model 'm'${problem}` }),
    );
  });

  it.each([
    ['a class', class Classifier {}],
    ['a class in a list', [raw, class Classifier {}]],
  ])('refuses %s, which cannot be called', (_, inferFunc) => {
    expect(() => checkCallables(inferFunc, 'm')).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: "inferFunc of model 'm' is the class Classifier, expected an object of it, as new Classifier() is",
      }),
    );
  });

  it('refuses an empty list', () => {
    expect(() => checkCallables([], 'm')).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: "inferFunc of model 'm' is an empty list, expected at least one callable",
      }),
    );
  });

  it.each([
    [undefined, 'undefined'],
    [null, 'null'],
    ['model.js', 'string'],
    [{ run: raw }, 'object'],
    [{ infer: 7 }, 'object'],
    [[raw, 7], 'number'],
    [[[raw]], 'object'],
  ])('refuses %o', (inferFunc, got) => {
    expect(() => checkCallables(inferFunc, 'm')).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: `inferFunc of model 'm' must be a function, an object with a method 'infer', { object, method }, an instanceGroup, or a list of those, got ${got}`,
      }),
    );
  });

  it.each<['batch' | 'sample', ModelConfig]>([
    ['batch', {}],
    ['batch', { maxBatchSize: 1 }],
    ['sample', { batching: false }],
    ['sample', { maxBatchSize: 1 }],
  ])('lets %s serve a model with config %j', (decorator, config) => {
    const decorated = markDecorated(() => [], decorator, raw);
    const callables = [raw, decorated, { infer: decorated }];
    expect(checkCallables(callables, 'm', configured(config))).toBe(callables);
  });

  it.each<['batch' | 'sample', ModelConfig, string]>([
    ['batch', { batching: false }, 'batch, but the model has batching: false; use sample or a raw callable'],
    [
      'sample',
      { maxBatchSize: 2 },
      'sample, but batches have up to 2 rows; use batch, or set batching: false or maxBatchSize: 1',
    ],
    ['sample', {}, 'sample, but batches have up to 4 rows; use batch, or set batching: false or maxBatchSize: 1'],
  ])('refuses %s for a model with config %j', (decorator, config, problem) => {
    const decorated = markDecorated(() => [], decorator, raw);
    for (const inferFunc of [
      decorated,
      [raw, decorated],
      { infer: decorated },
      { object: { run: decorated }, method: 'run' },
    ]) {
      expect(() => checkCallables(inferFunc, 'm', configured(config))).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARG',
          message: `inferFunc of model 'm' is decorated with ${problem}`,
        }),
      );
    }
  });

  /** Decorators from the outermost, around a function. */
  function decorated(...names: DecoratorName[]): Callable {
    return names.reduceRight<() => unknown>((inner, name) => markDecorated(() => [], name, inner), raw) as Callable;
  }
  const invalid = (problem: string) =>
    expect.objectContaining({ code: 'INVALID_ARG', message: `inferFunc of model 'm'${problem}` });

  it('lets decorators serve in the documented order', () => {
    const all = decorated('fillOptionals', 'groupByKeys', 'batch', 'groupByValues', 'padBatch', 'firstValue');
    expect(checkCallables(all, 'm', configured({}))).toEqual([all]);
    const streaming = decorated('groupByKeys', 'stream', 'groupByValues', 'firstValue');
    expect(checkCallables(streaming, 'm', configured({ decoupled: true }))).toEqual([streaming]);
  });

  it.each<[DecoratorName[], string]>([
    [['groupByValues', 'batch'], ': groupByValues takes tensors; put it inside batch or stream'],
    [['padBatch'], ': padBatch takes tensors; put it inside batch or stream'],
    [['groupByKeys', 'firstValue', 'batch'], ': firstValue takes tensors; put it inside batch or stream'],
    [['batch', 'groupByKeys'], ': groupByKeys takes requests; put it outside batch'],
    [['batch', 'batch'], ': there is another one of batch, sample and stream around batch; leave one of them out'],
    [['batch', 'sample'], ': there is another one of batch, sample and stream around sample; leave one of them out'],
    [['batch', 'groupByValues', 'fillOptionals'], ': fillOptionals takes requests; put it outside groupByValues'],
    [['batch', 'firstValue', 'padBatch'], ': firstValue must be the innermost decorator, but padBatch is inside it'],
    [['batch', 'firstValue', 'groupByValues'], ': firstValue must be the innermost decorator, but groupByValues is inside it'],
    [['batch', 'firstValue', 'batch'], ': firstValue must be the innermost decorator, but batch is inside it'],
  ])('refuses the order %j', (names, problem) => {
    for (const inferFunc of [decorated(...names), [raw, { infer: decorated(...names) }]]) {
      expect(() => checkCallables(inferFunc, 'm', configured({}))).toThrow(invalid(problem));
    }
  }); // prettier-ignore

  it.each<DecoratorName>(['groupByValues', 'padBatch', 'firstValue'])('refuses %s without a batch axis', (name) => {
    expect(() =>
      checkCallables(decorated('stream', name), 'm', configured({ batching: false, decoupled: true })),
    ).toThrow(invalid(` is decorated with ${name}, which needs a batch axis, but the model has batching: false`));
    expect(() => checkCallables(decorated('sample', name), 'm', configured({ maxBatchSize: 1 }))).toThrow(
      invalid(` is decorated with ${name}, which needs a batch axis, but sample takes it off; use batch`),
    );
  });

  it('asks every decorator whether its arguments fit', () => {
    const check = () => {
      throw new TritonError('INTERNAL', 'no such input');
    };
    const inner = markDecorated(() => [], 'groupByValues', raw, { check });
    const callable = markDecorated(() => [], 'batch', inner) as Callable;
    expect(() => checkCallables(callable, 'm', configured({}))).toThrow(invalid(': no such input'));
    expect(checkCallables(callable, 'm')).toEqual([callable]);
  });

  it.each<[string, unknown]>([
    ['a generator', function* () {}],
    ['an asynchronous generator', async function* () {}],
    ['a decorated generator', markDecorated(() => [], 'batch', function* () {})],
    ['one under several decorators', markDecorated(() => [], 'groupByKeys', markDecorated(() => [], 'batch', async function* () {}))],
    ['stream', decorated('stream')],
    ['a decorated stream', decorated('groupByKeys', 'stream')],
  ])('refuses %s for a model that answers once', (_, callable) => {
    expect(() => checkCallables(callable, 'm', configured({}))).toThrow(
      invalid(' is a generator, but the model answers each request once; set config.decoupled: true for any number of answers'),
    );
    expect(checkCallables(callable, 'm', configured({ decoupled: true }))).toHaveLength(1);
  }); // prettier-ignore

  it('refuses a function that takes inputs by name where no decorator hands it tensors', () => {
    type Inputs = Readonly<Record<string, unknown>>;
    const x = { dtype: 'float32', shape: [1] } as const;
    const of = (config: ModelConfig) =>
      completeModelConfig({ modelName: 'm', inputs: { x, length: x }, outputs: { y: x }, config }, 1);
    const refused = (fn: unknown, config: ModelConfig = {}) => {
      try {
        checkCallables(fn, 'm', of(config));
        return undefined;
      } catch (error) {
        return TritonError.from(error).message;
      }
    };
    const text = (taken: string, decorator: string) =>
      `inferFunc of model 'm' takes { ${taken} }, but gets a list of requests; ${decorator} makes a callable of a function of tensors`;
    expect(refused(({ x }: Inputs) => ({ y: x }))).toBe(text('x', 'batch'));
    expect(refused(async ({ x: value = 1, ...rest }: Inputs) => ({ y: value, rest }))).toBe(
      text('x, ...rest', 'batch'),
    );
    expect(refused(({ x }: Inputs) => ({ y: x }), { batching: false })).toBe(text('x', 'sample'));
    expect(refused(async function* ({ x }: Inputs) { yield { y: x }; }, { decoupled: true })).toBe(text('x', 'stream')); // prettier-ignore
    expect(refused({ infer({ x }: Inputs) { return { y: x }; } })).toBe(text('x', 'batch')); // prettier-ignore
    expect(
      refused(
        markDecorated(
          () => [],
          'groupByKeys',
          ({ x }: Inputs) => ({ y: x }),
        ),
      ),
    ).toBe(text('x', 'batch'));
    expect(
      refused(
        markDecorated(
          () => [],
          'batch',
          ({ x }: Inputs) => ({ y: x }),
        ),
      ),
    ).toBeUndefined();
    // A list has a length, and the first of its requests.
    expect(refused(({ length }: readonly unknown[]) => Array.from({ length }))).toBeUndefined();
    expect(
      refused(
        ([
          {
            inputs: { x },
          },
        ]: readonly [{ readonly inputs: Inputs }]) => [{ y: x }],
      ),
    ).toBeUndefined();
    expect(refused((requests: readonly Inputs[]) => requests.map(({ x }) => x))).toBeUndefined();
  });
});
