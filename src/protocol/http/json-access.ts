// Values of the JSON that management endpoints take, as the types that the protocol wants. The texts are those of
// Triton's JSON library, which does not say which member it is about.

import { invalidArg, type TritonError } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { jsonElements, parseJson } from '../json/json-parser.js';
import { listOf, membersOf as anyMembers, VALUE } from '../json/json-shape.js';
import { JsonArray, type JsonInteger, JsonObject, JsonText, type JsonValue } from '../json/json-value.js';
import { isUnsigned } from './json-members.js';

const MEMBERS = { limit: REQUEST_LIMITS.controlFields, what: 'members' };
/** No such body has more levels. */
const CONTROL_BODY = anyMembers(MEMBERS, {
  parameters: anyMembers(MEMBERS),
  trace_level: listOf(VALUE, REQUEST_LIMITS.controlFields, 'trace levels'),
});

/** Throws INVALID_ARG with rapidjson's text; an empty body is malformed too. */
export function parseBody(body: Buffer): JsonValue {
  return parseJson(body, 0, body.length, CONTROL_BODY);
}

export function asString(value: JsonValue): string {
  if (typeof value === 'string') return value;
  if (value instanceof JsonText) return value.toString();
  throw wrongType('non-string as string');
}

export function asBoolean(value: JsonValue): boolean {
  if (typeof value === 'boolean') return value;
  throw wrongType('non-boolean as boolean');
}

export function asUnsigned(value: JsonValue): JsonInteger {
  if (isUnsigned(value)) return value;
  throw wrongType('non-unsigned-integer as unsigned-integer');
}

export function asStrings(value: JsonValue): readonly string[] {
  if (!(value instanceof JsonArray)) throw wrongType('non-array as array');
  return jsonElements(value).map(asString);
}

/** Names and values of an object's members. */
export function membersOf(value: JsonValue): readonly (readonly [name: string, value: JsonValue])[] {
  if (!(value instanceof JsonObject)) throw invalidArg('attempt to get members for non-object');
  return value.keys.map((key, index) => [key, value.values[index]!] as const);
}

function wrongType(what: string): TritonError {
  return invalidArg(`attempt to access JSON ${what}`);
}
