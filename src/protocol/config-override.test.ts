import { describe, expect, it } from 'vitest';

import { completeModelConfig } from '../model/complete-model.js';
import type { ModelConfig } from '../model/model-config.js';
import { readConfigOverride } from './config-override.js';
import { modelConfigJson } from './model-config-json.js';

const TENSORS = {
  inputs: { x: { dtype: 'float32', shape: [2] }, z: { dtype: 'string', shape: [-1], optional: true } },
  outputs: { y: { dtype: 'float32', shape: [2] } },
} as const;

function bound(config: ModelConfig = { maxBatchSize: 8 }, instances = 2) {
  return completeModelConfig({ modelName: 'm', ...TENSORS, config }, instances);
}

function loadedWith(json: object, config?: ModelConfig) {
  return readConfigOverride(JSON.stringify(json))(bound(config));
}

describe('the configuration of a load', () => {
  it('replaces batcher, cache, sizes and policy, and leaves the rest as it was bound', () => {
    const config = { maxBatchSize: 8, executionTimeoutMicroseconds: 5, concurrency: 3 };
    const json = {
      name: 'm',
      backend: 'python',
      max_batch_size: 16,
      version_policy: { specific: { versions: [1, '3'] } },
      response_cache: { enable: true },
      dynamic_batching: {
        preferred_batch_size: [4, 8],
        max_queue_delay_microseconds: '100',
        priority_levels: 2,
        default_priority_level: 2,
        default_queue_policy: { timeout_action: 'DELAY', default_timeout_microseconds: 9, max_queue_size: 3 },
        priority_queue_policy: { 1: { allow_timeout_override: true, timeout_action: 0 } },
      },
    };
    expect(loadedWith(json, config)).toEqual({
      ...bound(config),
      maxBatchSize: 16,
      responseCache: true,
      versionPolicy: { specific: { versions: [1, 3] } },
      dynamicBatching: {
        preferredBatchSize: [4, 8],
        maxQueueDelayMicroseconds: 100,
        preserveOrdering: false,
        priorityLevels: 2,
        defaultPriorityLevel: 2,
        defaultQueuePolicy: {
          timeoutAction: 'DELAY',
          defaultTimeoutMicroseconds: 9,
          allowTimeoutOverride: false,
          maxQueueSize: 3,
        },
        priorityQueuePolicy: {
          1: { timeoutAction: 'REJECT', defaultTimeoutMicroseconds: 0, allowTimeoutOverride: true, maxQueueSize: 0 },
        },
      },
    });
  });

  it.each([{}, { maxBatchSize: 4 }, { input: [], output: [] }])(
    'is the whole configuration of scheduling: %o has no batcher and no cache',
    (json) => {
      const config: ModelConfig = { maxBatchSize: 8, responseCache: true, batcher: { maxQueueDelayMicroseconds: 7 } };
      expect(loadedWith(json, config)).toEqual({
        ...bound(config),
        maxBatchSize: 'maxBatchSize' in json ? 4 : 8,
        dynamicBatching: undefined,
        responseCache: false,
      });
    },
  );

  it.each<[string, ModelConfig]>([
    [
      'a model that batches',
      { maxBatchSize: 8, batcher: { preferredBatchSize: [4], defaultQueuePolicy: { maxQueueSize: 2 } } },
    ],
    ['one that groups by shape', { batcher: { groupByShape: true, maxQueueDelayMicroseconds: 7 } }],
    ['one without a batcher', { batcher: null }],
    ['one without a batch axis', { batching: false }],
    ['one that streams', { decoupled: true }],
    ['one that keeps answers', { responseCache: true }],
    [
      'one with warm-up',
      { modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'float32', shape: [2], zeroData: true } } }] },
    ],
    ['one with a version policy', { versionPolicy: { latest: { numVersions: 2 } } }],
  ])('may be what the server says: %s stays as it is', (_, config) => {
    expect(loadedWith(modelConfigJson(bound(config)), config)).toEqual(bound(config));
  });

  it('brings its own warm-up', () => {
    const inputs = { x: { data_type: 'TYPE_FP32', dims: [2], zero_data: true } };
    const { modelWarmup } = loadedWith({ max_batch_size: 4, model_warmup: [{ name: 'w', batch_size: 3, inputs }] });
    expect(modelWarmup).toEqual([
      { name: 'w', count: 1, inputs: [{ name: 'x', datatype: 'FP32', shape: [3, 2], bytes: Buffer.alloc(24) }] },
    ]);
  });

  it.each<[string, string, RegExp]>([
    ['no text at all', '', /it is no JSON$/],
    ['no JSON', 'max_batch_size: 2', /it is no JSON$/],
    ['a list', '[]', /cannot decode/],
    ['null', 'null', /null/],
    ['an unknown field', '{"foo": 1}', /foo/],
    ['a wrong type', '{"max_batch_size": "many"}', /max_batch_size/],
    ['an unknown name', '{"input": [{"name": "x", "data_type": "TYPE_NOPE", "dims": [2]}]}', /TYPE_NOPE/],
    ['a text without end', `{"name": "${'n'.repeat(1 << 18)}"}`, /got 262156 characters, expected at most 262144/],
  ])('is refused at once when it is %s', (_, text, reason) => {
    expect(() => readConfigOverride(text)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: expect.stringMatching(/^Invalid config override: /) as string,
      }),
    );
    expect(() => readConfigOverride(text)).toThrow(reason);
  });

  const x = { name: 'x', data_type: 'TYPE_FP32', dims: [2] };
  const z = { name: 'z', data_type: 'TYPE_STRING', dims: [-1], optional: true };
  it.each<[string, object, string]>([
    ['is for another model', { name: 'other' }, "it is for model 'other', expected 'm'"],
    ['names a backend', { backend: 'onnxruntime' }, "unable to find backend library for backend 'onnxruntime'"],
    [
      'has another datatype',
      { input: [{ ...x, data_type: 'TYPE_INT32' }, z] },
      "configuration expects datatype TYPE_INT32 for input 'x', model provides TYPE_FP32",
    ],
    [
      'has other dimensions',
      { input: [{ ...x, dims: [3] }, z] },
      "tensor 'x': the model expects dims [2] but the model configuration specifies dims [3]",
    ],
    [
      'has another input',
      { input: [x, z, { ...x, name: 'q' }] },
      'input cannot be changed by a load: expected x, z, got q',
    ],
    ['lacks an input', { input: [x] }, "it lacks input 'z' of the model"],
    ['makes an input optional', { input: [{ ...x, optional: true }, z] }, "input 'x' cannot be changed by a load"],
    [
      'lacks an output',
      { output: [{ name: 'n', data_type: 'TYPE_FP32', dims: [2] }] },
      'output cannot be changed by a load: expected y, got n',
    ],
    [
      'has another number of instances',
      { instance_group: [{ count: 3 }] },
      'instance_group cannot be changed by a load: expected 2, got 3',
    ],
    [
      'has instances on a GPU',
      { instance_group: [{ count: 2, kind: 'KIND_GPU' }] },
      'instance_group cannot be changed by a load: expected KIND_CPU, got KIND_GPU',
    ],
    [
      'streams',
      { model_transaction_policy: { decoupled: true } },
      'model_transaction_policy.decoupled cannot be changed by a load: expected false, got true',
    ],
    [
      'makes controls that the callable does not expect',
      { sequence_batching: { control_input: [{ name: 'START', control: [{ int32_false_true: [0, 1] }] }] } },
      'sequence_batching.control_input cannot be changed by a load: expected [], got ',
    ],
    ['is an ensemble', { ensemble_scheduling: {} }, 'ensemble_scheduling is not supported'],
    [
      'has parameters',
      { parameters: { a: { string_value: 'b' } } },
      'parameters cannot be changed by a load: expected {}, got {"a":{"string_value":"b"}}',
    ],
    [
      'reads a file',
      {
        model_warmup: [
          { name: 'w', inputs: { x: { data_type: 'TYPE_FP32', dims: [2], input_data_file: '/etc/passwd' } } },
        ],
      },
      "input_data_file of warm-up input 'x' is not supported",
    ],
    [
      'prefers sizes beyond the largest',
      { max_batch_size: 2, dynamic_batching: { preferred_batch_size: [9] } },
      'dynamic batching preferred size must be <= max batch size',
    ],
    ['has a negative size', { max_batch_size: -1 }, 'max_batch_size must be >= 0, got -1'],
    [
      'has priorities out of range',
      { dynamic_batching: { priority_levels: 2, default_priority_level: 5 } },
      'default priority level must be in range [1, 2]',
    ],
    [
      'has a number that nobody can count to',
      { dynamic_batching: { max_queue_delay_microseconds: '18446744073709551615' } },
      'dynamic_batching.max_queue_delay_microseconds must be at most 9007199254740991, got 18446744073709551615',
    ],
    [
      'has more levels than can be counted',
      { dynamic_batching: { priority_levels: '18446744073709551615', default_priority_level: '1' } },
      'dynamic_batching.priority_levels must be at most 9007199254740991, got 18446744073709551615',
    ],
    [
      'has a timeout of a level that nobody can count to',
      {
        dynamic_batching: {
          priority_levels: '2',
          default_priority_level: '1',
          priority_queue_policy: { 2: { default_timeout_microseconds: '9007199254740993' } },
        },
      },
      'dynamic_batching.priority_queue_policy[2].default_timeout_microseconds must be at most 9007199254740991, got 9007199254740993',
    ],
    [
      'has a version that would be taken for another',
      { version_policy: { specific: { versions: ['9007199254740993'] } } },
      'a version of version_policy.specific must be at most 9007199254740991, got 9007199254740993',
    ],
  ])('is refused when it %s', (_, json, reason) => {
    expect(() => loadedWith(json)).toThrow(
      expect.objectContaining({
        code: 'INVALID_ARG',
        message: expect.stringContaining(`Invalid config override: `) as string,
      }),
    );
    expect(() => loadedWith(json)).toThrow(reason);
  });

  it.each<[string, object, ModelConfig, string]>([
    [
      'a batch axis where there is none',
      { max_batch_size: 4 },
      { batching: false },
      'max_batch_size cannot be changed by a load: expected 0',
    ],
    [
      'a batcher where there is no batch axis',
      { dynamic_batching: {} },
      { batching: false },
      'dynamic_batching needs a batch axis',
    ],
    [
      'a cache for streams',
      { response_cache: { enable: true } },
      { decoupled: true },
      "Response Cache does not currently support model 'm' with 'decoupled'",
    ],
    [
      'one answer of a model that streams',
      { model_transaction_policy: { decoupled: false } },
      { decoupled: true },
      'expected true, got false',
    ],
  ])('is refused when it wants %s', (_, json, config, reason) => {
    expect(() => loadedWith(json, config)).toThrow(reason);
  });
});
