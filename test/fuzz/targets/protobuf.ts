// Messages of gRPC, whole and spoilt: what our decoders of inference take for good reads the same for the generic decoder, and what
// it refuses, ours refuse.
import { inspect } from 'node:util';

import {
  create,
  type DescField,
  type DescMessage,
  type DescOneof,
  fromBinary,
  type MessageShape,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf';

import { TritonError } from '../../../src/errors.js';
import { finishPaced } from '../../../src/pacing/paced-work.js';
import { decodeInferRequest } from '../../../src/protocol/grpc/decode-infer-request.js';
import { decodeInferResponse } from '../../../src/protocol/grpc/decode-infer-response.js';
import { decodeMessage } from '../../../src/protocol/grpc/decode-message.js';
import { decodeModelConfigResponse } from '../../../src/protocol/grpc/decode-model-config-response.js';
import * as messages from '../../../src/protocol/protobuf/generated/grpc-service.js';
import * as reflection from '../../../src/protocol/protobuf/generated/reflection-v1.js';
import type { MessageType } from '../../../src/protocol/protobuf/message-type.js';
import { writeMessage } from '../../../src/protocol/protobuf/write-message.js';
import { decodeModelReference } from '../../../src/protocol/grpc/decode-model-reference.js';
import { decodeStreamResponse } from '../../../src/protocol/grpc/decode-stream-response.js';
import * as service from '../../support/generated/grpc_service_pb.js';
import { ServerReflectionRequestSchema } from '../../support/generated/reflection_v1_pb.js';
import { DATATYPE_BYTE_SIZE } from '../../../src/tensor/dtype.js';
import { NO_SHARED_MEMORY } from '../../support/no-shared-memory.js';
import type { Random } from '../../support/random-life/random.js';
import { type FuzzTarget, must } from '../fuzz-target.js';
import { isTaken, MODEL, outcomeOf, someInputs } from './fuzzed-model.js';
import { wellFormed } from './well-formed.js';

const { ModelInferRequestSchema, ModelInferResponseSchema, ModelStreamInferResponseSchema } = service;
const DIMS = [0n, 1n, 1n, 1n, 2n, 2n, 3n, -1n, 2n ** 31n, 2n ** 53n + 1n, 2n ** 63n - 1n];
const REFUSED = ['INTERNAL', 'INVALID_ARG', 'UNSUPPORTED'];

const parameter = (random: Random) =>
  ({
    parameterChoice: random.of([
      { case: 'boolParam', value: true },
      { case: 'int64Param', value: -5n },
      { case: 'stringParam', value: 'é' },
      { case: 'doubleParam', value: 0.5 },
      { case: 'uint64Param', value: 2n ** 64n - 1n },
      { case: undefined },
    ] as const),
  }) as const;

const parameters = (random: Random, names: readonly string[]) =>
  Object.fromEntries(names.filter(() => random.chance(0.05)).map((name) => [name, parameter(random)]));

function tensors(random: Random) {
  return someInputs(random).map(({ name, datatype, shape: right }) => {
    const shape = random.chance(0.9)
      ? right.map(BigInt)
      : Array.from({ length: random.integer(0, 4) }, () => random.of(DIMS));
    const count = Number(shape.reduce((product, dim) => product * (dim < 0n || dim > 9n ? 0n : dim), 1n));
    return { name, datatype, shape, count };
  });
}

function rawOf({
  datatype,
  count,
}: {
  readonly datatype: keyof typeof DATATYPE_BYTE_SIZE;
  readonly count: number;
}): Uint8Array {
  return datatype === 'BYTES'
    ? Buffer.concat(Array.from({ length: count }, () => Buffer.of(1, 0, 0, 0, 0x41)))
    : new Uint8Array(count * DATATYPE_BYTE_SIZE[datatype]).fill(1);
}

function contentsOf({ datatype, count }: { readonly datatype: string; readonly count: number }) {
  const values = <T>(value: T) => Array.from({ length: count }, () => value);
  if (datatype === 'BYTES') return { bytesContents: values(Buffer.from('A')) };
  if (datatype === 'INT64') return { int64Contents: values(-3n) };
  return datatype === 'BOOL' ? { boolContents: values(true) } : { fp32Contents: values(0.5) };
}

function bytesOf<Schema extends DescMessage>(schema: Schema, message: MessageShape<Schema>): Buffer {
  return Buffer.from(toBinary(schema, message));
}

/** What the generic decoder makes of it; undefined: nothing. */
function generic<Schema extends DescMessage>(schema: Schema, input: Buffer, unread: readonly string[] = []) {
  try {
    return fromBinary(schema, wellFormed(schema, input, unread));
  } catch {
    return undefined;
  }
}

const same = (ours: unknown, theirs: unknown, what: string) =>
  must(
    JSON.stringify(ours) === JSON.stringify(theirs),
    () => `${what}: ${JSON.stringify(ours)}, expected ${JSON.stringify(theirs)}`,
  );

export const inferRequests: FuzzTarget = {
  about: 'ModelInferRequest, raw and typed contents',
  make(random) {
    const inputs = tensors(random);
    const isRaw = random.chance(0.6);
    const message = create(ModelInferRequestSchema, {
      modelName: random.of(['m', 'm', 'é', '']),
      modelVersion: random.of(['', '1']),
      id: random.of(['', '7']),
      parameters: parameters(random, ['k', 'priority', 'timeout', 'sequence_id', 'triton_x']),
      inputs: inputs.map((input) => ({
        name: input.name,
        datatype: input.datatype,
        shape: input.shape,
        parameters: parameters(random, ['shared_memory_region', 'binary_data_size']),
        ...(isRaw || random.chance(0.1) ? {} : { contents: contentsOf(input) }),
      })),
      outputs: random.chance(0.5)
        ? []
        : [{ name: random.chance(0.9) ? 'y' : 'é', parameters: parameters(random, ['classification']) }],
      rawInputContents: isRaw ? inputs.map(rawOf) : [],
    });
    return bytesOf(ModelInferRequestSchema, message);
  },
  check(input) {
    const form = outcomeOf(() => finishPaced(decodeInferRequest(input)), REFUSED);
    const theirs = generic(ModelInferRequestSchema, input);
    if (form instanceof TritonError) return false;
    must(theirs !== undefined, () => 'the generic decoder takes it for no message');
    same([form.modelName, form.modelVersion, form.id], [theirs!.modelName, theirs!.modelVersion, theirs!.id], 'names');
    const complete = outcomeOf(() => finishPaced(form.complete(MODEL, NO_SHARED_MEMORY)), REFUSED);
    if (complete instanceof TritonError) return false;
    const { request } = complete;
    same(
      request.inputs.map(({ name }) => name),
      theirs!.inputs.map(({ name }) => name),
      'inputs',
    );
    same(
      request.inputs.map(({ shape }) => shape.map(Number)),
      theirs!.inputs.map(({ shape }) => shape.map(Number)),
      'shapes',
    );
    same(
      request.outputs,
      theirs!.outputs.map(({ name }) => name),
      'outputs',
    );
    if (theirs!.rawInputContents.length > 0) {
      const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
      // Further entries are passed over, as Triton does.
      const raw = theirs!.rawInputContents.slice(0, request.inputs.length);
      same(
        request.inputs.map(({ bytes }) => hex(bytes)),
        raw.map(hex),
        'raw contents',
      );
    }
    return isTaken(request);
  },
};

export const inferResponses: FuzzTarget = {
  about: 'ModelInferResponse and its streams, for clients',
  make(random) {
    const outputs = tensors(random);
    const inferResponse = create(ModelInferResponseSchema, {
      modelName: 'm',
      modelVersion: '1',
      id: random.of(['', '7']),
      parameters: parameters(random, ['k', 'triton_final_response']),
      outputs: outputs.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
      rawOutputContents: outputs.map(rawOf),
    });
    if (random.chance(0.5)) return bytesOf(ModelInferResponseSchema, inferResponse);
    const errorMessage = random.of(['', '', "Request for unknown model: 'x'", 'é']);
    const message = create(ModelStreamInferResponseSchema, { errorMessage, inferResponse });
    return bytesOf(ModelStreamInferResponseSchema, message);
  },
  check(input) {
    outcomeOf(() => decodeStreamResponse(input, input.length % 2 === 0), [...REFUSED, 'UNKNOWN', 'NOT_FOUND']);
    const ours = outcomeOf(() => decodeInferResponse(input), REFUSED);
    if (ours instanceof TritonError) return false;
    // Nothing is made of typed contents of answers, which Triton does not send.
    const theirs = generic(ModelInferResponseSchema, input, ['contents']);
    must(theirs !== undefined, () => 'the generic decoder takes it for no message');
    same([ours.modelName, ours.modelVersion, ours.id], [theirs!.modelName, theirs!.modelVersion, theirs!.id], 'names');
    same(
      ours.outputs.map(({ name }) => name),
      theirs!.outputs.map(({ name }) => name),
      'outputs',
    );
    same(
      ours.outputs.map(({ shape }) => shape.map(Number)),
      theirs!.outputs.map(({ shape }) => shape.map(Number)),
      'shapes',
    );
    return true;
  },
};

const CONTROL = [
  service.ModelConfigRequestSchema,
  service.ModelStatisticsRequestSchema,
  service.RepositoryIndexRequestSchema,
  service.RepositoryModelLoadRequestSchema,
  service.RepositoryModelUnloadRequestSchema,
  service.SystemSharedMemoryRegisterRequestSchema,
  service.CudaSharedMemoryRegisterRequestSchema,
  service.TraceSettingRequestSchema,
  service.LogSettingsRequestSchema,
  ServerReflectionRequestSchema,
] as const;

const TEXTS = ['m', '1', 'é', ''];

function scalar(random: Random, type: ScalarType): string | boolean | number | bigint | Uint8Array {
  switch (type) {
    case ScalarType.STRING:
      return random.of(TEXTS);
    case ScalarType.BYTES:
      return Buffer.from(random.of(TEXTS));
    case ScalarType.BOOL:
      return random.chance(0.7);
    case ScalarType.DOUBLE:
      return 0.5;
    case ScalarType.INT32:
    case ScalarType.UINT32:
      return random.integer(0, 300);
    default:
      return random.of(DIMS.slice(0, 7));
  }
}

/** A value of what a field has one of, or has in its list or map. */
function valueOf(random: Random, field: DescField): unknown {
  if (field.message !== undefined) return filled(random, field.message);
  return field.scalar === undefined ? 0 : scalar(random, field.scalar);
}

/** A message of any schema, with some of its fields. */
function filled(random: Random, schema: DescMessage): MessageShape<DescMessage> {
  const values: Record<string, unknown> = {};
  for (const field of schema.fields) {
    if (random.chance(0.3)) continue;
    const { localName, oneof } = field as DescField & { readonly oneof?: DescOneof };
    const several = Array.from({ length: random.of([0, 1, 1, 3]) }, () => valueOf(random, field));
    if (field.fieldKind === 'list') values[localName] = several;
    else if (field.fieldKind === 'map')
      values[localName] = Object.fromEntries(several.map((value) => [scalar(random, field.mapKey), value]));
    else if (oneof === undefined) values[localName] = valueOf(random, field);
    else values[oneof.localName] = { case: localName, value: valueOf(random, field) };
  }
  return create(schema, values);
}

/** Our own type of the same message. */
function typeCalled(name: string): MessageType<object> {
  return ({ ...messages, ...reflection } as Record<string, unknown>)[name] as MessageType<object>;
}

export const controlMessages: FuzzTarget = {
  about: 'messages of the repository, settings, statistics, reflection and shared memory',
  make(random) {
    const chosen = random.integer(0, CONTROL.length - 1);
    const schema: DescMessage = CONTROL[random.chance(0.9) ? chosen : random.integer(0, CONTROL.length - 1)]!;
    return Buffer.concat([Buffer.of(chosen), bytesOf(schema, filled(random, schema))]);
  },
  check(input) {
    const schema: DescMessage = CONTROL[(input[0] ?? 0) % CONTROL.length]!;
    const type = typeCalled(schema.name);
    const message = input.subarray(1);
    outcomeOf(() => decodeModelReference(message), REFUSED);
    outcomeOf(() => decodeModelConfigResponse(message), REFUSED);
    const read = outcomeOf(() => decodeMessage(type, message), REFUSED);
    const theirs = generic(schema, message);
    if (read instanceof TritonError) {
      must(theirs === undefined, () => `refused: ${read.message}`);
      return false;
    }
    must(theirs !== undefined, () => 'the generic decoder takes it for no message');
    const written = writeMessage(type, read);
    must(written.equals(bytesOf(schema, theirs!)), () => `read ${inspect(read, { depth: null })}`);
    // What is read is written, and read, the same again.
    must(writeMessage(type, decodeMessage(type, written)).equals(written), () => 'written otherwise than read');
    return true;
  },
};
