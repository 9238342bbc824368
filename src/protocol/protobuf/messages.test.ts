// The tables of messages against @bufbuild/protobuf, which reads the same proto/: bytes and JSON, both ways.

import {
  create,
  type DescField,
  type DescMessage,
  fromBinary,
  fromJson,
  ScalarType,
  toBinary,
  toJson,
} from '@bufbuild/protobuf';
import { describe, expect, it } from 'vitest';

import * as serviceDescriptors from '../../../test/support/generated/grpc_service_pb.js';
import * as configDescriptors from '../../../test/support/generated/model_config_pb.js';
import * as reflectionDescriptors from '../../../test/support/generated/reflection_v1_pb.js';
import { Random } from '../../../test/support/random-life/random.js';
import { SEED } from '../../../test/support/seed.js';
import * as service from './generated/grpc-service.js';
import * as config from './generated/model-config.js';
import * as reflection from './generated/reflection-v1.js';
import { messageFromJson, messageToJson } from './message-json.js';
import { Enumeration, MessageType } from './message-type.js';
import { readMessage } from './read-message.js';
import { emptyMessage } from './values.js';
import { WireReader } from './wire-reader.js';
import { writeMessage } from './write-message.js';

const DESCRIPTORS = { ...serviceDescriptors, ...configDescriptors, ...reflectionDescriptors } as Record<
  string,
  unknown
>;
const TABLES = Object.entries({ ...service, ...config, ...reflection } as Record<string, unknown>);

const types = TABLES.filter((entry): entry is [string, MessageType<object>] => entry[1] instanceof MessageType).map(
  ([name, type]) => ({ name, type, descriptor: DESCRIPTORS[`${name}Schema`] as DescMessage }),
);
const random = new Random(SEED);

const INTEGERS: Partial<Record<ScalarType, readonly (bigint | number)[]>> = {
  [ScalarType.INT32]: [0, 1, -1, 300, -(2 ** 31), 2 ** 31 - 1],
  [ScalarType.UINT32]: [0, 1, 300, 2 ** 31, 2 ** 32 - 1],
  [ScalarType.INT64]: [0n, 1n, -1n, 2n ** 53n + 1n, -(2n ** 63n), 2n ** 63n - 1n],
  [ScalarType.UINT64]: [0n, 1n, 2n ** 53n + 1n, 2n ** 64n - 1n],
};

function scalar(type: ScalarType): unknown {
  const integers = INTEGERS[type];
  if (integers !== undefined) return random.of(integers);
  if (type === ScalarType.STRING) return random.of(['', 'a', 'ä😀', 'x'.repeat(200), '__proto__']);
  if (type === ScalarType.BYTES) return random.of([new Uint8Array(), Uint8Array.of(0, 255, 128), new Uint8Array(300)]);
  if (type === ScalarType.BOOL) return random.chance(0.5);
  return random.of([0, -0, 0.5, Math.fround(0.1), Infinity, -Infinity, NaN]);
}

function value(field: DescField, depth: number): unknown {
  if (field.message !== undefined) return filled(field.message, depth + 1);
  return field.enum === undefined ? scalar(field.scalar) : random.of(field.enum.values).number;
}

/** A message with some of its fields. */
function filled(descriptor: DescMessage, depth = 0): object {
  const values: Record<string, unknown> = {};
  for (const field of descriptor.fields) {
    if (random.chance(depth < 3 ? 0.4 : 0.8)) continue;
    const several = Array.from({ length: random.integer(0, 3) }, () => value(field, depth));
    const { localName, oneof } = field;
    if (field.fieldKind === 'list') values[localName] = several;
    else if (field.fieldKind === 'map')
      values[localName] = Object.fromEntries(several.map((each) => [String(scalar(field.mapKey)), each]));
    else if (oneof !== undefined) values[oneof.localName] = { case: localName, value: value(field, depth) };
    else values[localName] = value(field, depth);
  }
  return create(descriptor, values);
}

const read = (type: MessageType<object>, bytes: Uint8Array) => readMessage(type, bytes, new WireReader('message'));

