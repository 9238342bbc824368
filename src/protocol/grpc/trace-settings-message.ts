// TraceSetting of the gRPC service: lists of texts by name, where an empty list clears a setting
// (server/src/grpc/grpc_server.cc, TraceSetting).

import { create, type MessageInitShape } from '@bufbuild/protobuf';

import { TritonError } from '../../errors.js';
import type { TraceSettings, TraceUpdate } from '../../model/trace-settings.js';
import { parseTraceLevels, traceFileIsFixed, traceSettingsJson } from '../trace-settings.js';
import { parseTraceCount, parseTraceUnsigned } from '../trace-numbers.js';
import {
  TraceSettingResponse_SettingValueSchema,
  type TraceSettingRequest,
  type TraceSettingResponseSchema,
} from './generated/grpc_service_pb.js';

/** Throws INVALID_ARG, and UNSUPPORTED for the trace file. Names that are no settings are passed over, as Triton does. */
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
  if (values.length > 1) throw new TritonError('INVALID_ARG', `expect only 1 value for '${setting}'`);
  return { [member]: values[0] === undefined ? null : read(values[0]) };
}

/** The same settings as HTTP answers, each a list. */
export function traceSettingsMessage(settings: TraceSettings): MessageInitShape<typeof TraceSettingResponseSchema> {
  const entries = Object.entries(traceSettingsJson(settings)).map(
    ([name, value]) => [name, create(TraceSettingResponse_SettingValueSchema, { value: [value].flat() })] as const,
  );
  return { settings: Object.fromEntries(entries) };
}
