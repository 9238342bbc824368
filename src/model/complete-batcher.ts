// Checks the dynamic batcher's settings, with Triton's rules and texts (validation of ModelDynamicBatching).

import { invalidArg } from '../errors.js';
import { checkMembers, expectBoolean, expectAtLeast, expectInteger, expectObject, textOf } from '../checks/check.js';
import { type DynamicBatcher, type QueuePolicy, TimeoutAction } from './model-config.js';

export interface CompleteQueuePolicy {
  readonly timeoutAction: TimeoutAction;
  readonly defaultTimeoutMicroseconds: number;
  readonly allowTimeoutOverride: boolean;
  readonly maxQueueSize: number;
}

export interface CompleteDynamicBatcher {
  readonly maxQueueDelayMicroseconds: number;
  /** Never empty: the maximum batch size when none was given. In the order given. */
  readonly preferredBatchSize: readonly number[];
  readonly preserveOrdering: boolean;
  /** Whether each shape has a queue of its own. Ours, not Triton's. */
  readonly groupByShape?: boolean;
  readonly priorityLevels: number;
  readonly defaultPriorityLevel: number;
  /** Undefined when the user gave none, which `/config` shows; scheduling then uses {@link DEFAULT_QUEUE_POLICY}. */
  readonly defaultQueuePolicy: CompleteQueuePolicy | undefined;
  readonly priorityQueuePolicy: Readonly<Record<number, CompleteQueuePolicy>>;
}

export const DEFAULT_QUEUE_POLICY: CompleteQueuePolicy = {
  timeoutAction: 'REJECT',
  defaultTimeoutMicroseconds: 0,
  allowTimeoutOverride: false,
  maxQueueSize: 0,
};

/** The settings of a batcher that only puts requests together, in the order of their arrival and without a delay. */
export const PLAIN_BATCHER: CompleteDynamicBatcher = {
  maxQueueDelayMicroseconds: 0,
  preferredBatchSize: [],
  preserveOrdering: false,
  priorityLevels: 0,
  defaultPriorityLevel: 0,
  defaultQueuePolicy: undefined,
  priorityQueuePolicy: {},
};

export const BATCHER_MEMBERS = [
  'maxQueueDelayMicroseconds',
  'preferredBatchSize',
  'preserveOrdering',
  'groupByShape',
  'priorityLevels',
  'defaultPriorityLevel',
  'defaultQueuePolicy',
  'priorityQueuePolicy',
];
const POLICY_MEMBERS = ['timeoutAction', 'defaultTimeoutMicroseconds', 'allowTimeoutOverride', 'maxQueueSize'];
const UINT32 = 4_294_967_295;

/** `where` names the model in messages. Throws INVALID_ARG with the rule that was broken. */
export function completeBatcher(batcher: DynamicBatcher, maxBatchSize: number, where: string): CompleteDynamicBatcher {
  checkMembers(batcher, BATCHER_MEMBERS, `config.batcher of ${where}`);
  const at = (member: string) => `config.batcher.${member} of ${where}`;
  const priorityLevels = expectAtLeast(batcher.priorityLevels ?? 0, 0, at('priorityLevels'));
  const preserveOrdering = expectBoolean(batcher.preserveOrdering ?? false, at('preserveOrdering'));
  const groupByShape = expectBoolean(batcher.groupByShape ?? false, at('groupByShape'));
  const defaultQueuePolicy =
    batcher.defaultQueuePolicy === undefined
      ? undefined
      : completePolicy(batcher.defaultQueuePolicy, at('defaultQueuePolicy'));
  const priorityQueuePolicy = completePolicies(batcher.priorityQueuePolicy ?? {}, priorityLevels, where);
  if (preserveOrdering && priorityLevels > 1) {
    throw invalidArg(`Only one priority level is allowed when 'preserve_ordering' is true for ${where}`);
  }
  const policies = [
    ...Object.values(priorityQueuePolicy),
    ...(defaultQueuePolicy === undefined ? [] : [defaultQueuePolicy]),
  ];
  // Without a timeout the batcher never delays a request, and Triton accepts that.
  const delays = policies.some(
    ({ timeoutAction, defaultTimeoutMicroseconds }) => timeoutAction === 'DELAY' && defaultTimeoutMicroseconds > 0,
  );
  if (preserveOrdering && delays) {
    throw invalidArg(`Queue policy can not have DELAY as timeout action when 'preserve_ordering' is true for ${where}`);
  }
  return {
    maxQueueDelayMicroseconds: expectAtLeast(
      batcher.maxQueueDelayMicroseconds ?? 0,
      0,
      at('maxQueueDelayMicroseconds'),
    ),
    preferredBatchSize: completePreferred(batcher.preferredBatchSize ?? [], maxBatchSize, where),
    preserveOrdering,
    ...(groupByShape && { groupByShape }),
    priorityLevels,
    defaultPriorityLevel: completeDefaultLevel(batcher.defaultPriorityLevel, priorityLevels, where),
    defaultQueuePolicy,
    priorityQueuePolicy,
  };
}

