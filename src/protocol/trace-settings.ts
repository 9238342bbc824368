// What both protocols check and tell of trace settings.

import { TritonError } from '../errors.js';
import { TRACE_LEVELS, type TraceLevel, type TraceSettings } from '../model/trace-settings.js';

/** Throws INVALID_ARG when OFF is one of several. Names that are no level mean nothing, as in Triton. */
export function parseTraceLevels(names: readonly string[]): readonly TraceLevel[] {
  if (names.length > 1 && names.includes('OFF'))
    throw new TritonError('INVALID_ARG', "Expect only one trace level 'OFF' is specified");
  const levels = TRACE_LEVELS.filter((level) => names.includes(level));
  return levels.length === 0 ? ['OFF'] : levels;
}

export function traceFileIsFixed(): TritonError {
  return new TritonError('UNSUPPORTED', 'trace file location can not be updated through network protocol');
}

/** The settings by the names of the protocol: numbers are text. */
export function traceSettingsJson({
  mode,
  level,
  rate,
  count,
  logFrequency,
}: TraceSettings): Readonly<Record<string, string | readonly string[]>> {
  return {
    trace_level: level,
    trace_rate: String(rate),
    trace_count: String(count),
    // There are no files in the other mode.
    ...(mode === 'triton' ? { log_frequency: String(logFrequency), trace_file: '' } : {}),
    trace_mode: mode,
  };
}
