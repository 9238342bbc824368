import { describe, expect, it } from 'vitest';

import { completeModelConfig } from '../model/complete-model.js';
import type { ModelSpec } from '../model/callable.js';
import { readConfigText } from '../protocol/config-message.js';
import { configFiles } from './config-text.js';

const tensor = { dtype: 'float32', shape: [-1, 3] } as const;
const complete = (more: object, instances = 1) =>
  completeModelConfig(
    { modelName: 'm', inputs: { x: tensor }, outputs: { y: tensor }, ...more } as ModelSpec,
    instances,
  );
const filesOf = (more: object, instances?: number) => configFiles(complete(more, instances));
const read = (more: object, instances?: number) => readConfigText(String(filesOf(more, instances).get('config.pbtxt')));

describe('the config.pbtxt of a bound model', () => {
  it('says what the declaration does', () => {
    const config = read(
      {
        inputs: { x: { dtype: 'string', shape: [2], optional: true }, z: { dtype: 'int64', shape: [-1] } },
        config: {
          maxBatchSize: 8,
          concurrency: 2,
          decoupled: true,
          batcher: {
            preferredBatchSize: [4, 8],
            maxQueueDelayMicroseconds: 100,
            priorityLevels: 2,
            defaultPriorityLevel: 1,
            priorityQueuePolicy: { 2: { timeoutAction: 'DELAY', maxQueueSize: 3 } },
          },
        },
      },
      3,
    );
    expect(config).toMatchObject({
      name: 'm',
      backend: 'python',
      max_batch_size: 8,
      input: [
        { name: 'x', data_type: 'TYPE_STRING', dims: ['2'], optional: true },
        { name: 'z', data_type: 'TYPE_INT64', dims: ['-1'], optional: false },
      ],
      output: [{ name: 'y', data_type: 'TYPE_FP32', dims: ['-1', '3'] }],
      instance_group: [{ kind: 'KIND_CPU', count: 6 }],
      model_transaction_policy: { decoupled: true },
      version_policy: { all: {} },
      dynamic_batching: {
        preferred_batch_size: [4, 8],
        max_queue_delay_microseconds: '100',
        priority_queue_policy: { '2': { timeout_action: 'DELAY', max_queue_size: 3 } },
      },
    });
  });

  it('has a few instances for a decoupled model that does not limit its streams, and never very many', () => {
    expect(read({ config: { decoupled: true } }, 2)).toMatchObject({ instance_group: [{ count: 8 }] });
    expect(() => read({ config: { concurrency: 65 } }, 2)).toThrow('tritonserver needs a process for each of 130');
  });

  it('has no batcher without batching, and a cache where one is asked for', () => {
    const config = read({ config: { batching: false, responseCache: true } });
    expect(config).toMatchObject({ max_batch_size: 0, response_cache: { enable: true } });
    expect(config.dynamic_batching).toBeUndefined();
  });

  it('names files of labels', () => {
    const files = filesOf({ outputs: { y: { dtype: 'float32', shape: [2], labels: ['ant', 'bee'] } } });
    expect(String(files.get('labels-0.txt'))).toBe('ant\nbee\n');
    expect(readConfigText(String(files.get('config.pbtxt'))).output[0]!.label_filename).toBe('labels-0.txt');
  });

  it('warms up with the first row of a warm-up, which tritonserver repeats', () => {
    const files = filesOf({
      inputs: { x: { dtype: 'int16', shape: [2] }, s: { dtype: 'string', shape: [1] } },
      config: {
        modelWarmup: [
          {
            name: 'a "name" \\ ä\n',
            batchSize: 3,
            count: 2,
            inputs: {
              x: { dtype: 'int16', shape: [2], zeroData: true },
              s: { dtype: 'string', shape: [1], zeroData: true },
            },
          },
        ],
      },
    });
    expect(readConfigText(String(files.get('config.pbtxt'))).model_warmup).toMatchObject([
      {
        name: 'a "name" \\ ä\n',
        batch_size: 3,
        count: 2,
        inputs: { x: { data_type: 'TYPE_INT16', dims: ['2'], input_data_file: '0-0' } },
      },
    ]);
    expect((files.get('warmup/0-0') as Uint8Array).byteLength).toBe(4);
    expect((files.get('warmup/0-1') as Uint8Array).byteLength).toBe(4);
  });

  it.each([
    [{ route: 'POST /m' }, 'route: tritonserver has the paths of its protocol only'],
    [{ config: { batcher: { groupByShape: true } } }, 'groupByShape: the batcher of tritonserver has one queue'],
    [{ config: { sequenceBatching: {} } }, 'sequenceBatching: its states and objects live in the engine of TSTriton'],
    [
      { outputs: { half: { dtype: 'bfloat16', shape: [1] } } },
      "the dtype of 'half': numpy, which the python backend gives tensors as, has no bfloat16",
    ],
  ])('is refused for %j', (more, reason) => {
    expect(() => filesOf(more)).toThrow(
      expect.objectContaining({
        code: 'UNSUPPORTED',
        message: `model 'm' cannot be served with engine: 'tritonserver', because of ${reason}`,
      }),
    );
  });
});
