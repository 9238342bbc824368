// Runs the long phases of a stop: the server serves on until clients have noticed, then waits for live sequences, then for the
// requests under way.

import type { InferenceServer } from '../core/inference-server.js';
import type { Frontend } from '../frontend/frontend.js';
import { TIMED_OUT, within } from '../lifecycle/within.js';
import type { Logger } from '../observability/logger.js';
import type { StopTimes } from './server-options.js';
import { logEverySecond, sequenceLines, waitingLines } from './waiting-log.js';

interface StoppingServer {
  readonly engine: InferenceServer;
  readonly frontends: readonly Frontend[];
  readonly logger: Logger;
}

const LOOK_MILLISECONDS = 10;

/**
 * Serves on for `delaySecs` without being ready, so that load balancers notice it and clients move to other
 * connections. Without a delay it serves on for `graceSecs` while connections are open, because clients may have sent
 * requests before they hear of the end. Where sequences live, their clients stay on their connections: another server does not
 * know these sequences.
 */
export async function leave(
  { engine, frontends, logger }: StoppingServer,
  { delaySecs, graceSecs }: StopTimes,
): Promise<void> {
  engine.leave();
  const hasSequences = liveSequences(engine) > 0;
  if (!hasSequences) for (const frontend of frontends) frontend.retire();
  if (delaySecs === 0) {
    if (hasSequences) return;
    const end = performance.now() + graceSecs * 1000;
    const areOpen = () => frontends.some(({ connections }) => connections > 0);
    while (areOpen() && performance.now() < end) await pause(LOOK_MILLISECONDS);
    return;
  }
  const say = (elapsed: number) => [`Not ready any more; serving for another ${delaySecs - elapsed} s`];
  for (const line of say(0)) logger.info(line);
  const end = logEverySecond(logger, say);
  await pause(delaySecs * 1000);
  end();
}

/**
 * Serves live sequences until they are over, for `timeoutSecs` at most, and refuses all other requests. Resolves with the seconds
 * that are left of these; at once without live sequences.
 */
export async function finishSequences({ engine, logger }: StoppingServer, timeoutSecs: number): Promise<number> {
  if (liveSequences(engine) === 0) return timeoutSecs;
  const begunAt = performance.now();
  const waiting = (seconds: number) => sequenceLines(engine.repository.runningModels(), timeoutSecs - seconds);
  logger.info('Waiting for live sequences to end.');
  for (const line of waiting(0)) logger.info(line);
  const end = logEverySecond(logger, waiting);
  const outcome = await within(engine.finishSequences(), timeoutSecs);
  end();
  if (outcome === TIMED_OUT) logger.warn('Exit timeout expired: live sequences end');
  return Math.max(0, timeoutSecs - (performance.now() - begunAt) / 1000);
}

/**
 * Waits until every request is answered, every answer is written and no caller in this process waits, for `timeoutSecs`
 * at most. The log names everything that it still waits for.
 */
export async function drain({ engine, frontends, logger }: StoppingServer, timeoutSecs: number): Promise<void> {
  const waiting = (seconds: number) => {
    const connections = frontends.reduce((sum, { underWay }) => sum + underWay, 0);
    return waitingLines(engine.repository.runningModels(), connections, timeoutSecs - seconds);
  };
  const first = waiting(0);
  if (first.length > 0) logger.info('Waiting for in-flight requests to complete.');
  for (const line of first) logger.info(line);
  const end = logEverySecond(logger, waiting);
  const settled = Promise.all(frontends.map((frontend) => frontend.settled()));
  // Until then the engine takes requests that have begun to come, and calls between models.
  const drained = settled.then(() => engine.drain());
  const outcome = await within(drained, timeoutSecs);
  end();
  if (outcome === TIMED_OUT) logger.warn('Exit timeout expired: what is under way fails');
}

function liveSequences({ repository }: InferenceServer): number {
  return repository.runningModels().reduce((sum, model) => sum + model.liveSequences, 0);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
