// Which errors tell a client that its request was turned away before it was accepted. Such a request is in no statistic of
// the protocol's and never ran; one that was accepted and then failed, whatever the reason, is counted as a failure.
// `src/server/request-ends.test.ts` holds this against what the engine says and counts.

const REFUSALS: readonly RegExp[] = [
  /Exceeds maximum queue size$/,
  /Request for unknown model/,
  /is not ready: all instances have ended$/,
  /Server is stopping, scheduler for model has stopped accepting new inference requests$/,
  /batch-size must be <= \d+/,
];

export function isRefusal(text: string): boolean {
  return REFUSALS.some((pattern) => pattern.test(text));
}
