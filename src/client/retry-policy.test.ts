import { describe, expect, it } from 'vitest';

import { TritonError } from '../errors.js';
import { withRetryAdvice, type RetryAdvice } from './retry-advice.js';
import { completeRetry, DEFAULT_RETRY, retryDelay, type RetryPolicy } from './retry-policy.js';

const ERROR = new TritonError('UNAVAILABLE', 'later');

function delay(advice: RetryAdvice | undefined, attempt: number, policy: Partial<RetryPolicy>, random = 0.5) {
  const error = withRetryAdvice(new TritonError('UNAVAILABLE', 'later'), advice);
  return retryDelay(error, attempt, { ...DEFAULT_RETRY, ...policy }, random);
}

describe('retryDelay', () => {
  const unexecuted = { unexecuted: true };
  it.each([
    ['an error that nothing is known of', undefined, 1, { idempotent: true }, undefined],
    ['what was not executed', unexecuted, 1, {}, 100],
    ['what was not executed, again', unexecuted, 2, {}, 200],
    ['the last attempt', unexecuted, 3, {}, undefined],
    ['one attempt', unexecuted, 1, { maxAttempts: 1 }, undefined],
    ['what may have been executed', { unexecuted: false }, 1, {}, undefined],
    ['what may be executed twice', { unexecuted: false }, 1, { idempotent: true }, 100],
    ['the longest wait', unexecuted, 9, { maxAttempts: 99, maxBackoffMs: 1234 }, 1234],
    ['another multiplier', unexecuted, 3, { maxAttempts: 9, backoffMultiplier: 3 }, 900],
    ['the time that the server asks for', { unexecuted: true, delayMs: 5000 }, 1, {}, 5000],
    ['a shorter time that the server asks for', { unexecuted: true, delayMs: 1 }, 1, {}, 100],
  ])('%s', (_, advice, attempt, policy, expected) => {
    expect(delay(advice, attempt, policy)).toBe(expected);
  });

  it('is a fifth shorter or longer by chance', () => {
    expect(delay(unexecuted, 1, {}, 0)).toBe(80);
    expect(delay(unexecuted, 1, {}, 1)).toBeCloseTo(120);
  });

  it('knows nothing of errors without advice', () => {
    expect(retryDelay(ERROR, 1, DEFAULT_RETRY, 0)).toBeUndefined();
  });
});

describe('completeRetry', () => {
  it('takes what is left out from the base, and false for one attempt', () => {
    expect(completeRetry(undefined, DEFAULT_RETRY)).toBe(DEFAULT_RETRY);
    expect(completeRetry({ maxAttempts: 9 }, { ...DEFAULT_RETRY, idempotent: true })).toEqual({
      ...DEFAULT_RETRY,
      idempotent: true,
      maxAttempts: 9,
    });
    expect(completeRetry(false, DEFAULT_RETRY)).toMatchObject({ maxAttempts: 1 });
  });

  it.each([
    [{ maxAttempts: 0 }, 'retry.maxAttempts must be an integer from 1 to 1000, got 0'],
    [{ maxAttempts: 1.5 }, 'retry.maxAttempts must be an integer from 1 to 1000, got 1.5'],
    [{ initialBackoffMs: -1 }, 'retry.initialBackoffMs must be a number above 0 and at most 2147483647, got -1'],
    [{ maxBackoffMs: NaN }, 'retry.maxBackoffMs must be a number above 0 and at most 2147483647, got NaN'],
    [{ backoffMultiplier: 0.5 }, 'retry.backoffMultiplier must be a number of at least 1, got 0.5'],
    [{ backoffMultiplier: '2' }, 'retry.backoffMultiplier must be a number of at least 1, got string'],
    [{ idempotent: 1 }, 'retry.idempotent must be true or false, got 1'],
    [{ maxAttempt: 2 }, "options.retry has an unknown option 'maxAttempt'; did you mean 'maxAttempts'?"],
    [true, 'options.retry must be an object, got boolean'],
  ])('refuses %j', (options, message) => {
    expect(() => completeRetry(options as never, DEFAULT_RETRY)).toThrow(message);
  });
});