function completePreferred(sizes: readonly number[], maxBatchSize: number, where: string): readonly number[] {
  if (!Array.isArray(sizes))
    throw invalidArg(`config.batcher.preferredBatchSize of ${where} must be a list, got ${textOf(sizes)}`);
  for (const size of sizes as readonly unknown[]) {
    if (!Number.isInteger(size)) {
      throw invalidArg(
        `config.batcher.preferredBatchSize of ${where} must hold integers from 1 to ${maxBatchSize}, got ${textOf(size)}`,
      );
    }
    if ((size as number) <= 0) {
      throw invalidArg(`dynamic batching preferred size must be positive for ${where}, got ${String(size)}`);
    }
    if ((size as number) > maxBatchSize) {
      throw invalidArg(
        `dynamic batching preferred size must be <= max batch size for ${where}, got ${String(size)} with a maximum of ${maxBatchSize}`,
      );
    }
  }
  return sizes.length === 0 ? [maxBatchSize] : [...sizes];
}

function completeDefaultLevel(level: number | undefined, levels: number, where: string): number {
  const given = expectAtLeast(level ?? 0, 0, `config.batcher.defaultPriorityLevel of ${where}`);
  if (levels > 0 && (given < 1 || given > levels)) {
    throw invalidArg(`default priority level must be in range [1, ${levels}] for ${where}, got ${given}`);
  }
  if (levels === 0 && given > 0) {
    throw invalidArg(
      `config.batcher.defaultPriorityLevel of ${where} needs priorityLevels, got ${given} with no levels`,
    );
  }
  return given;
}

function completePolicies(
  policies: Readonly<Record<number, QueuePolicy>>,
  levels: number,
  where: string,
): Readonly<Record<number, CompleteQueuePolicy>> {
  expectObject(policies, `config.batcher.priorityQueuePolicy of ${where}`);
  const complete: Record<number, CompleteQueuePolicy> = {};
  for (const [key, policy] of Object.entries(policies)) {
    const level = Number(key);
    if (levels === 0) {
      throw invalidArg(
        `config.batcher.priorityQueuePolicy of ${where} needs priorityLevels, got a policy for level ${key} with no levels`,
      );
    }
    // '1' and '01' would be one level, and one policy would be lost.
    if (!Number.isSafeInteger(level) || level < 1 || level > levels || key !== String(level)) {
      throw invalidArg(
        `priority queue policy must have priority level in range [1, ${levels}] for ${where}, got ${key}`,
      );
    }
    complete[level] = completePolicy(policy as QueuePolicy, `config.batcher.priorityQueuePolicy[${key}] of ${where}`);
  }
  return complete;
}

function completePolicy(policy: QueuePolicy, what: string): CompleteQueuePolicy {
  checkMembers(policy, POLICY_MEMBERS, what);
  const timeoutAction = policy.timeoutAction ?? 'REJECT';
  if (!Object.hasOwn(TimeoutAction, timeoutAction)) {
    throw invalidArg(`timeoutAction of ${what} must be 'REJECT' or 'DELAY', got ${JSON.stringify(timeoutAction)}`);
  }
  return {
    timeoutAction,
    defaultTimeoutMicroseconds: expectAtLeast(
      policy.defaultTimeoutMicroseconds ?? 0,
      0,
      `defaultTimeoutMicroseconds of ${what}`,
    ),
    allowTimeoutOverride: expectBoolean(policy.allowTimeoutOverride ?? false, `allowTimeoutOverride of ${what}`),
    maxQueueSize: expectInteger(policy.maxQueueSize ?? 0, 0, UINT32, `maxQueueSize of ${what}`),
  };
}
