// The JSON of /v2/trace/setting: numbers are text, and null clears a setting (server/src/http_server.cc, HandleTrace).

import type { TraceSettings, TraceUpdate } from '../../model/trace-settings.js';
import type { JsonValue } from '../json/json-value.js';
import { parseTraceLevels, traceFileIsFixed } from '../trace-settings.js';
import { parseTraceCount, parseTraceUnsigned } from '../trace-numbers.js';
import { asString, asStrings } from './json-access.js';
import { member } from './json-members.js';

/** Throws INVALID_ARG, and UNSUPPORTED for the trace file. Members that are no settings are passed over, as Triton does. */
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
