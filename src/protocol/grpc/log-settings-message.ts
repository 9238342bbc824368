// LogSettings of the gRPC service: one value of a kind by each name (server/src/grpc/grpc_server.cc, LogSettings).

import { create, type MessageInitShape } from '@bufbuild/protobuf';

import { TritonError } from '../../errors.js';
import { LOG_FORMATS, type LogSettings } from '../../logger.js';
import { checkVerboseLevel, logFileIsFixed, logSettingsJson } from '../log-settings.js';
import {
  LogSettingsResponse_SettingValueSchema,
  type LogSettingsRequest,
  type LogSettingsRequest_SettingValue,
  type LogSettingsResponseSchema,
} from './generated/grpc_service_pb.js';

type Choice = LogSettingsRequest_SettingValue['parameterChoice'];

/** Throws INVALID_ARG, and UNSUPPORTED for the log file. Names that are no settings are passed over, as Triton does. */
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
  if (choice.case !== 'boolParam') throw new TritonError('INVALID_ARG', `expect boolean for '${name}'`);
  return { [member]: choice.value };
}

function verboseLevel(choice: Choice | undefined): Partial<LogSettings> {
  if (choice === undefined) return {};
  if (choice.case !== 'uint32Param') throw new TritonError('INVALID_ARG', "expect int32 for 'log_verbose_level'");
  return { verboseLevel: checkVerboseLevel(choice.value) };
}

function format(choice: Choice | undefined): Partial<LogSettings> {
  if (choice === undefined) return {};
  if (choice.case !== 'stringParam') throw new TritonError('INVALID_ARG', "expect string for 'log_format'");
  const found = LOG_FORMATS.find((known) => known === choice.value);
  if (found === undefined)
    throw new TritonError('INVALID_ARG', `invalid argument for log_format, got: ${choice.value}`);
  return { format: found };
}

/** The same settings as HTTP answers. */
export function logSettingsMessage(
  file: string,
  settings: LogSettings,
): MessageInitShape<typeof LogSettingsResponseSchema> {
  const choice = (value: string | boolean | number): Choice => {
    if (typeof value === 'string') return { case: 'stringParam', value };
    return typeof value === 'boolean' ? { case: 'boolParam', value } : { case: 'uint32Param', value };
  };
  const entries = Object.entries(logSettingsJson(file, settings)).map(
    ([name, value]) =>
      [name, create(LogSettingsResponse_SettingValueSchema, { parameterChoice: choice(value) })] as const,
  );
  return { settings: Object.fromEntries(entries) };
}
