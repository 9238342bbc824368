// A parameter's value as JSON: integers stay integers, doubles get a fraction.

import type { Parameters } from '../../model/parameters.js';
import type { JsonWriter } from '../json/json-writer.js';

export function writeParameter(writer: JsonWriter, value: Parameters[string]): void {
  if (typeof value === 'string') writer.string(value);
  else if (typeof value === 'boolean') writer.boolean(value);
  else if (typeof value === 'bigint' || Number.isSafeInteger(value)) writer.integer(value);
  else writer.double(value);
}
