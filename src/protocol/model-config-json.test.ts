import { expect, it } from 'vitest';

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { modelConfigJson } from './model-config-json.js';
import { modelMetadata } from './model-metadata.js';

const MODEL: CompleteModelConfig = {
  name: 'text',
  version: 3,
  inputs: [
    { name: 'a', dtype: 'string', datatype: 'BYTES', shape: [-1], optional: false },
    { name: 'b', dtype: 'float16', datatype: 'FP16', shape: [2, 3], optional: true },
  ],
  outputs: [{ name: 'y', dtype: 'bfloat16', datatype: 'BF16', shape: [1], optional: false }],
  maxBatchSize: 16,
  dynamicBatching: {
    maxQueueDelayMicroseconds: 100,
    preferredBatchSize: [16],
    preserveOrdering: false,
    priorityLevels: 2,
    defaultPriorityLevel: 1,
    defaultQueuePolicy: {
      timeoutAction: 'DELAY',
      defaultTimeoutMicroseconds: 7,
      allowTimeoutOverride: true,
      maxQueueSize: 9,
    },
    priorityQueuePolicy: {
      2: { timeoutAction: 'REJECT', defaultTimeoutMicroseconds: 0, allowTimeoutOverride: false, maxQueueSize: 0 },
    },
  },
  instanceCount: 2,
  concurrency: 1,
  decoupled: true,
  responseCache: false,
  strict: false,
};

it('prints every field with its default, in the order of the message', () => {
  expect(JSON.stringify(modelConfigJson(MODEL))).toBe(
    '{"name":"text","platform":"","backend":"tstriton","runtime":"","version_policy":{"all":{}},"max_batch_size":16,"input":[' +
      '{"name":"a","data_type":"TYPE_STRING","format":"FORMAT_NONE","dims":[-1],"is_shape_tensor":false,"allow_ragged_batch":false,"optional":false,"is_non_linear_format_io":false},' +
      '{"name":"b","data_type":"TYPE_FP16","format":"FORMAT_NONE","dims":[2,3],"is_shape_tensor":false,"allow_ragged_batch":false,"optional":true,"is_non_linear_format_io":false}],' +
      '"output":[{"name":"y","data_type":"TYPE_BF16","dims":[1],"label_filename":"","is_shape_tensor":false,"is_non_linear_format_io":false}],' +
      '"batch_input":[],"batch_output":[],"optimization":{"priority":"PRIORITY_DEFAULT","input_pinned_memory":{"enable":true},"output_pinned_memory":{"enable":true},' +
      '"gather_kernel_buffer_threshold":0,"eager_batching":false},"dynamic_batching":{"preferred_batch_size":[16],"max_queue_delay_microseconds":100,' +
      '"preserve_ordering":false,"priority_levels":2,"default_priority_level":1,"default_queue_policy":{"timeout_action":"DELAY","default_timeout_microseconds":7,' +
      '"allow_timeout_override":true,"max_queue_size":9},"priority_queue_policy":{"2":{"timeout_action":"REJECT","default_timeout_microseconds":0,' +
      '"allow_timeout_override":false,"max_queue_size":0}}},"instance_group":[{"name":"text_0","kind":"KIND_CPU","count":2,"gpus":[],"secondary_devices":[],' +
      '"profile":[],"passive":false,"host_policy":""}],"default_model_filename":"","cc_model_filenames":{},"metric_tags":{},"parameters":{},"model_warmup":[],' +
      '"model_transaction_policy":{"decoupled":true}}',
  );
});

it('leaves out what is only printed when it is set', () => {
  const plain = modelConfigJson({ ...MODEL, dynamicBatching: undefined, decoupled: false });
  expect(Object.keys(plain)).not.toContain('dynamic_batching');
  expect(Object.keys(plain)).not.toContain('model_transaction_policy');
  const batcher = { ...MODEL.dynamicBatching!, defaultQueuePolicy: undefined, priorityQueuePolicy: {} };
  expect(modelConfigJson({ ...MODEL, dynamicBatching: batcher })).toMatchObject({
    dynamic_batching: expect.not.objectContaining({ default_queue_policy: expect.anything() }),
  });
});

it('shows groups by shape as a parameter, since the message of a batcher has no field for them', () => {
  const dynamicBatching = { ...MODEL.dynamicBatching!, groupByShape: true };
  expect(modelConfigJson({ ...MODEL, dynamicBatching })).toEqual({
    ...modelConfigJson(MODEL),
    parameters: { group_by_shape: { string_value: 'true' } },
  });
});

it('shows the batch axis in metadata, when there is one', () => {
  expect(modelMetadata(MODEL, ['1', '3'])).toEqual({
    name: 'text',
    versions: ['1', '3'],
    platform: 'tstriton',
    inputs: [
      { name: 'a', datatype: 'BYTES', shape: [-1, -1] },
      { name: 'b', datatype: 'FP16', shape: [-1, 2, 3] },
    ],
    outputs: [{ name: 'y', datatype: 'BF16', shape: [-1, 1] }],
  });
  expect(modelMetadata({ ...MODEL, maxBatchSize: 0 }, []).inputs[1]!.shape).toEqual([2, 3]);
});
