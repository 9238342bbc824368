// Triton's traceConfig: `mode=opentelemetry` and how many requests are traced. Where the traces go is no option here:
// that is for the provider which the user registers with OpenTelemetry.

import { TritonError } from '../errors.js';
import { TRACE_LEVELS, type TraceLevel, type TraceStart } from '../model/traces.js';

const SETTINGS = ['mode', 'level', 'rate', 'count'] as const;
type Setting = (typeof SETTINGS)[number];

const MAX_INT32 = 2_147_483_647;
const MAX_UINT32 = 4_294_967_295;

/** Undefined for no tracing. Throws INVALID_ARG, or UNSUPPORTED for what Triton has beyond this. */
export function parseTraceConfig(traceConfig: readonly string[]): TraceStart | undefined {
  if (traceConfig.length === 0) return undefined;
  const levels: TraceLevel[] = [];
  const settings = new Map<Setting, string>();
  for (const entry of traceConfig) {
    const { setting, value } = readEntry(entry);
    if (setting === 'level') {
      levels.push(parseLevel(value));
      continue;
    }
    if (settings.has(setting)) throw invalid(`traceConfig has '${setting}' twice, expected it once`);
    settings.set(setting, value);
  }
  if (settings.get('mode') !== 'opentelemetry') {
    throw unsupported(
      `traceConfig needs 'mode=opentelemetry', got ${settings.has('mode') ? `'mode=${settings.get('mode')}'` : 'no mode'}: no trace files are written`,
    );
  }
  if (levels.length > 1 && levels.includes('OFF')) throw invalid("traceConfig: expect only one trace level 'OFF'");
  return {
    level: levels.length === 0 ? ['OFF'] : [...new Set(levels)],
    rate: parseNumber('rate', settings.get('rate') ?? '1000', 0, MAX_UINT32),
    count: parseNumber('count', settings.get('count') ?? '-1', -1, MAX_INT32),
  };
}

function readEntry(entry: string): { readonly setting: Setting; readonly value: string } {
  const [, of, name, value] = /^\s*(?:(\w+)\s*,)?\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(entry) ?? [];
  if (name === undefined || value === undefined) {
    throw invalid(`traceConfig must be like 'mode=opentelemetry', got '${entry}'`);
  }
  if (of === 'opentelemetry') {
    throw unsupported(
      `traceConfig '${entry}' is not supported: the exporter, its URL, its batches and the resource belong to the provider that you register with OpenTelemetry`,
    );
  }
  if (of === 'triton') throw unsupported(`traceConfig '${entry}' is not supported: no trace files are written`);
  const setting = of === undefined ? SETTINGS.find((known) => known === name) : undefined;
  if (setting === undefined) {
    throw invalid(`traceConfig has an unknown setting in '${entry}', known are ${SETTINGS.join(', ')}`);
  }
  return { setting, value };
}

function parseLevel(value: string): TraceLevel {
  const level = TRACE_LEVELS.find((known) => known === value.toUpperCase());
  if (level === undefined) throw invalid(`traceConfig: 'level' must be OFF or TIMESTAMPS, got '${value}'`);
  if (level === 'TENSORS') {
    throw unsupported(
      "traceConfig 'level=TENSORS' is not supported: spans hold no tensors, expected OFF or TIMESTAMPS",
    );
  }
  return level;
}

function parseNumber(setting: Setting, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^-?[0-9]+$/.test(text) && value >= least && value <= most) return value;
  throw invalid(`traceConfig: '${setting}' must be an integer from ${least} to ${most}, got '${text}'`);
}

function invalid(message: string): TritonError {
  return new TritonError('INVALID_ARG', message);
}

function unsupported(message: string): TritonError {
  return new TritonError('UNSUPPORTED', message);
}
