// Triton's traceConfig: how many requests are traced, and where to. With `mode=triton` that is a file; with
// `mode=opentelemetry` it is not an option here: the provider that the user registers with OpenTelemetry decides.

import { invalidArg, TritonError } from '../errors.js';
import { TRACE_LEVELS, type TraceLevel, type TraceMode, type TraceStart } from '../observability/traces.js';

const SETTINGS = ['mode', 'level', 'rate', 'count'] as const;
const FILE_SETTINGS = ['file', 'log-frequency'] as const;
type Setting = (typeof SETTINGS)[number] | (typeof FILE_SETTINGS)[number];

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
    if (settings.has(setting)) throw invalidArg(`traceConfig has '${setting}' twice, expected it once`);
    settings.set(setting, value);
  }
  const mode = parseMode(settings.get('mode') ?? 'triton');
  const file = settings.get('file') ?? '';
  if (mode === 'triton' && file === '') {
    throw invalidArg(
      "traceConfig: 'mode=triton' needs the name of a trace file, as 'triton,file=trace.json', got none",
    );
  }
  if (mode === 'opentelemetry') {
    const stray = FILE_SETTINGS.find((name) => settings.has(name));
    if (stray !== undefined)
      throw invalidArg(`traceConfig: 'triton,${stray}=…' is for 'mode=triton', got mode=opentelemetry`);
    if (levels.includes('TENSORS')) {
      throw unsupported(
        "traceConfig 'level=TENSORS' is not supported with mode=opentelemetry: spans hold no tensors, expected OFF or TIMESTAMPS",
      );
    }
  }
  if (levels.length > 1 && levels.includes('OFF')) throw invalidArg("traceConfig: expect only one trace level 'OFF'");
  return {
    mode,
    file,
    level: levels.length === 0 ? ['OFF'] : [...new Set(levels)],
    rate: parseNumber('rate', settings.get('rate') ?? '1000', 0, MAX_UINT32),
    count: parseNumber('count', settings.get('count') ?? '-1', -1, MAX_INT32),
    logFrequency: parseNumber('log-frequency', settings.get('log-frequency') ?? '0', 0, MAX_UINT32),
  };
}

function readEntry(entry: string): { readonly setting: Setting; readonly value: string } {
  const [, of, name, value] = /^\s*(?:(\w+)\s*,)?\s*([\w-]+)\s*=\s*(.*?)\s*$/.exec(entry) ?? [];
  if (name === undefined || value === undefined) {
    throw invalidArg(`traceConfig must be like 'mode=opentelemetry', got '${entry}'`);
  }
  if (of === 'opentelemetry') {
    throw unsupported(
      `traceConfig '${entry}' is not supported: the exporter, its URL, its batches and the resource belong to the provider that you register with OpenTelemetry`,
    );
  }
  const known: readonly Setting[] = of === undefined ? SETTINGS : of === 'triton' ? FILE_SETTINGS : [];
  const setting = known.find((one) => one === name);
  if (setting === undefined) {
    const all = [...SETTINGS, ...FILE_SETTINGS.map((one) => `triton,${one}`)];
    throw invalidArg(`traceConfig has an unknown setting in '${entry}', known are ${all.join(', ')}`);
  }
  return { setting, value };
}

function parseMode(value: string): TraceMode {
  if (value === 'triton' || value === 'opentelemetry') return value;
  throw invalidArg(`traceConfig: 'mode' must be triton or opentelemetry, got '${value}'`);
}

function parseLevel(value: string): TraceLevel {
  const level = TRACE_LEVELS.find((known) => known === value.toUpperCase());
  if (level === undefined) throw invalidArg(`traceConfig: 'level' must be ${TRACE_LEVELS.join(', ')}, got '${value}'`);
  return level;
}

function parseNumber(setting: Setting, text: string, least: number, most: number): number {
  const value = Number(text);
  if (/^-?[0-9]+$/.test(text) && value >= least && value <= most) return value;
  throw invalidArg(`traceConfig: '${setting}' must be an integer from ${least} to ${most}, got '${text}'`);
}

function unsupported(message: string): TritonError {
  return new TritonError('UNSUPPORTED', message);
}
