// Writes the failures of callables to the server's log.

import { HTTP_STATUS, logTextOf, type TritonError } from '../errors.js';
import type { Logger } from '../observability/logger.js';

/**
 * Logs an error that a callable threw for this number of requests. An error of the server's side is logged as one, with its stack. A
 * code of the client's side is an answer that the callable gives on purpose. It takes one line, and its stack is for verbose logs.
 */
export function logFailure(logger: Logger, error: TritonError, requests = 1): void {
  const { code, message } = error;
  if (code === 'UNKNOWN' || HTTP_STATUS[code] >= 500) {
    logger.error(`the callable failed: ${logTextOf(error)}`);
    return;
  }
  logger.info(`the callable refused ${requests === 1 ? 'a request' : `${requests} requests`}: ${code}: ${message}`);
  logger.verbose(1, `the callable refused by this error: ${logTextOf(error)}`);
}
