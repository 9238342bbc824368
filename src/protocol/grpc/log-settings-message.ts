// LogSettings of the gRPC service: one value of a kind by each name (server/src/grpc/grpc_server.cc, LogSettings).

import { create, type MessageInitShape } from '@bufbuild/protobuf';

import { TritonError } from '../../errors.js';
import { LOG_FORMATS, type LogSettings } from '../../logger.js';
import { checkVerboseLevel, logFileIsFixed } from '../log-level.js';
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

export function logSettingsMessage(
  file: string,
  { info, warning, error, verboseLevel: level, format: logFormat }: LogSettings,
): MessageInitShape<typeof LogSettingsResponseSchema> {
  const values = {
    log_file: { case: 'stringParam', value: file },
    log_info: { case: 'boolParam', value: info },
    log_warning: { case: 'boolParam', value: warning },
    log_error: { case: 'boolParam', value: error },
    log_verbose_level: { case: 'uint32Param', value: level },
    log_format: { case: 'stringParam', value: logFormat },
  } as const;
  const settings = Object.entries(values).map(
    ([name, parameterChoice]) => [name, create(LogSettingsResponse_SettingValueSchema, { parameterChoice })] as const,
  );
  return { settings: Object.fromEntries(settings) };
}