describe('the tables of messages', () => {
  it('has every message and every enum of proto/', () => {
    const theirs = Object.keys(DESCRIPTORS).filter((name) => name.endsWith('Schema'));
    const ours = TABLES.filter(([, one]) => one instanceof MessageType || one instanceof Enumeration).map(
      ([name]) => name,
    );
    expect(ours.map((name) => `${name}Schema`).sort()).toEqual(theirs.sort());
  });

  it.each(types)('$name is written and read as by protobuf', ({ type, descriptor }) => {
    for (let run = 0; run < 40; run++) {
      const theirs = filled(descriptor) as never;
      const bytes = Buffer.from(toBinary(descriptor, theirs));
      const message = read(type, bytes);
      expect(fromBinary(descriptor, writeMessage(type, message))).toEqual(fromBinary(descriptor, bytes));
      expect(writeMessage(type, theirs)).toEqual(bytes);
      // The same field again is merged, as protobuf demands.
      const twice = Buffer.concat([bytes, bytes]);
      expect(fromBinary(descriptor, writeMessage(type, read(type, twice)))).toEqual(fromBinary(descriptor, twice));
    }
  });

  it.each(types)('$name has the JSON of protobuf', ({ type, descriptor }) => {
    for (let run = 0; run < 20; run++) {
      const theirs = filled(descriptor) as never;
      const message = read(type, toBinary(descriptor, theirs));
      const json = messageToJson(type, message);
      expect(json).toEqual(toJson(descriptor, theirs, { alwaysEmitImplicit: true, useProtoFieldName: true }));
      expect(writeMessage(type, messageFromJson(type, json))).toEqual(writeMessage(type, message));
      expect(messageToJson(type, messageFromJson(type, toJson(descriptor, theirs)))).toEqual(json);
    }
  });

  it.each(types)('$name is empty in the same way', ({ type, descriptor }) => {
    const ours = messageToJson(type, emptyMessage(type));
    expect(ours).toEqual(toJson(descriptor, create(descriptor), { alwaysEmitImplicit: true, useProtoFieldName: true }));
    expect(writeMessage(type, {})).toHaveLength(0);
  });
});

describe('JSON that is no message', () => {
  it.each([
    ['[]', 'cannot decode message inference.ModelConfig from JSON: []'],
    ['null', 'cannot decode message inference.ModelConfig from JSON: null'],
    ['{"foo":1}', 'cannot decode message inference.ModelConfig from JSON: key "foo" is unknown'],
    ['{"name":1}', 'cannot decode field inference.ModelConfig.name from JSON: expected string, got 1'],
    ['{"max_batch_size":"many"}', 'cannot decode field inference.ModelConfig.max_batch_size from JSON: expected number (int32), got "many"'],
    ['{"max_batch_size":1.5}', 'expected number (int32), got 1.5'],
    ['{"max_batch_size":2147483648}', 'expected number (int32), got 2147483648'],
    ['{"input":{}}', 'cannot decode field inference.ModelConfig.input from JSON: expected an array, got {}'],
    ['{"input":[null]}', 'cannot decode message inference.ModelInput from JSON: null'],
    ['{"input":[{"data_type":"TYPE_WRONG"}]}', 'cannot decode enum inference.DataType from JSON: "TYPE_WRONG"'],
    ['{"input":[{"optional":"true"}]}', 'cannot decode field inference.ModelInput.optional from JSON: expected boolean, got "true"'],
    ['{"parameters":[]}', 'expected an object, got []'],
    ['{"dynamic_batching":{},"sequence_batching":{}}', 'cannot decode field inference.ModelConfig.'],
    ['{"dynamic_batching":{"priority_queue_policy":{"-1":{}}}}', 'expected number (uint64), got "-1"'],
  ])('%s is refused', (json, message) => {
    expect(() => messageFromJson(config.ModelConfig, JSON.parse(json))).toThrow(message);
    expect(() => fromJson(configDescriptors.ModelConfigSchema, JSON.parse(json))).toThrow('cannot');
  }); // prettier-ignore

  it('has no hexadecimal integers, which the library takes', () => {
    expect(() => messageFromJson(config.ModelConfig, { input: [{ dims: ['0x10'] }] })).toThrow('got "0x10"');
  });

  it('is passed over where the server may say more than is known', () => {
    const json = { name: 'm', more: [1], input: [{ name: 'x', even_more: {} }] };
    const { name, input } = messageFromJson(config.ModelConfig, json, { ignoreUnknown: true });
    expect([name, input.map((each) => each.name)]).toEqual(['m', ['x']]);
  });
});
