// Reads and writes the map of InferParameter that requests, responses and tensors carry. It keeps the kind of each value, because
// the rules for parameters depend on it.

import { invalidArg } from '../../errors.js';
import { MAX_UINT64, MIN_INT64 } from '../../model/is-parameter.js';
import type { Parameters } from '../../model/parameters.js';
import type { WireReader } from '../protobuf/wire-reader.js';
import { FIXED64, LENGTH_DELIMITED, VARINT } from '../protobuf/wire-types.js';
import { LENGTH_BOUND, stringBound, VARINT_BOUND, type WireWriter } from './wire-writer.js';

/** A parameter's value with its member of the oneof. */
export type ParameterValue =
  | { readonly kind: 'bool'; readonly value: boolean }
  | { readonly kind: 'int64' | 'uint64'; readonly value: number | bigint }
  | { readonly kind: 'string'; readonly value: string }
  | { readonly kind: 'double'; readonly value: number }
  | { readonly kind: 'unset' };

/** Parameters by name, in the order of the wire. */
export type ParameterMap = Map<string, ParameterValue>;

const UNSET: ParameterValue = { kind: 'unset' };

/** Reads one entry of a parameters map, its length first, into `target`. The last entry of a name counts. */
export function readParameter(reader: WireReader, target: ParameterMap): void {
  const outer = reader.enter();
  let name = '';
  let value = UNSET;
  while (reader.position < reader.limit) {
    const tag = reader.tag();
    if (tag === ((1 << 3) | LENGTH_DELIMITED)) name = reader.name();
    else if (tag === ((2 << 3) | LENGTH_DELIMITED)) value = readValue(reader, value);
    else reader.skip(tag);
  }
  reader.leave(outer);
  target.set(name, value);
}

function readValue(reader: WireReader, before: ParameterValue): ParameterValue {
  const outer = reader.enter();
  let value = before;
  while (reader.position < reader.limit) {
    const tag = reader.tag();
    switch (tag) {
      case (1 << 3) | VARINT:
        value = { kind: 'bool', value: reader.bool() };
        break;
      case (2 << 3) | VARINT:
        value = { kind: 'int64', value: reader.int64() };
        break;
      case (3 << 3) | LENGTH_DELIMITED:
        value = { kind: 'string', value: reader.text() };
        break;
      case (4 << 3) | FIXED64:
        value = { kind: 'double', value: reader.double() };
        break;
      case (5 << 3) | VARINT:
        value = { kind: 'uint64', value: reader.uint64() };
        break;
      default:
        reader.skip(tag);
    }
  }
  reader.leave(outer);
  return value;
}

/** Adds a parameter to a plain object, whatever its name is. */
export function setParameter(
  target: Record<string, Parameters[string]>,
  name: string,
  value: Parameters[string],
): void {
  if (name === '__proto__')
    Object.defineProperty(target, name, { value, enumerable: true, configurable: true, writable: true });
  else target[name] = value;
}

/** Most bytes that {@link writeParameters} writes. */
export function parametersBound(parameters: Parameters): number {
  let bound = 0;
  for (const [name, value] of Object.entries(parameters)) {
    bound += parameterBound(name) + (typeof value === 'string' ? stringBound(value) : 0);
  }
  return bound;
}

/** Most bytes that a parameter takes, other than a string. */
export function parameterBound(name: string): number {
  return 2 * LENGTH_BOUND + stringBound(name) + VARINT_BOUND;
}

/** Writes parameters as map entries under `tag`, which takes one byte. */
export function writeParameters(writer: WireWriter, tag: number, parameters: Parameters): void {
  for (const [name, value] of Object.entries(parameters))
    writeParameter(writer, tag, name, parameterValue(name, value));
}

/** Writes one map entry. */
export function writeParameter(writer: WireWriter, tag: number, name: string, parameter: ParameterValue): void {
  const entry = writer.openMessage(tag);
  writer.string((1 << 3) | LENGTH_DELIMITED, name);
  const choice = writer.openMessage((2 << 3) | LENGTH_DELIMITED);
  switch (parameter.kind) {
    case 'bool':
      writer.byte((1 << 3) | VARINT);
      writer.byte(parameter.value ? 1 : 0);
      break;
    case 'int64':
      writer.byte((2 << 3) | VARINT);
      writer.int64(parameter.value);
      break;
    case 'string':
      writer.string((3 << 3) | LENGTH_DELIMITED, parameter.value);
      break;
    case 'double':
      writer.byte((4 << 3) | FIXED64);
      writer.double(parameter.value);
      break;
    case 'uint64':
      writer.byte((5 << 3) | VARINT);
      writer.int64(parameter.value);
      break;
    case 'unset':
      break;
  }
  writer.closeMessage(choice);
  writer.closeMessage(entry);
}

const MAX_INT64 = 2n ** 63n - 1n;

/** Throws INVALID_ARG for integers beyond 64 bits. */
export function parameterValue(name: string, value: Parameters[string]): ParameterValue {
  switch (typeof value) {
    case 'string':
      return { kind: 'string', value };
    case 'boolean':
      return { kind: 'bool', value };
    case 'number':
      return Number.isSafeInteger(value) && !Object.is(value, -0)
        ? { kind: 'int64', value }
        : { kind: 'double', value };
    case 'bigint':
      if (value >= MIN_INT64 && value <= MAX_INT64) return { kind: 'int64', value };
      if (value >= 0n && value <= MAX_UINT64) return { kind: 'uint64', value };
      throw invalidArg(`parameter '${name}' is ${value}, expected an integer of 64 bits`);
    default:
      throw invalidArg(`parameter '${name}' is of type ${typeof value}, expected a string, boolean, number or bigint`);
  }
}
