// The log as the engine uses it.

import type { Logger } from '../model/logger.js';

export interface EngineLogger extends Logger {
  /** Verbose lines above this level are not written, so they need not be made. Default 0. */
  readonly verboseLevel?: number;
}

/** Writes nothing. */
export const SILENT: EngineLogger = {
  error: () => undefined,
  warn: () => undefined,
  info: () => undefined,
  verbose: () => undefined,
};
