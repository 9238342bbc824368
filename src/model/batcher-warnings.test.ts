import { describe, expect, it } from 'vitest';

import { batcherWarnings } from './batcher-warnings.js';
import { completeModelConfig } from './complete-model.js';
import type { DynamicBatcher } from './model-config.js';

function warningsOf(batcher: DynamicBatcher | null, batching = true): readonly string[] {
  const config = { batcher, batching, maxBatchSize: 8 };
  return batcherWarnings(completeModelConfig({ modelName: 'm', inputs: {}, outputs: {}, config }, 1));
}

describe('batcherWarnings', () => {
  it('tells when too few requests may wait for a full batch', () => {
    expect(warningsOf({ defaultQueuePolicy: { maxQueueSize: 7 } })).toEqual([
      "model 'm': only 7 requests may wait (maxQueueSize), so that requests of one row never fill a batch of 8",
    ]);
    const levels = { priorityLevels: 2, defaultPriorityLevel: 1, priorityQueuePolicy: { 1: { maxQueueSize: 3 } } };
    expect(warningsOf({ ...levels, defaultQueuePolicy: { maxQueueSize: 4 } })).toHaveLength(1);
  });

  it('tells when requests time out before their delay is over', () => {
    const policy = { defaultTimeoutMicroseconds: 100 };
    expect(warningsOf({ maxQueueDelayMicroseconds: 100, defaultQueuePolicy: policy })).toEqual([
      "model 'm': requests are refused after 100 us in the queue (defaultTimeoutMicroseconds), before a batch that is not full is sent after 100 us (maxQueueDelayMicroseconds)",
    ]);
  });

  it('tells when a policy is about timeouts and has none', () => {
    expect(warningsOf({ defaultQueuePolicy: { allowTimeoutOverride: true, timeoutAction: 'DELAY' } })).toEqual([
      "model 'm': allowTimeoutOverride has no effect without a defaultTimeoutMicroseconds, which a request could shorten",
      "model 'm': timeoutAction 'DELAY' has no effect without a defaultTimeoutMicroseconds, after which requests are delayed",
    ]);
  });

  it('tells when requests of one shape are to be grouped by it', () => {
    expect(warningsOf({ groupByShape: true })).toEqual([
      "model 'm': groupByShape has no effect on a model without open dimensions (-1) and optional inputs",
    ]);
    const batcher = { groupByShape: true };
    const outputs = { y: { dtype: 'float32', shape: [1] } } as const;
    for (const x of [
      { dtype: 'float32', shape: [-1] },
      { dtype: 'float32', shape: [1], optional: true },
    ] as const)
      expect(
        batcherWarnings(completeModelConfig({ modelName: 'm', inputs: { x }, outputs, config: { batcher } }, 1)),
      ).toEqual([]);
  });

  it.each<[string, DynamicBatcher | null, boolean?]>([
    ['no batcher', null],
    ['no batch axis', {}, false],
    ['no limits', {}],
    ['room for a full batch', { defaultQueuePolicy: { maxQueueSize: 8 } }],
    [
      'room for one in all levels together',
      { priorityLevels: 2, defaultPriorityLevel: 1, defaultQueuePolicy: { maxQueueSize: 4 } },
    ],
    [
      'a level without a limit',
      { priorityLevels: 2, defaultPriorityLevel: 1, priorityQueuePolicy: { 1: { maxQueueSize: 1 } } },
    ],
    ['very many levels', { priorityLevels: 1e15, defaultPriorityLevel: 1, defaultQueuePolicy: { maxQueueSize: 1 } }],
    [
      'a timeout that may be shortened',
      { defaultQueuePolicy: { allowTimeoutOverride: true, defaultTimeoutMicroseconds: 1 } },
    ],
    [
      'a timeout after the delay',
      { maxQueueDelayMicroseconds: 99, defaultQueuePolicy: { defaultTimeoutMicroseconds: 100 } },
    ],
    [
      'a timeout that refuses nobody',
      {
        maxQueueDelayMicroseconds: 100,
        defaultQueuePolicy: { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 100 },
      },
    ],
  ])('has nothing to say about %s', (_, batcher, batching) => {
    expect(warningsOf(batcher, batching)).toEqual([]);
  });
});
