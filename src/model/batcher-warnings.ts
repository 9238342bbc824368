// Finds allowed settings that work against each other, so that a model does not batch as its owner expects. The log
// warns about them when the model loads.

import { DEFAULT_QUEUE_POLICY, type CompleteDynamicBatcher, type CompleteQueuePolicy } from './complete-batcher.js';
import type { CompleteModelConfig } from './complete-model-config.js';

/** What to tell about a model's batcher; usually nothing. */
export function batcherWarnings({
  name,
  maxBatchSize,
  dynamicBatching,
  inputs,
}: CompleteModelConfig): readonly string[] {
  if (dynamicBatching === undefined) return [];
  const warnings: string[] = [];
  const { maxQueueDelayMicroseconds: delay } = dynamicBatching;
  const policies = policiesOf(dynamicBatching);
  const places = policies.reduce((sum, { maxQueueSize }) => sum + (maxQueueSize === 0 ? Infinity : maxQueueSize), 0);
  if (places < maxBatchSize) {
    warnings.push(
      `model '${name}': only ${places} requests may wait (maxQueueSize), so that requests of one row never fill a batch of ${maxBatchSize}`,
    );
  }
  const hasty = policies.find(
    ({ timeoutAction, defaultTimeoutMicroseconds: timeout }) =>
      timeoutAction === 'REJECT' && timeout !== 0 && timeout <= delay,
  );
  if (hasty !== undefined) {
    warnings.push(
      `model '${name}': requests are refused after ${hasty.defaultTimeoutMicroseconds} us in the queue (defaultTimeoutMicroseconds), before a batch that is not full is sent after ${delay} us (maxQueueDelayMicroseconds)`,
    );
  }
  if (policies.some((policy) => policy.allowTimeoutOverride && policy.defaultTimeoutMicroseconds === 0)) {
    warnings.push(
      `model '${name}': allowTimeoutOverride has no effect without a defaultTimeoutMicroseconds, which a request could shorten`,
    );
  }
  if (policies.some((policy) => policy.timeoutAction === 'DELAY' && policy.defaultTimeoutMicroseconds === 0)) {
    warnings.push(
      `model '${name}': timeoutAction 'DELAY' has no effect without a defaultTimeoutMicroseconds, after which requests are delayed`,
    );
  }
  if (dynamicBatching.groupByShape && !inputs.some(({ shape, optional }) => optional || shape.includes(-1))) {
    warnings.push(
      `model '${name}': groupByShape has no effect on a model without open dimensions (-1) and optional inputs`,
    );
  }
  return warnings;
}

/** One policy for each level; levels without a policy of their own share one. */
function policiesOf(batcher: CompleteDynamicBatcher): readonly CompleteQueuePolicy[] {
  const { priorityLevels, priorityQueuePolicy, defaultQueuePolicy = DEFAULT_QUEUE_POLICY } = batcher;
  const own = Object.values(priorityQueuePolicy);
  const others = Math.max(1, priorityLevels) - own.length;
  return [...own, ...Array.from({ length: Math.min(others, 1000) }, () => defaultQueuePolicy)];
}
