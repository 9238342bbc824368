// A provider is the user's, and so are its processors: one that throws costs spans, never a request.

import { TritonError } from '../errors.js';
import type { Logger } from '../model/logger.js';

/** Runs what makes or ends spans. Undefined when that failed, which the log tells. */
export function makeSpans<Result>(logger: Pick<Logger, 'warn'>, make: () => Result): Result | undefined {
  try {
    return make();
  } catch (error) {
    logger.warn(`OpenTelemetry failed, spans are lost: ${TritonError.from(error).message}`);
    return undefined;
  }
}
