// The JSON of the control endpoints (server/src/http_server.cc, HandleTrace and the others): trace settings, log settings, shared
// memory, the model repository. The numbers of trace settings are text. Null clears a trace setting, and leaves a log setting
// unchanged.

import { invalidArg, TritonError } from '../../errors.js';
import { LOG_FORMATS, type LogSettings } from '../../logger.js';
import type { RepositoryModel } from '../../model/repository-model.js';
import type { SystemSharedMemoryRegion } from '../../model/shared-memory.js';
import type { TraceSettings, TraceUpdate } from '../../observability/traces.js';
import type { JsonValue } from '../json/json-value.js';
import { checkVerboseLevel, logFileIsFixed } from '../log-settings.js';
import { parseTraceCount, parseTraceLevels, parseTraceUnsigned, traceFileIsFixed } from '../trace-settings.js';
import { asBoolean, asString, asStrings, asUnsigned, parseBody } from './json-access.js';
import { member } from './json-members.js';

/** Throws INVALID_ARG, and UNSUPPORTED for the trace file. Ignores members that are not settings, as Triton does. */
export function decodeTraceUpdate(json: JsonValue): TraceUpdate {
  if (member(json, 'trace_file') !== undefined) throw traceFileIsFixed();
  return {
    ...setting('level', member(json, 'trace_level'), (value) => parseTraceLevels(asStrings(value))),
    ...setting('rate', member(json, 'trace_rate'), (value) => parseTraceUnsigned('trace_rate', asString(value))),
    ...setting('count', member(json, 'trace_count'), (value) => parseTraceCount(asString(value), '')),
    ...setting('logFrequency', member(json, 'log_frequency'), (value) =>
      parseTraceUnsigned('log_frequency', asString(value)),
    ),
  };
}

function setting<Name extends keyof TraceUpdate>(
  name: Name,
  value: JsonValue | undefined,
  read: (value: JsonValue) => TraceSettings[Name],
): TraceUpdate {
  return value === undefined ? {} : { [name]: value === null ? null : read(value) };
}

/** Throws INVALID_ARG, UNAVAILABLE for an unknown format as Triton does, and UNSUPPORTED for the log file. Ignores other members. */
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

/** Throws INVALID_ARG. */
export function decodeSharedMemoryRegistration(name: string, body: Buffer): SystemSharedMemoryRegion {
  const json = parseBody(body);
  const required = (field: string) => {
    const value = member(json, field);
    if (value !== undefined) return value;
    throw invalidArg(`Shared memory register request has no '${field}' field`);
  };
  const key = asString(required('key'));
  const offset = member(json, 'offset');
  return {
    name,
    key,
    offset: offset === undefined ? 0 : asUnsigned(offset),
    byteSize: asUnsigned(required('byte_size')),
  };
}

/** Returns a value for JSON.stringify. Registered sizes fit a number. */
export function sharedMemoryStatusJson(regions: readonly SystemSharedMemoryRegion[]): readonly unknown[] {
  return regions.map(({ name, key, offset, byteSize }) => ({
    name,
    key,
    offset: Number(offset),
    byte_size: Number(byteSize),
  }));
}

/** Whether the request asks for ready models only. An empty body asks for all. Throws INVALID_ARG. */
export function decodeRepositoryIndex(body: Buffer): boolean {
  if (body.length === 0) return false;
  const ready = member(parseBody(body), 'ready');
  return ready !== undefined && asBoolean(ready);
}

/** Returns a value for JSON.stringify. */
export function repositoryIndexJson(models: readonly RepositoryModel[]): readonly unknown[] {
  return models.map(({ name, version, state, reason }) => ({
    name,
    ...(version === '' ? {} : { version }),
    ...(state === '' ? {} : { state }),
    ...(reason === '' ? {} : { reason }),
  }));
}
