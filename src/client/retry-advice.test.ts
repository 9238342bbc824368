import { describe, expect, it } from 'vitest';

import { adviceOfHttpStatus, adviceOfRefusal, parseRetryAfter } from './retry-advice.js';

describe('adviceOfRefusal', () => {
  it.each([
    '[request id: 7] Exceeds maximum queue size',
    'Exceeds maximum queue size',
    '[request id: <id_unknown>] Server is stopping, scheduler for model has stopped accepting new inference requests',
    "Request for unknown model: 'M' version 3 is not at ready state",
    'Server not ready',
    'GRPC server is shutting down and has stopped accepting new requests.',
  ])('knows that nothing was executed: %s', (message) => {
    expect(adviceOfRefusal(message, undefined)).toEqual({ unexecuted: true, delayMs: undefined });
  });

  it.each(["in ensemble 'E', [request id: 7] Exceeds maximum queue size", 'Server exiting', 'the device was lost', ''])(
    'cannot know whether it was: %s',
    (message) => {
      expect(adviceOfRefusal(message, undefined)).toEqual({ unexecuted: false, delayMs: undefined });
    },
  );

  it.each(['Request timeout expired', "This protocol is restricted, expecting header 'triton-grpc-protocol-a'"])(
    'has none for what will not change: %s',
    (message) => {
      expect(adviceOfRefusal(message, 5)).toBeUndefined();
    },
  );

  it('takes a server that says when to come again at its word', () => {
    expect(adviceOfRefusal('the device was lost', 5)).toEqual({ unexecuted: true, delayMs: 5 });
  });
});

describe('adviceOfHttpStatus', () => {
  it.each([
    [429, undefined, { unexecuted: true, delayMs: undefined }],
    [429, '2', { unexecuted: true, delayMs: 2000 }],
    [502, '2', { unexecuted: false }],
    [503, undefined, { unexecuted: false, delayMs: undefined }],
    [503, '0', { unexecuted: true, delayMs: 0 }],
    [504, undefined, { unexecuted: false }],
    [500, '1', undefined],
    [400, '1', undefined],
  ])('of %i with Retry-After %s', (status, retryAfter, advice) => {
    expect(adviceOfHttpStatus(status, 'text', retryAfter)).toEqual(advice);
  });
});

describe('parseRetryAfter', () => {
  const now = Date.UTC(2026, 10, 22, 12, 0, 0);
  it.each([
    [undefined, undefined],
    ['0', 0],
    ['120', 120_000],
    ['Sun, 22 Nov 2026 12:00:30 GMT', 30_000],
    ['Sun, 22 Nov 2026 11:00:00 GMT', 0],
    ['soon', undefined],
    ['-1', undefined],
    ['1.5', undefined],
    ['99999999999999', undefined],
    ['Xyz, nonsense', undefined],
  ])('reads %s as %s', (value, ms) => {
    expect(parseRetryAfter(value, now)).toBe(ms);
  });
});
