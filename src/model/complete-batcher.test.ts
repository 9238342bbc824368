import { describe, expect, it } from 'vitest';

import { completeBatcher } from './complete-batcher.js';
import type { DynamicBatcher } from './model-config.js';

function complete(batcher: object) {
  return completeBatcher(batcher as DynamicBatcher, 8, "model 'm'");
}

const REJECT = {
  timeoutAction: 'REJECT',
  defaultTimeoutMicroseconds: 0,
  allowTimeoutOverride: false,
  maxQueueSize: 0,
};

describe('completeBatcher', () => {
  it("fills in Triton's defaults: the preferred size is the maximum", () => {
    expect(complete({})).toEqual({
      maxQueueDelayMicroseconds: 0,
      preferredBatchSize: [8],
      preserveOrdering: false,
      priorityLevels: 0,
      defaultPriorityLevel: 0,
      defaultQueuePolicy: undefined,
      priorityQueuePolicy: {},
    });
    expect(complete({ preferredBatchSize: [] }).preferredBatchSize).toEqual([8]);
  });

  it('keeps everything that was given, sizes in their order', () => {
    const policy = {
      timeoutAction: 'DELAY',
      defaultTimeoutMicroseconds: 5,
      allowTimeoutOverride: true,
      maxQueueSize: 7,
    } as const;
    const given = {
      maxQueueDelayMicroseconds: 100,
      preferredBatchSize: [8, 2, 4],
      preserveOrdering: false,
      priorityLevels: 3,
      defaultPriorityLevel: 2,
      defaultQueuePolicy: policy,
      priorityQueuePolicy: { 1: { maxQueueSize: 1 }, 3: policy },
    };
    expect(complete(given)).toEqual({
      ...given,
      priorityQueuePolicy: { 1: { ...REJECT, maxQueueSize: 1 }, 3: policy },
    });
  });

  it('does not keep the list that was given', () => {
    const sizes = [2];
    const { preferredBatchSize } = complete({ preferredBatchSize: sizes });
    sizes.push(99);
    expect(preferredBatchSize).toEqual([2]);
  });

  it('fills in a policy without members', () => {
    expect(complete({ defaultQueuePolicy: {} }).defaultQueuePolicy).toEqual(REJECT);
  });

  it.each<[string, object]>([
    ['an order to preserve with one level', { preserveOrdering: true, priorityLevels: 1, defaultPriorityLevel: 1 }],
    [
      'an order to preserve with DELAY but no timeout',
      { preserveOrdering: true, defaultQueuePolicy: { timeoutAction: 'DELAY' } },
    ],
    [
      'an order to preserve with REJECT',
      { preserveOrdering: true, defaultQueuePolicy: { defaultTimeoutMicroseconds: 1 } },
    ],
    ['the largest queue', { defaultQueuePolicy: { maxQueueSize: 4_294_967_295 } }],
  ])('takes %s', (_, batcher) => {
    expect(() => complete(batcher)).not.toThrow();
  });

  it.each<[string, object, string]>([
    [
      'a misspelt option',
      { maxQueueDelay: 1 },
      "config.batcher of model 'm' has an unknown option 'maxQueueDelay'; known are maxQueueDelayMicroseconds, preferredBatchSize, preserveOrdering, groupByShape, priorityLevels, defaultPriorityLevel, defaultQueuePolicy, priorityQueuePolicy",
    ],
    [
      'an option in snake case',
      { preserve_ordering: true },
      "config.batcher of model 'm' has an unknown option 'preserve_ordering'; did you mean 'preserveOrdering'?",
    ],
    [
      'a misspelt option of a policy',
      { defaultQueuePolicy: { maxQueueSizes: 1 } },
      "config.batcher.defaultQueuePolicy of model 'm' has an unknown option 'maxQueueSizes'; did you mean 'maxQueueSize'?",
    ],
    [
      'a preferred size above the maximum',
      { preferredBatchSize: [4, 16] },
      "dynamic batching preferred size must be <= max batch size for model 'm', got 16 with a maximum of 8",
    ],
    [
      'a preferred size of 0',
      { preferredBatchSize: [0] },
      "dynamic batching preferred size must be positive for model 'm', got 0",
    ],
    [
      'a preferred size that is no integer',
      { preferredBatchSize: [1.5] },
      "config.batcher.preferredBatchSize of model 'm' must hold integers from 1 to 8, got 1.5",
    ],
    [
      'a preferred size without a list',
      { preferredBatchSize: 4 },
      "config.batcher.preferredBatchSize of model 'm' must be a list, got 4",
    ],
    [
      'a preferred size that is a text',
      { preferredBatchSize: ['4'] },
      'config.batcher.preferredBatchSize of model \'m\' must hold integers from 1 to 8, got "4"',
    ],
    [
      'a preferred size beyond all integers',
      { preferredBatchSize: [2 ** 53] },
      "dynamic batching preferred size must be <= max batch size for model 'm', got 9007199254740992 with a maximum of 8",
    ],
    [
      'more levels than can be counted',
      { priorityLevels: 2 ** 64 - 1, defaultPriorityLevel: 1 },
      "config.batcher.priorityLevels of model 'm' must be an integer from 0 to 9007199254740991, got 18446744073709552000",
    ],
    [
      'a negative delay',
      { maxQueueDelayMicroseconds: -1 },
      "config.batcher.maxQueueDelayMicroseconds of model 'm' must be an integer >= 0, got -1",
    ],
    [
      'levels without a default one',
      { priorityLevels: 3 },
      "default priority level must be in range [1, 3] for model 'm', got 0",
    ],
    [
      'a default level above the levels',
      { priorityLevels: 2, defaultPriorityLevel: 3 },
      "default priority level must be in range [1, 2] for model 'm', got 3",
    ],
    [
      'a default level without levels',
      { defaultPriorityLevel: 1 },
      "config.batcher.defaultPriorityLevel of model 'm' needs priorityLevels, got 1 with no levels",
    ],
    [
      'an order to preserve among levels',
      { preserveOrdering: true, priorityLevels: 2, defaultPriorityLevel: 1 },
      "Only one priority level is allowed when 'preserve_ordering' is true for model 'm'",
    ],
    [
      'an order to preserve with delays',
      { preserveOrdering: true, defaultQueuePolicy: { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 1 } },
      "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for model 'm'",
    ],
    [
      'an order to preserve with delays of a level',
      {
        preserveOrdering: true,
        priorityLevels: 1,
        defaultPriorityLevel: 1,
        priorityQueuePolicy: { 1: { timeoutAction: 'DELAY', defaultTimeoutMicroseconds: 1 } },
      },
      "Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for model 'm'",
    ],
    [
      'policies of levels without levels',
      { priorityQueuePolicy: { 1: {} } },
      "config.batcher.priorityQueuePolicy of model 'm' needs priorityLevels, got a policy for level 1 with no levels",
    ],
    [
      'a policy of level 0',
      { priorityLevels: 2, defaultPriorityLevel: 1, priorityQueuePolicy: { 0: {} } },
      "priority queue policy must have priority level in range [1, 2] for model 'm', got 0",
    ],
    [
      'a policy above the levels',
      { priorityLevels: 2, defaultPriorityLevel: 1, priorityQueuePolicy: { 3: {} } },
      "priority queue policy must have priority level in range [1, 2] for model 'm', got 3",
    ],
    [
      'a policy of no level',
      { priorityLevels: 2, defaultPriorityLevel: 1, priorityQueuePolicy: { first: {} } },
      "priority queue policy must have priority level in range [1, 2] for model 'm', got first",
    ],
    [
      'a policy of a level in another spelling, which another policy may have too',
      { priorityLevels: 2, defaultPriorityLevel: 1, priorityQueuePolicy: { '01': {} } },
      "priority queue policy must have priority level in range [1, 2] for model 'm', got 01",
    ],
    [
      'policies in a Map, which has no members',
      { priorityLevels: 2, defaultPriorityLevel: 1, priorityQueuePolicy: new Map([[1, { maxQueueSize: 1 }]]) },
      "config.batcher.priorityQueuePolicy of model 'm' must be an object, got a Map",
    ],
    [
      'policies in a list, which would begin with level 0',
      { priorityLevels: 2, defaultPriorityLevel: 1, priorityQueuePolicy: [{}] },
      "config.batcher.priorityQueuePolicy of model 'm' must be an object, got a list",
    ],
    [
      'a policy that is none',
      { priorityLevels: 2, defaultPriorityLevel: 1, priorityQueuePolicy: { 1: null } },
      "config.batcher.priorityQueuePolicy[1] of model 'm' must be an object, got null",
    ],
    [
      'an unknown action',
      { defaultQueuePolicy: { timeoutAction: 'DROP' } },
      "timeoutAction of config.batcher.defaultQueuePolicy of model 'm' must be 'REJECT' or 'DELAY', got \"DROP\"",
    ],
    [
      'an action that every object has',
      { defaultQueuePolicy: { timeoutAction: 'toString' } },
      "timeoutAction of config.batcher.defaultQueuePolicy of model 'm' must be 'REJECT' or 'DELAY', got \"toString\"",
    ],
    [
      'a queue that is too long',
      { defaultQueuePolicy: { maxQueueSize: 2 ** 32 } },
      "maxQueueSize of config.batcher.defaultQueuePolicy of model 'm' must be an integer from 0 to 4294967295, got 4294967296",
    ],
    [
      'a negative timeout',
      { defaultQueuePolicy: { defaultTimeoutMicroseconds: -1 } },
      "defaultTimeoutMicroseconds of config.batcher.defaultQueuePolicy of model 'm' must be an integer >= 0, got -1",
    ],
    [
      'a boolean that is none',
      { defaultQueuePolicy: { allowTimeoutOverride: 1 } },
      "allowTimeoutOverride of config.batcher.defaultQueuePolicy of model 'm' must be true or false, got 1",
    ],
    [
      'an order that is none',
      { preserveOrdering: 'yes' },
      'config.batcher.preserveOrdering of model \'m\' must be true or false, got "yes"',
    ],
  ])('refuses %s', (_, batcher, message) => {
    expect(() => complete(batcher)).toThrow(expect.objectContaining({ code: 'INVALID_ARG', message }));
  });
});
