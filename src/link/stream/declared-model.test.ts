import { describe, expect, it } from 'vitest';

import type { ModelSpec } from '../../model/callable.js';
import { completeModelConfig } from '../../model/complete-model.js';
import type { ModelConfig } from '../../model/model-config.js';
import { completeDeclared, declaredModel } from './declared-model.js';
import { decodeMessage, encodeMessage } from './stream-message.js';

const TENSORS = {
  inputs: {
    x: { dtype: 'float32', shape: [-1], description: 'numbers' },
    more: { dtype: 'string', shape: [1], optional: true },
  },
  outputs: {
    y: { dtype: 'float32', shape: [2], labels: ['no', 'yes'] },
    bytes: { dtype: 'bytes', shape: [1], contentEncoding: 'base64' },
  },
} as const;

/** The same with bytes as plain arrays of bytes. */
function copied(value: unknown): unknown {
  return decodeMessage(Buffer.concat(encodeMessage({ channel: 0, value }))).value;
}

/** As it arrives at the server. */
function sent(spec: ModelSpec): unknown {
  return copied(declaredModel(completeModelConfig(spec, 2)));
}

function model(config: ModelConfig, more: Partial<ModelSpec> = {}): ModelSpec {
  return { modelName: 'm', modelVersion: 3, ...TENSORS, ...more, config } as ModelSpec;
}

describe('a declaration that crosses to a server', () => {
  it.each<[string, ModelSpec]>([
    ['the defaults', model({})],
    [
      'inputs in a list',
      model(
        {},
        {
          inputs: [
            { dtype: 'int8', shape: [1] },
            { name: 'b', dtype: 'bool', shape: [] },
          ],
        },
      ),
    ],
    ['no batch axis', model({ batching: false })],
    ['no batcher', model({ batcher: null, concurrency: 4 })],
    [
      'a batcher with everything',
      model({
        maxBatchSize: 64,
        batcher: {
          maxQueueDelayMicroseconds: 5000,
          preferredBatchSize: [8, 16],
          groupByShape: true,
          priorityLevels: 3,
          defaultPriorityLevel: 2,
          defaultQueuePolicy: { timeoutAction: 'DELAY', maxQueueSize: 9 },
          priorityQueuePolicy: { 1: { allowTimeoutOverride: true } },
        },
      }),
    ],
    ['a stream', model({ decoupled: true })],
    ['a route and texts', model({}, { route: 'POST /x', description: 'd', strict: true })],
    ['options of executions', model({ responseCache: true, executionTimeoutMicroseconds: 7, isolateFailures: true })],
    ['a version policy', model({ versionPolicy: { latest: { numVersions: 2 } } as never })],
    [
      'warm-up requests',
      model({
        modelWarmup: [{ name: 'w', count: 2, inputs: { x: { dtype: 'float32', shape: [2], randomData: true } } }],
      }),
    ],
    [
      'sequences with controls and states',
      model({
        sequenceBatching: {
          strategy: 'oldest',
          maxCandidateSequences: 5,
          preserveOrdering: true,
          controls: { start: { control: 'START', dtype: 'bool' }, id: { control: 'CORRID', dtype: 'string' } },
          state: {
            sum: { dtype: 'float64', shape: [2], initial: [1, 2] },
            text: { dtype: 'string', shape: [1], output: 'next' },
          },
        },
      }),
    ],
    [
      'direct sequences',
      model({
        sequenceBatching: { strategy: 'direct', minimumSlotUtilization: 0.5, emptySlots: true, iterative: true },
      }),
    ],
    ['sequences with objects', model({ sequenceBatching: { state: () => ({}) } })],
  ])('is complete again with %s', (_, spec) => {
    const given = sent(spec);
    expect(copied(completeDeclared(given, 2))).toEqual(copied(completeModelConfig(spec, 2)));
  });

  it.each<[string, unknown]>([
    ['nothing', undefined],
    ['a list', []],
    ['no spec', {}],
    ['no configuration', { spec: {} }],
    ['an unknown option', { spec: { ...model({}), config: { more: 1 } }, states: [], warmups: [] }],
    ['a path as its name', { spec: { ...model({}), modelName: '../x' }, states: [], warmups: [] }],
    [
      'a warm-up without bytes',
      { spec: model({}), warmups: [{ name: 'w', count: 1, inputs: [{ name: 'x', datatype: 'FP32', shape: [1] }] }] },
    ],
    [
      'a warm-up with the file of another machine',
      {
        spec: model({
          modelWarmup: [{ name: 'w', inputs: { x: { dtype: 'float32', shape: [1], inputDataFile: '/etc/passwd' } } }],
        }),
        warmups: [],
      },
    ],
  ])('is refused when it is %s', (_, given) => {
    expect(() => completeDeclared(given, 1)).toThrow(expect.objectContaining({ code: 'INVALID_ARG' }));
  });
});
