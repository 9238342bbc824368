// The two phases of a stop that take time: the server serves on until clients have heard of it, then waits for what is under way.

import type { InferenceServer } from '../core/inference-server.js';
import type { Frontend } from '../frontend/frontend.js';
import type { Logger } from '../model/logger.js';
import type { StopTimes } from './server-options.js';
import { logEverySecond, waitingLines } from './waiting-log.js';

interface StoppingServer {
  readonly engine: InferenceServer;
  readonly frontends: readonly Frontend[];
  readonly logger: Logger;
}

const LOOK_MILLISECONDS = 10;
const TIMED_OUT = Symbol('timed out');

/**
 * Not ready any more, but serves on: for `delaySecs`, while load balancers notice that and clients move to other connections. Without
 * a delay for `graceSecs`, while connections are open: their clients may have sent requests before they hear of the end.
 */
export async function leave(
  { engine, frontends, logger }: StoppingServer,
  { delaySecs, graceSecs }: StopTimes,
): Promise<void> {
  engine.leave();
  for (const frontend of frontends) frontend.retire();
  if (delaySecs === 0) {
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
 * Waits until every request is answered, every answer is written and nobody in this process waits, for so many seconds, and says
 * what it waits for.
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
  // The engine takes what comes whole only now, and calls of models by others.
  const drained = settled.then(() => engine.drain());
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise((resolve) => (timer = setTimeout(resolve, timeoutSecs * 1000, TIMED_OUT)));
  const outcome = await Promise.race([drained, timeout]);
  clearTimeout(timer);
  end();
  if (outcome === TIMED_OUT) logger.warn('Exit timeout expired: what is under way fails');
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
