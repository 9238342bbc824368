// Decides whether a failed request is sent again, and when. Names and back-off follow gRPC's retry policy (grpc/proposal, A6).

import { TritonError } from '../errors.js';
import { checkMembers, expectBoolean, expectInteger } from '../checks/check.js';
import { describe, expectMilliseconds } from './option-values.js';
import { retryAdviceOf } from './retry-advice.js';

/**
 * How requests are sent again. Without `idempotent` these are only requests that the server has provably not executed. It could not be
 * reached, or it refused them with words that it uses for nothing else.
 */
export interface RetryOptions {
  /** How many times a request is sent at most, the first time included. Default 3. */
  readonly maxAttempts?: number;
  /** How long to wait before the second attempt, in milliseconds, a fifth more or less at random. Default 100. */
  readonly initialBackoffMs?: number;
  /** The longest wait, in milliseconds, a fifth more or less. Default 2000. A server's Retry-After may be longer. */
  readonly maxBackoffMs?: number;
  /** Each wait is this many times as long as the one before. Default 2. */
  readonly backoffMultiplier?: number;
  /** Whether executing a request twice does no harm. Then it is sent again even if it may have been executed. Default false. */
  readonly idempotent?: boolean;
}

export type RetryPolicy = Required<RetryOptions>;

export const DEFAULT_RETRY: RetryPolicy = {
  maxAttempts: 3,
  initialBackoffMs: 100,
  maxBackoffMs: 2000,
  backoffMultiplier: 2,
  idempotent: false,
};

const MEMBERS = Object.keys(DEFAULT_RETRY);
const MOST_ATTEMPTS = 1000;

/** Members that are left out are as in `base`; false means one attempt. Throws INVALID_ARG. */
export function completeRetry(options: RetryOptions | false | undefined, base: RetryPolicy): RetryPolicy {
  if (options === undefined) return base;
  if (options === false) return { ...base, maxAttempts: 1, idempotent: false };
  checkMembers(options, MEMBERS, 'options.retry');
  const { maxAttempts, initialBackoffMs, maxBackoffMs, backoffMultiplier, idempotent } = options;
  return {
    maxAttempts: expectInteger(maxAttempts ?? base.maxAttempts, 1, MOST_ATTEMPTS, 'retry.maxAttempts'),
    initialBackoffMs: expectMilliseconds(initialBackoffMs ?? base.initialBackoffMs, 'retry.initialBackoffMs'),
    maxBackoffMs: expectMilliseconds(maxBackoffMs ?? base.maxBackoffMs, 'retry.maxBackoffMs'),
    backoffMultiplier: expectMultiplier(backoffMultiplier ?? base.backoffMultiplier),
    idempotent: expectBoolean(idempotent ?? base.idempotent, 'retry.idempotent'),
  };
}

function expectMultiplier(value: unknown): number {
  if (typeof value === 'number' && value >= 1 && Number.isFinite(value)) return value;
  const got = typeof value === 'number' ? String(value) : describe(value);
  throw new TritonError('INVALID_ARG', `retry.backoffMultiplier must be a number of at least 1, got ${got}`);
}

/** Each wait is shorter or longer by up to this share, at random: clients that failed together do not come back together. */
const JITTER = 0.2;

/**
 * How long to wait before the request is sent again, in milliseconds. Undefined if it is not. `attempt`: how often it was sent.
 * `random` is from 0 to 1.
 */
export function retryDelay(
  error: TritonError,
  attempt: number,
  policy: RetryPolicy,
  random: number,
): number | undefined {
  const advice = retryAdviceOf(error);
  if (advice === undefined || attempt >= policy.maxAttempts) return undefined;
  if (!advice.unexecuted && !policy.idempotent) return undefined;
  const { initialBackoffMs, maxBackoffMs, backoffMultiplier } = policy;
  const backoff = Math.min(initialBackoffMs * backoffMultiplier ** (attempt - 1), maxBackoffMs);
  return Math.max(backoff * (1 - JITTER + 2 * JITTER * random), advice.delayMs ?? 0);
}
