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
    const callable = markDecorated(() => [], 'batch');
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

  it.each<['batch' | 'sample', ModelConfig, string | undefined]>([
    ['batch', {}, undefined],
    ['batch', { maxBatchSize: 1 }, undefined],
    [
      'batch',
      { batching: false },
      "inferFunc of model 'm' is decorated with batch, but the model has batching: false; use sample or a raw callable",
    ],
    ['sample', { batching: false }, undefined],
    ['sample', { maxBatchSize: 1 }, undefined],
    [
      'sample',
      { maxBatchSize: 2 },
      "inferFunc of model 'm' is decorated with sample, but batches have up to 2 rows; use batch, or set batching: false or maxBatchSize: 1",
    ],
    [
      'sample',
      {},
      "inferFunc of model 'm' is decorated with sample, but batches have up to 4 rows; use batch, or set batching: false or maxBatchSize: 1",
    ],
  ])('with %s and %j', (decorator, config, message) => {
    const decorated = markDecorated(() => [], decorator);
    const expected = message === undefined ? [] : [expect.objectContaining({ code: 'INVALID_ARG', message })];
    for (const inferFunc of [decorated, [raw, decorated], { infer: decorated }]) {
      const check = () => checkCallables(inferFunc, 'm', configured(config));
      if (expected[0] === undefined) expect(check).not.toThrow();
      else expect(check).toThrow(expected[0]);
    }
  });
});
