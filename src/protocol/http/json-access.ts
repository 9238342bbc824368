// Reads values in the JSON of management endpoints as the types of the protocol. The error texts come from Triton's JSON library,
// which does not name the member.

import { invalidArg, type TritonError } from '../../errors.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { jsonElements, parseJson } from '../json/json-parser.js';
import { listOf, membersOf, VALUE } from '../json/json-shape.js';
import { JsonArray, type JsonInteger, JsonObject, JsonText, type JsonValue } from '../json/json-value.js';
import { isUnsigned } from './json-members.js';

const MEMBERS = { limit: REQUEST_LIMITS.controlFields, what: 'members' };
/** No body of these endpoints has more levels. */
const CONTROL_BODY = membersOf(MEMBERS, {
  trace_level: listOf(VALUE, REQUEST_LIMITS.controlFields, 'trace levels'),
});

/** Throws INVALID_ARG with rapidjson's text. An empty body is malformed too. */
export function parseBody(body: Buffer): JsonValue {
  return parseJson(body, 0, body.length, CONTROL_BODY);
}

export function asString(value: JsonValue): string {
  return textOrThrow(value).toString();
}

/** A string that may be too long to be decoded at once. */
export function textOrThrow(value: JsonValue): string | JsonText {
  if (typeof value === 'string' || value instanceof JsonText) return value;
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

export function asObject(value: JsonValue): JsonObject {
  if (value instanceof JsonObject) return value;
  throw invalidArg('attempt to get members for non-object');
}

function wrongType(what: string): TritonError {
  return invalidArg(`attempt to access JSON ${what}`);
}
