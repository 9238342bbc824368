// TraceSetting and LogSettings of the gRPC service (server/src/grpc/grpc_server.cc). Trace settings are lists of texts by name,
// and an empty list clears a setting. Each log setting has one value of its own kind.

import { invalidArg } from '../../errors.js';
import { LOG_FORMATS, type LogSettings } from '../../logger.js';
import type { TraceSettings, TraceUpdate } from '../../observability/traces.js';
import { checkVerboseLevel, logFileIsFixed, logSettingsJson } from '../log-settings.js';
import {
  parseTraceCount,
  parseTraceLevels,
  parseTraceUnsigned,
  traceFileIsFixed,
  traceSettingsJson,
} from '../trace-settings.js';
import type {
  LogSettingsRequest,
  LogSettingsRequest_SettingValue,
  LogSettingsResponse,
  TraceSettingRequest,
  TraceSettingResponse,
} from '../protobuf/generated/grpc-service.js';

/** Throws INVALID_ARG, and UNSUPPORTED for the trace file. Ignores unknown names, as Triton does. */
export function decodeTraceUpdate({ settings }: TraceSettingRequest): TraceUpdate {
  const values = (name: string): readonly string[] | undefined =>
    Object.hasOwn(settings, name) ? settings[name]!.value : undefined;
  if (values('trace_file') !== undefined) throw traceFileIsFixed();
  const level = values('trace_level');
  return {
    ...(level === undefined ? {} : { level: level.length === 0 ? null : parseTraceLevels(level) }),
    ...number('rate', 'trace_rate', values, (text) => parseTraceUnsigned('trace_rate', text)),
    ...number('count', 'trace_count', values, (text) => parseTraceCount(text, ' ')),
    ...number('logFrequency', 'log_frequency', values, (text) => parseTraceUnsigned('log_frequency', text)),
  };
}

function number(
  member: 'rate' | 'count' | 'logFrequency',
  setting: string,
  valuesOf: (name: string) => readonly string[] | undefined,
  read: (text: string) => number,
): TraceUpdate {
  const values = valuesOf(setting);
  if (values === undefined) return {};
  if (values.length > 1) throw invalidArg(`expect only 1 value for '${setting}'`);
  return { [member]: values[0] === undefined ? null : read(values[0]) };
}

/** The settings that HTTP answers with, each as a list. */
export function traceSettingsMessage(settings: TraceSettings): TraceSettingResponse {
  const entries = Object.entries(traceSettingsJson(settings)).map(
    ([name, value]) => [name, { value: [value].flat() }] as const,
  );
  return { settings: Object.fromEntries(entries) };
}

type Choice = LogSettingsRequest_SettingValue['parameterChoice'];

/** Throws INVALID_ARG, and UNSUPPORTED for the log file. Ignores unknown names, as Triton does. */
export function decodeLogUpdate({ settings }: LogSettingsRequest): Partial<LogSettings> {
  const choice = (name: string): Choice | undefined =>
    Object.hasOwn(settings, name) ? settings[name]!.parameterChoice : undefined;
  if (choice('log_file') !== undefined) throw logFileIsFixed();
  return {
    ...boolean('info', 'log_info', choice('log_info')),
    ...boolean('warning', 'log_warning', choice('log_warning')),
    ...boolean('error', 'log_error', choice('log_error')),
    ...verboseLevel(choice('log_verbose_level')),
    ...format(choice('log_format')),
  };
}

function boolean(member: 'info' | 'warning' | 'error', name: string, choice: Choice | undefined): Partial<LogSettings> {
  if (choice === undefined) return {};
  if (choice.case !== 'boolParam') throw invalidArg(`expect boolean for '${name}'`);
  return { [member]: choice.value };
}

function verboseLevel(choice: Choice | undefined): Partial<LogSettings> {
  if (choice === undefined) return {};
  if (choice.case !== 'uint32Param') throw invalidArg("expect int32 for 'log_verbose_level'");
  return { verboseLevel: checkVerboseLevel(choice.value) };
}

function format(choice: Choice | undefined): Partial<LogSettings> {
  if (choice === undefined) return {};
  if (choice.case !== 'stringParam') throw invalidArg("expect string for 'log_format'");
  const found = LOG_FORMATS.find((known) => known === choice.value);
  if (found === undefined) throw invalidArg(`invalid argument for log_format, got: ${choice.value}`);
  return { format: found };
}

/** The settings that HTTP answers with. */
export function logSettingsMessage(file: string, settings: LogSettings): LogSettingsResponse {
  const choice = (value: string | boolean | number): Choice => {
    if (typeof value === 'string') return { case: 'stringParam', value };
    return typeof value === 'boolean' ? { case: 'boolParam', value } : { case: 'uint32Param', value };
  };
  const entries = Object.entries(logSettingsJson(file, settings)).map(
    ([name, value]) => [name, { parameterChoice: choice(value) }] as const,
  );
  return { settings: Object.fromEntries(entries) };
}
