import { describe, expect, it } from 'vitest';

import { adviceOfHttpStatus, adviceOfRefusal, parseRetryAfter } from './retry-advice.js';

describe('adviceOfRefusal', () => {
  it.each([
    '[request id: 7] Exceeds maximum queue size',
    'Exceeds maximum queue size',
    '[request id: <id_unknown>] Server is stopping, scheduler for model has stopped accepting new inference requests',
    "Request for unknown model: 'M' version 3 is not at ready state",
    "Request for unknown model: 'M' has no available versions",
    'Server not ready',
    'GRPC server is shutting down and has stopped accepting new requests.',
    "model 'M' is not ready: all instances have ended",
    "model 'M' is not ready: all instances ended while the request waited",
    "model 'M' is not ready: all instances are busy with batches that took too long",
    "model 'M' is not ready: the thread that it runs in is blocked",
    'the requests of all clients together hold too many bytes: try again later',
    'there is no room for what the request inflates to: try again later',
    'there is no room for what the message inflates to: try again later',
    'there is no memory for a request of 1000000000 bytes',
    'there is no memory for a message of 1000000000 bytes',
    'there are too many connections: try again later',
  ])('knows that nothing was executed: %s', (message) => {
    expect(adviceOfRefusal(message, undefined)).toEqual({ unexecuted: true, delayMs: undefined });
  });

  it.each([
    "in ensemble 'E', [request id: 7] Exceeds maximum queue size",
    "model 'M' failed while it ran: Exceeds maximum queue size",
    'Exceeds maximum queue size\n',
    'there is no room for the answer: too many bytes of answers wait for their clients',
    'Server exiting',
    'the device was lost',
    '',
  ])('cannot know whether it was: %j', (message) => {
    expect(adviceOfRefusal(message, undefined)).toEqual({ unexecuted: false, delayMs: undefined });
    // To say when to come again proves nothing.
    expect(adviceOfRefusal(message, 5)).toEqual({ unexecuted: false, delayMs: 5 });
  });

  it.each([
    'Request timeout expired',
    "This protocol is restricted, expecting header 'triton-grpc-protocol-a'",
    'Received message larger than max (5 vs. 4)',
  ])('has none for what will not change: %s', (message) => {
    expect(adviceOfRefusal(message, 5)).toBeUndefined();
  });
});

describe('adviceOfHttpStatus', () => {
  it.each([
    [429, undefined, { unexecuted: true, delayMs: undefined }],
    [429, '2', { unexecuted: true, delayMs: 2000 }],
    [502, '2', { unexecuted: false }],
    [503, undefined, { unexecuted: false, delayMs: undefined }],
    [503, '0', { unexecuted: false, delayMs: 0 }],
    [504, undefined, { unexecuted: false }],
    [500, '1', undefined],
    [400, '1', undefined],
  ])('of %i with Retry-After %s', (status, retryAfter, advice) => {
    expect(adviceOfHttpStatus(status, 'text', retryAfter)).toEqual(advice);
  });

  it('of 404 is to try again where the server has unloaded the model', () => {
    const unloaded = "Request for unknown model: 'M' has no available versions";
    expect(adviceOfHttpStatus(404, unloaded, undefined)).toEqual({ unexecuted: true });
    expect(adviceOfHttpStatus(404, "Request for unknown model: 'M' is not found", undefined)).toBeUndefined();
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
