import { describe, expect, it } from 'vitest';

import { Tensor } from '../tensor/tensor.js';
import type { ModelSpec } from './callable.js';
import { completeModelConfig } from './complete-model.js';
import type { SequenceBatching } from './sequence-batching.js';

const SPEC = {
  modelName: 'Linear',
  inputs: { data: { dtype: 'float32', shape: [-1] } },
  outputs: [{ dtype: Int32Array, shape: [3] }],
} as const satisfies ModelSpec;

function complete(changes: object, instanceCount = 1) {
  return completeModelConfig({ ...SPEC, ...changes } as ModelSpec, instanceCount);
}

describe('completeModelConfig', () => {
  it("fills in PyTriton's defaults", () => {
    expect(completeModelConfig(SPEC, 2)).toEqual({
      name: 'Linear',
      version: 1,
      inputs: [{ name: 'data', dtype: 'float32', datatype: 'FP32', shape: [-1], optional: false }],
      outputs: [{ name: 'OUTPUT_1', dtype: 'int32', datatype: 'INT32', shape: [3], optional: false }],
      maxBatchSize: 4,
      dynamicBatching: expect.objectContaining({ preferredBatchSize: [4], maxQueueDelayMicroseconds: 0 }),
      instanceCount: 2,
      concurrency: 1,
      decoupled: false,
      responseCache: false,
      executionTimeoutMicroseconds: 0,
      strict: false,
      versionPolicy: { all: {} },
      modelWarmup: [],
    });
  });

  it('is plain data, which crosses threads', () => {
    const config = complete({ config: { batcher: { defaultQueuePolicy: {} } } });
    expect(structuredClone(config)).toEqual(config);
  });

  it('keeps what was given', () => {
    expect(
      complete({ modelVersion: 7, strict: true, config: { maxBatchSize: 64, concurrency: 3, decoupled: false } }),
    ).toMatchObject({
      version: 7,
      strict: true,
      maxBatchSize: 64,
      concurrency: 3,
      dynamicBatching: { preferredBatchSize: [64] },
    });
  });

  it('takes inferFunc along, which it leaves to others', () => {
    expect(() => complete({ inferFunc: 7 })).not.toThrow();
  });

  it('takes a batcher without settings where there is no batch axis', () => {
    const batcher = { maxQueueDelayMicroseconds: undefined, preferredBatchSize: [], priorityQueuePolicy: {} };
    expect(complete({ config: { batching: false, batcher } as object }).dynamicBatching).toBeUndefined();
  });

  it('has no batch axis and no batcher with batching: false', () => {
    const config = complete({ config: { batching: false } });
    expect(config.maxBatchSize).toBe(0);
    expect(config.dynamicBatching).toBeUndefined();
  });

  it('has a batch axis but no batcher with batcher: null', () => {
    const config = complete({ config: { batcher: null } });
    expect(config.maxBatchSize).toBe(4);
    expect(config.dynamicBatching).toBeUndefined();
  });

  it.each(['a', 'A-b_c.d', '0', 'model.v2', '...', 'x'.repeat(300)])('takes the name %s', (modelName) => {
    expect(complete({ modelName }).name).toBe(modelName);
  });

  it.each([
    ['', 'Model name cannot be empty'],
    ['a b', 'Model name can only contain alphanumeric characters, dots, underscores and dashes, got "a b"'],
    ['a/b', 'Model name can only contain alphanumeric characters, dots, underscores and dashes, got "a/b"'],
    ['größe', 'Model name can only contain alphanumeric characters, dots, underscores and dashes, got "größe"'],
    ['a\n', 'Model name can only contain alphanumeric characters, dots, underscores and dashes, got "a\\n"'],
    ['.', 'Model name "." is a path, not a name'],
    ['..', 'Model name ".." is a path, not a name'],
    [7, 'modelName must be a string, got 7'],
    [undefined, 'modelName must be a string, got undefined'],
  ])('refuses the name %j', (modelName, message) => {
    expect(() => complete({ modelName })).toThrow(expect.objectContaining({ code: 'INVALID_ARG', message }));
  });

  it.each<[string, object, string]>([
    ['an unknown option', { stict: true }, "model 'Linear' has an unknown option 'stict'; did you mean 'strict'?"],
    [
      'an unknown option of config',
      { config: { maxBatch: 8 } },
      "config of model 'Linear' has an unknown option 'maxBatch'; known are batching, maxBatchSize, batcher, sequenceBatching, concurrency, decoupled, responseCache, executionTimeoutMicroseconds, isolateFailures, modelWarmup, versionPolicy",
    ],
    [
      'a misspelt option of config',
      { config: { maxBatchsize: 8 } },
      "config of model 'Linear' has an unknown option 'maxBatchsize'; did you mean 'maxBatchSize'?",
    ],
    [
      'an option of config beside it',
      { maxBatchSize: 8 },
      "model 'Linear' has an unknown option 'maxBatchSize'; did you mean config.maxBatchSize?",
    ],
    [
      'an option of the batcher in config',
      { config: { maxQueueDelayMicroseconds: 8 } },
      "config of model 'Linear' has an unknown option 'maxQueueDelayMicroseconds'; did you mean config.batcher.maxQueueDelayMicroseconds?",
    ],
    [
      'an option of the model in config',
      { config: { strict: true } },
      "config of model 'Linear' has an unknown option 'strict'; did you mean strict beside config?",
    ],
    ['a config that is no object', { config: 'fast' }, "config of model 'Linear' must be an object, got string"],
    ['a config that is a list', { config: [] }, "config of model 'Linear' must be an object, got a list"],
    ['version 0', { modelVersion: 0 }, "modelVersion of model 'Linear' must be an integer >= 1, got 0"],
    ['version 1.5', { modelVersion: 1.5 }, "modelVersion of model 'Linear' must be an integer >= 1, got 1.5"],
    [
      'a version in a string',
      { modelVersion: '1' },
      'modelVersion of model \'Linear\' must be an integer >= 1, got "1"',
    ],
    [
      'a batch size of 0',
      { config: { maxBatchSize: 0 } },
      "config.maxBatchSize of model 'Linear' must be an integer from 1 to 2147483647, got 0",
    ],
    [
      'a batch size of -1',
      { config: { maxBatchSize: -1 } },
      "config.maxBatchSize of model 'Linear' must be an integer from 1 to 2147483647, got -1",
    ],
    [
      'a batch size of 2.5',
      { config: { maxBatchSize: 2.5 } },
      "config.maxBatchSize of model 'Linear' must be an integer from 1 to 2147483647, got 2.5",
    ],
    [
      'batches beyond 32 bits',
      { config: { maxBatchSize: 2 ** 31 } },
      "config.maxBatchSize of model 'Linear' must be an integer from 1 to 2147483647, got 2147483648",
    ],
    [
      'a batching that is none',
      { config: { batching: 'no' } },
      'config.batching of model \'Linear\' must be true or false, got "no"',
    ],
    [
      'a concurrency of 0',
      { config: { concurrency: 0 } },
      "config.concurrency of model 'Linear' must be an integer from 1 to 2147483647, got 0",
    ],
    [
      'a decoupled that is none',
      { config: { decoupled: 1 } },
      "config.decoupled of model 'Linear' must be true or false, got 1",
    ],
    ['a strict that is none', { strict: 'yes' }, 'strict of model \'Linear\' must be true or false, got "yes"'],
    [
      'a batcher that is none',
      { config: { batcher: true } },
      "config.batcher of model 'Linear' must be an object, got boolean",
    ],
    [
      'a batcher that cannot work',
      { config: { maxBatchSize: 8, batcher: { preferredBatchSize: [16] } } },
      "dynamic batching preferred size must be <= max batch size for model 'Linear', got 16 with a maximum of 8",
    ],
    [
      'a wrong batcher that batching: false leaves unused',
      { config: { batching: false, batcher: { preferredBatchSizes: [] } } },
      "config.batcher of model 'Linear' has an unknown option 'preferredBatchSizes'; did you mean 'preferredBatchSize'?",
    ],
    [
      'limits of a queue that batching: false would leave without effect',
      { config: { batching: false, batcher: { defaultQueuePolicy: { maxQueueSize: 1 } } } },
      "config.batcher of model 'Linear' needs batching: without a batch axis each request runs alone, got batcher.defaultQueuePolicy with batching: false",
    ],
    ['no inputs', { inputs: undefined }, "inputs of model 'Linear' must be a record by name or a list, got undefined"],
    [
      'no outputs',
      { outputs: undefined },
      "outputs of model 'Linear' must be a record by name or a list, got undefined",
    ],
    [
      'an input declared twice',
      {
        inputs: [
          { name: 'x', dtype: 'bool', shape: [1] },
          { name: 'x', dtype: 'bool', shape: [1] },
        ],
      },
      "input 'x' of model 'Linear' is declared twice",
    ],
    [
      'an output declared twice',
      {
        outputs: [
          { name: 'x', dtype: 'bool', shape: [1] },
          { name: 'x', dtype: 'bool', shape: [1] },
        ],
      },
      "output 'x' of model 'Linear' is declared twice",
    ],
    [
      'an optional output',
      { outputs: { y: { dtype: 'bool', shape: [1], optional: true } } },
      "Output tensors cannot be optional, but output 'y' of model 'Linear' is",
    ],
  ])('refuses %s', (_, changes, message) => {
    expect(() => complete(changes)).toThrow(expect.objectContaining({ code: 'INVALID_ARG', message }));
  });

  it('lets an input and an output have the same name', () => {
    expect(() => complete({ outputs: { data: { dtype: 'bool', shape: [1] } } })).not.toThrow();
  });

  it.each([-1, 0.5, '1', NaN])('refuses %o microseconds for an execution', (executionTimeoutMicroseconds) => {
    expect(() => complete({ config: { executionTimeoutMicroseconds } })).toThrow(
      "config.executionTimeoutMicroseconds of model 'Linear' must be",
    );
  });

  it('isolates failures of sequences only where a second run does no harm', () => {
    const isolating = (sequenceBatching: SequenceBatching) =>
      complete({ config: { isolateFailures: true, sequenceBatching } }).isolateFailures;
    expect(isolating({ state: { h: { dtype: 'float32', shape: [2] } } })).toBe(true);
    for (const harmed of [{ state: () => ({}) }, { iterative: true }]) {
      expect(() => isolating(harmed)).toThrow(
        "config.isolateFailures of model 'Linear' excludes a config.sequenceBatching that is iterative, or whose state is a function: a request would change its state twice",
      );
    }
  });

  it('refuses a state that begins with another dtype or shape', () => {
    const beginning = (initial: Tensor) => () =>
      complete({ config: { sequenceBatching: { state: { h: { dtype: 'float32', shape: [2], initial } } } } });
    expect(beginning(new Tensor('int32', Int32Array.of(1, 2), [2]))).toThrow(
      "initial of config.sequenceBatching.state.h of model 'Linear' must be of float32, got a tensor of int32",
    );
    expect(beginning(new Tensor('float32', Float32Array.of(1, 2), [2, 1]))).toThrow(
      "initial of config.sequenceBatching.state.h of model 'Linear' must have the shape [2], got [2,1]",
    );
  });

  it('keeps decoupled', () => {
    expect(complete({ config: { decoupled: true } }).decoupled).toBe(true);
  });
});
