// Logs once a second what a stop waits for, so that nobody has to guess why it takes long.

import type { Logger } from '../observability/logger.js';

type Log = Pick<Logger, 'info'>;

/** Logs the lines of `say` every second, until the returned function is called. */
export function logEverySecond(logger: Log, say: (seconds: number) => readonly string[]): () => void {
  let seconds = 0;
  const timer = setInterval(() => {
    for (const line of say(++seconds)) logger.info(line);
  }, 1000);
  // The log alone must not keep a process alive.
  timer.unref();
  return () => clearInterval(timer);
}

/** Awaits `promise`, and logs this every second. */
export async function loggedWait<T>(promise: Promise<T>, logger: Log | undefined, what: string): Promise<T> {
  if (logger === undefined) return promise;
  const end = logEverySecond(logger, () => [`Waiting for ${what}`]);
  try {
    return await promise;
  } finally {
    end();
  }
}

/** Sequences of a model version that are not over. */
export interface ModelSequences {
  readonly config: InflightModel['config'];
  readonly liveSequences: number;
}

/** The lines about live sequences. Empty without any. */
export function sequenceLines(models: readonly ModelSequences[], secondsLeft: number): readonly string[] {
  const live = models.filter(({ liveSequences }) => liveSequences > 0);
  if (live.length === 0) return [];
  return [
    `Timeout ${Math.max(0, Math.ceil(secondsLeft))}: Found ${live.length} model versions that have live sequences`,
    ...live.map(
      ({ config: { name, version }, liveSequences }) =>
        `Model '${name}' (version ${version}) has ${liveSequences} live sequences`,
    ),
  ];
}

/** Requests that a model version has accepted and not answered. */
export interface InflightModel {
  readonly config: { readonly name: string; readonly version: number };
  readonly inflight: number;
}

/** The lines in Triton's words; without an inference under way, other work. Empty without any work. */
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
