// Checks and shows trace settings for both protocols.

import { invalidArg, TritonError } from '../errors.js';
import { TRACE_LEVELS, type TraceLevel, type TraceSettings } from '../observability/traces.js';

/** Throws INVALID_ARG when OFF is one of several levels. Ignores unknown names, as Triton does. */
export function parseTraceLevels(names: readonly string[]): readonly TraceLevel[] {
  if (names.length > 1 && names.includes('OFF')) throw invalidArg("Expect only one trace level 'OFF' is specified");
  const levels = TRACE_LEVELS.filter((level) => names.includes(level));
  return levels.length === 0 ? ['OFF'] : levels;
}

export function traceFileIsFixed(): TritonError {
  return new TritonError('UNSUPPORTED', 'trace file location can not be updated through network protocol');
}

/** The settings by the names of the protocol. Numbers are text. */
export function traceSettingsJson({
  mode,
  file,
  level,
  rate,
  count,
  logFrequency,
}: TraceSettings): Readonly<Record<string, string | readonly string[]>> {
  return {
    trace_level: level,
    trace_rate: String(rate),
    trace_count: String(count),
    // The other mode has no files.
    ...(mode === 'triton' ? { log_frequency: String(logFrequency), trace_file: file } : {}),
    trace_mode: mode,
  };
}

// Both protocols carry the numbers of trace settings as text. The error texts are Triton's (server/src/http_server.cc,
// HandleTrace). Triton reads 12x as 12, and -1 as the largest rate; here such texts are refused.

const MAX_UINT32 = 4_294_967_295;
const MAX_INT32 = 2_147_483_647;

/** Reads trace_rate or log_frequency. Throws INVALID_ARG. */
export function parseTraceUnsigned(setting: string, text: string): number {
  const value = integerOf(setting, text);
  if (value > MAX_UINT32 || value < 0) throw outOfRange(setting, text, 0, MAX_UINT32);
  return value;
}

/** Reads trace_count. Throws INVALID_ARG. `gap` is the protocol's text between the colon and the value. */
export function parseTraceCount(text: string, gap: '' | ' '): number {
  const setting = 'trace_count';
  const value = integerOf(setting, text);
  if (Math.abs(value) > MAX_INT32) throw outOfRange(setting, text, -1, MAX_INT32);
  if (value < -1) throw invalidArg(`Unable to parse '${setting}'. Expecting value >= -1, got:${gap}${text}`);
  return value;
}

function integerOf(setting: string, text: string): number {
  if (!/^-?[0-9]+$/.test(text)) throw invalidArg(`Unable to parse '${setting}', got: ${text}`);
  return Number(text);
}

function outOfRange(setting: string, text: string, least: number, most: number): TritonError {
  return invalidArg(`Unable to parse '${setting}', value is out of range [ ${least}, ${most} ], got: ${text}`);
}
