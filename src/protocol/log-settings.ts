// Checks and shows log settings for both protocols.

import { invalidArg, TritonError } from '../errors.js';
import type { LogSettings } from '../logger.js';

const MAX_LEVEL = 2_147_483_647;

/** Throws INVALID_ARG for a level that the log does not have. Triton would turn verbose lines off. */
export function checkVerboseLevel(level: number | bigint): number {
  if (level <= MAX_LEVEL) return Number(level);
  throw invalidArg(`Unable to parse 'log_verbose_level', value is out of range [ 0, ${MAX_LEVEL} ], got: ${level}`);
}

export function logFileIsFixed(): TritonError {
  return new TritonError('UNSUPPORTED', 'log file location can not be updated through network protocol');
}

/** The settings by the names of the protocol. */
export function logSettingsJson(
  file: string,
  settings: LogSettings,
): Readonly<Record<string, string | boolean | number>> {
  return {
    log_file: file,
    log_info: settings.info,
    log_warning: settings.warning,
    log_error: settings.error,
    log_verbose_level: settings.verboseLevel,
    log_format: settings.format,
  };
}
