import { describe, expect, it } from 'vitest';

import type { ModelSpec } from './callable.js';
import { checkCallables } from './check-callables.js';
import { completeModelConfig } from './complete-model.js';
import { decoratorOf, markDecorated } from './decorated.js';
import type { ModelConfig } from './model-config.js';

function configured(config: ModelConfig) {
  const spec: ModelSpec = { modelName: 'm', inputs: {}, outputs: {}, config };
  return completeModelConfig(spec, 1);
}

const raw = () => [];

describe('markDecorated', () => {
  it('leaves a mark that nobody sees by accident', () => {
    const callable = markDecorated(() => [], 'batch', raw);
    expect(decoratorOf(callable)).toBe('batch');
    expect(Object.keys(callable)).toEqual([]);
    expect(decoratorOf(raw)).toBeUndefined();
    expect(decoratorOf({ infer: raw })).toBeUndefined();
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
        message: `inferFunc of model 'm' must be a function, an object with a method 'infer', or a list of those, got ${got}`,
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
    for (const inferFunc of [decorated, [raw, decorated], { infer: decorated }]) {
      expect(() => checkCallables(inferFunc, 'm', configured(config))).toThrow(
        expect.objectContaining({
          code: 'INVALID_ARG',
          message: `inferFunc of model 'm' is decorated with ${problem}`,
        }),
      );
    }
  });
});
