// The JSON of /v2/logging (server/src/http_server.cc, HandleLogging). null leaves a setting as it is.

import { TritonError } from '../../errors.js';
import { LOG_FORMATS, type LogSettings } from '../../logger.js';
import type { JsonValue } from '../json/json-value.js';
import { checkVerboseLevel, logFileIsFixed } from '../log-settings.js';
import { asBoolean, asString, asUnsigned } from './json-access.js';
import { member } from './json-members.js';

/** Throws INVALID_ARG, UNAVAILABLE for an unknown format as Triton does, and UNSUPPORTED for the log file. Other members are passed over. */
export function decodeLogUpdate(json: JsonValue): Partial<LogSettings> {
  if (given(json, 'log_file') !== undefined) throw logFileIsFixed();
  const info = given(json, 'log_info');
  const warning = given(json, 'log_warning');
  const error = given(json, 'log_error');
  const level = given(json, 'log_verbose_level');
  const format = given(json, 'log_format');
  return {
    ...(info === undefined ? {} : { info: asBoolean(info) }),
    ...(warning === undefined ? {} : { warning: asBoolean(warning) }),
    ...(error === undefined ? {} : { error: asBoolean(error) }),
    ...(level === undefined ? {} : { verboseLevel: checkVerboseLevel(asUnsigned(level)) }),
    ...(format === undefined ? {} : { format: readFormat(asString(format)) }),
  };
}

function given(json: JsonValue, name: string): JsonValue | undefined {
  return member(json, name) ?? undefined;
}

function readFormat(text: string): LogSettings['format'] {
  const format = LOG_FORMATS.find((known) => known === text);
  if (format !== undefined) return format;
  throw new TritonError('UNAVAILABLE', `invalid argument for --log_format, got: ${text}`);
}
