// Says in the log, once a second, what a stop waits for: whoever watches must not have to guess why it takes long.

import type { Logger } from '../model/logger.js';

type Log = Pick<Logger, 'info'>;

/** Writes what there is to say every second until the function that this gives is called. */
export function logEverySecond(logger: Log, say: (seconds: number) => readonly string[]): () => void {
  let seconds = 0;
  const timer = setInterval(() => {
    for (const line of say(++seconds)) logger.info(line);
  }, 1000);
  // A process that nothing else keeps alive ends as it would without a log.
  timer.unref();
  return () => clearInterval(timer);
}

/** Awaits `promise`, and says every second that it does. */
export async function loggedWait<T>(promise: Promise<T>, logger: Log | undefined, what: string): Promise<T> {
  if (logger === undefined) return promise;
  const end = logEverySecond(logger, () => [`Waiting for ${what}`]);
  try {
    return await promise;
  } finally {
    end();
  }
}

/** Requests that a model version has accepted and not answered. */
export interface InflightModel {
  readonly config: { readonly name: string; readonly version: number };
  readonly inflight: number;
}

/** In Triton's words; where no inference is under way, what else is. Nothing when there is nothing. */
export function waitingLines(
  models: readonly InflightModel[],
  connections: number,
  secondsLeft: number,
): readonly string[] {
  const timeout = `Timeout ${Math.max(0, Math.ceil(secondsLeft))}: Found`;
  const busy = models.filter(({ inflight }) => inflight > 0);
  if (busy.length === 0 && connections === 0) return [];
  if (busy.length === 0) return [`${timeout} ${connections} connections that have requests or answers under way`];
  return [
    `${timeout} ${busy.length} model versions that have in-flight inferences`,
    ...busy.map(
      ({ config: { name, version }, inflight }) =>
        `Model '${name}' (version ${version}) has ${inflight} in-flight inferences`,
    ),
  ];
}
