// JSON whose integers stay exact beyond 2^53, in and out. What JSON has no number for is a text in it.

import { parseJson, jsonElements } from '../../protocol/json/json-parser.js';
import { JsonArray, JsonDouble, JsonObject, type JsonValue } from '../../protocol/json/json-value.js';
import { invalidArg, TritonError } from '../../errors.js';

export type Plain = null | boolean | number | bigint | string | readonly Plain[] | PlainRecord;
export interface PlainRecord {
  readonly [name: string]: Plain;
}

/** `what` is what the text is of. Throws INVALID_ARG. */
export function readJson(bytes: Uint8Array, what: string): Plain {
  try {
    return plainOf(parseJson(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)));
  } catch (error) {
    throw invalidArg(`${what} is no JSON: ${TritonError.from(error).message}`, { cause: error });
  }
}

function plainOf(value: JsonValue): Plain {
  if (value instanceof JsonArray) return jsonElements(value).map(plainOf);
  if (value instanceof JsonDouble) return value.value;
  if (value instanceof JsonObject) {
    return Object.fromEntries(value.keys.map((key, index) => [key, plainOf(value.values[index]!)]));
  }
  return value as Plain;
}

export function isRecord(value: Plain | undefined): value is PlainRecord {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** In one line. NaN and the infinities are texts. */
export function writeJson(value: unknown): string {
  if (typeof value === 'bigint') return String(value);
  if (typeof value === 'number' && !Number.isFinite(value)) return `"${value}"`;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, member]) => `${JSON.stringify(key)}:${writeJson(member)}`)
    .join(',')}}`;
}
