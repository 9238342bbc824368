// Reads members of a request's JSON as the types of the protocol, with the texts of Triton's JSON library.

import { invalidArg, type TritonError } from '../../errors.js';
import { beyondLimit, REQUEST_LIMITS } from '../../model/request-limits.js';
import { JsonArray, JsonDouble, type JsonInteger, JsonObject, JsonText, type JsonValue } from '../json/json-value.js';

/** The member, or undefined; values that are not objects have no members. */
export function member(value: JsonValue, key: string): JsonValue | undefined {
  return value instanceof JsonObject ? value.get(key) : undefined;
}

/** Throws INVALID_ARG when the member is missing or not a string. */
export function stringMember(value: JsonValue, key: string): string {
  const found = value instanceof JsonObject ? value.get(key) : undefined;
  if (typeof found === 'string') return found;
  if (found === undefined) throw missing(key);
  return expectString(found, key);
}

/** Throws INVALID_ARG when the member is missing or not an array. */
export function arrayMember(value: JsonValue, key: string): JsonArray {
  const found = value instanceof JsonObject ? value.get(key) : undefined;
  if (found instanceof JsonArray) return found;
  if (found === undefined) throw missing(key);
  throw unparsable(key, 'attempt to access JSON non-array as array');
}

/** Also throws INVALID_ARG for a string that is too long for a name. */
export function expectString(value: JsonValue, key: string): string {
  if (typeof value === 'string') return value;
  if (value instanceof JsonText) {
    const { nameBytes } = REQUEST_LIMITS;
    if (value.byteLength > nameBytes) throw beyondLimit(`bytes in '${key}'`, nameBytes);
    return value.toString();
  }
  throw unparsable(key, 'attempt to access JSON non-string as string');
}

export function expectBoolean(value: JsonValue, key: string): boolean {
  if (typeof value === 'boolean') return value;
  throw unparsable(key, 'attempt to access JSON non-boolean as boolean');
}

export function expectUnsigned(value: JsonValue, key: string): JsonInteger {
  if ((typeof value === 'number' || typeof value === 'bigint') && value >= 0) return value;
  throw unparsable(key, 'attempt to access JSON non-unsigned-integer as unsigned-integer');
}

export function isUnsigned(value: JsonValue): value is JsonInteger {
  return (typeof value === 'number' || typeof value === 'bigint') && value >= 0;
}

/** Collects the parameters of a request, and limits their text. */
export class ParameterTexts {
  #bytes = 0;

  /** Counts a parameter, and returns its value if that is a string. Throws INVALID_ARG. */
  take(name: string, value: JsonValue): string | undefined {
    const { parameterBytes } = REQUEST_LIMITS;
    this.#bytes += name.length + (value instanceof JsonText ? value.byteLength : lengthOf(value));
    if (this.#bytes > parameterBytes) throw beyondLimit('bytes of parameters', parameterBytes);
    return typeof value === 'string' ? value : value instanceof JsonText ? value.toString() : undefined;
  }
}

function lengthOf(value: JsonValue): number {
  return typeof value === 'string' ? value.length : 0;
}

/** An integer that fits int64, as a number if that is exact. Any other number becomes the nearest double. */
export function parameterNumber(value: JsonInteger | JsonDouble): number | bigint {
  if (value instanceof JsonDouble) return value.value;
  return typeof value === 'bigint' && BigInt.asIntN(64, value) !== value ? Number(value) : value;
}

export function unparsable(key: string, reason: string): TritonError {
  return invalidArg(`Unable to parse '${key}': ${reason}`);
}

function missing(key: string): TritonError {
  return unparsable(key, `attempt to access non-existing object member '${key}'`);
}
