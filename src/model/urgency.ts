// How urgent a request is in the queue of a model. Calls between models take over the urgency of the requests that they
// are made for.

/** Members of a request, under the names of Triton's API. */
export interface Urgency {
  /** The level of priority that the client asked for, 1 being the most urgent; 0 where it named none. */
  readonly priority: number;
  /** How long the request may wait in a queue, in microseconds, where the model's policy lets requests say so; 0 where it named none. */
  readonly timeoutMicroseconds: number;
}

/**
 * The urgency of a call that is made for all of these requests: the most urgent level that any of them names, and the longest
 * of their timeouts. A request without a timeout waits as long as it takes, so that the call does too.
 */
export function urgencyOf(requests: readonly Urgency[]): Urgency {
  let priority = 0;
  let timeoutMicroseconds = requests[0]?.timeoutMicroseconds ?? 0;
  for (const request of requests) {
    if (request.priority !== 0 && (priority === 0 || request.priority < priority)) priority = request.priority;
    if (request.timeoutMicroseconds === 0) timeoutMicroseconds = 0;
    else if (timeoutMicroseconds !== 0)
      timeoutMicroseconds = Math.max(timeoutMicroseconds, request.timeoutMicroseconds);
  }
  return { priority, timeoutMicroseconds };
}
