// The members of a request's JSON that say which sequence it belongs to.

import type { JsonValue } from '../json/json-value.js';
import { SEQUENCE_END, SEQUENCE_ID, SEQUENCE_START, type SequenceFields } from '../sequence-parameters.js';
import { expectBoolean, expectString, isUnsigned } from './json-members.js';

/** Takes a member if it belongs to a sequence. Returns false for any other. Throws INVALID_ARG for a value of a wrong type. */
export function takeSequenceField(fields: SequenceFields, name: string, value: JsonValue): boolean {
  if (name === SEQUENCE_ID) fields.id = isUnsigned(value) ? value : expectString(value, name);
  else if (name === SEQUENCE_START) fields.start = expectBoolean(value, name);
  else if (name === SEQUENCE_END) fields.end = expectBoolean(value, name);
  else return false;
  return true;
}
