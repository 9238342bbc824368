// From the bytes of POST …/infer to a ModelInferRequest: JSON, or JSON followed by binary tensors (the binary tensor
// data extension). Follows Triton's order of steps, so that of several mistakes the same one is reported
// (server/src/http_server.cc, ParseJsonTritonIO). What Triton calls INTERNAL here is the client's INVALID_ARG.
// What can only be judged with the model's configuration is left to the core.

import { TritonError } from '../../errors.js';
import type { Parameters } from '../../model/parameters.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { InferTensor, ModelInferRequest } from '../../model/exchange.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import type { SharedMemoryAccess, SharedMemoryReference } from '../../model/shared-memory.js';
import { DATATYPE_BYTE_SIZE, type Datatype } from '../../tensor/dtype.js';
import { jsonElements, parseJson } from '../json/json-parser.js';
import { JsonDouble, JsonObject, type JsonArray, type JsonInteger, type JsonValue } from '../json/json-value.js';
import { SEQUENCE_END, SEQUENCE_ID, SEQUENCE_START, SequenceFields } from '../sequence-parameters.js';
import type { BinaryOutputs } from './binary-outputs.js';
import { decodeRawRequest } from './decode-raw-request.js';
import { parseHeaderLength } from './header-length.js';
import {
  arrayMember,
  expectBoolean,
  expectString,
  expectUnsigned,
  isUnsigned,
  member,
  parameterNumber,
  stringMember,
} from './json-members.js';
import { readTensorData } from './read-tensor-data.js';

export interface InferBody {
  /** Of the model that the request is for. */
  readonly config: CompleteModelConfig;
  /** As in the path; '' asks for the latest. */
  readonly modelVersion: string;
  readonly body: Buffer;
  /** The header Inference-Header-Content-Length as it came; undefined without it. */
  readonly headerLength: string | undefined;
  /** Largest JSON part, and largest tensor that JSON may expand to, in bytes. */
  readonly maxInputSize: number;
  /** Where tensors in shared memory are found. */
  readonly sharedMemory: SharedMemoryAccess;
}

export interface DecodedInferRequest {
  readonly request: ModelInferRequest;
  readonly binaryOutputs: BinaryOutputs;
  /** How many classes are wanted of an output; undefined when none is to be classified. */
  readonly classes: ReadonlyMap<string, JsonInteger> | undefined;
}

/** Throws INVALID_ARG for what is malformed, and what `sharedMemory` throws. Inputs may be views of the body or of shared memory. */
export function decodeInferRequest({
  config,
  modelVersion,
  body,
  headerLength,
  maxInputSize,
  sharedMemory,
}: InferBody): DecodedInferRequest {
  const jsonLength = parseHeaderLength(headerLength, body.length);
  if (jsonLength === 0) {
    return {
      request: decodeRawRequest({ config, modelVersion, body, maxInputSize }),
      binaryOutputs: { byDefault: true, listed: undefined },
      classes: undefined,
    };
  }
  checkJsonSize(jsonLength, maxInputSize);
  const json = parseJson(body, 0, jsonLength);
  const id = member(json, 'id');
  const idText = id === undefined ? '' : expectString(id, 'id');
  const { parameters, priority, timeoutMicroseconds, sequence, binaryByDefault } = readParameters(
    member(json, 'parameters'),
  );
  const reader = new InputReader(config.name, { body, jsonLength, maxInputSize, sharedMemory });
  const inputs = reader.readAll(arrayMember(json, 'inputs'));
  const { listed, classes, elsewhere } = readOutputs(json, sharedMemory);
  return {
    request: {
      modelName: config.name,
      modelVersion,
      id: idText,
      parameters,
      inputs,
      outputs: listed === undefined ? [] : [...listed.keys()],
      priority,
      timeoutMicroseconds,
      sequence,
    },
    binaryOutputs: { byDefault: binaryByDefault, listed, elsewhere },
    classes,
  };
}

/** Throws INVALID_ARG when the JSON part is larger than allowed. */
export function checkJsonSize(jsonLength: number, maxInputSize: number): void {
  if (jsonLength <= maxInputSize) return;
  throw new TritonError(
    'INVALID_ARG',
    `request JSON size of ${jsonLength} bytes exceeds the maximum allowed input size of ${maxInputSize} bytes. ` +
      'Use --http-max-input-size to increase the limit.',
  );
}

interface RequestParameters {
  readonly parameters: Parameters | undefined;
  readonly priority: number;
  readonly timeoutMicroseconds: number;
  readonly sequence: RequestSequence | undefined;
  readonly binaryByDefault: boolean;
}

const NO_PARAMETERS: RequestParameters = {
  parameters: undefined,
  priority: 0,
  timeoutMicroseconds: 0,
  sequence: undefined,
  binaryByDefault: false,
};

function readParameters(value: JsonValue | undefined): RequestParameters {
  if (value === undefined) return NO_PARAMETERS;
  if (!(value instanceof JsonObject)) {
    throw new TritonError('INVALID_ARG', 'failed to get request params.: attempt to get members for non-object');
  }
  // Without a prototype: a parameter may be called anything, __proto__ too.
  let custom: Record<string, string | boolean | number | bigint> | undefined;
  let priority = 0;
  let timeoutMicroseconds = 0;
  let fields: SequenceFields | undefined;
  let binaryByDefault = false;
  for (let i = 0; i < value.keys.length; i++) {
    const key = value.keys[i]!;
    const given = value.values[i]!;
    switch (key) {
      case SEQUENCE_ID:
        (fields ??= new SequenceFields()).id = isUnsigned(given) ? given : expectString(given, key);
        break;
      case SEQUENCE_START:
        (fields ??= new SequenceFields()).start = expectBoolean(given, key);
        break;
      case SEQUENCE_END:
        (fields ??= new SequenceFields()).end = expectBoolean(given, key);
        break;
      case 'priority':
        priority = Number(expectUnsigned(given, key));
        break;
      case 'timeout':
        timeoutMicroseconds = Number(expectUnsigned(given, key));
        break;
      case 'binary_data_output':
        binaryByDefault = expectBoolean(given, key);
        break;
      default:
        custom ??= Object.create(null) as Record<string, string | boolean | number | bigint>;
        if (!(key in custom)) custom[key] = customParameter(key, given);
    }
  }
  return { parameters: custom, priority, timeoutMicroseconds, sequence: fields?.sequence, binaryByDefault };
}

function customParameter(key: string, value: JsonValue): string | boolean | number | bigint {
  if (key.startsWith('triton_')) {
    throw new TritonError(
      'INVALID_ARG',
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
    );
  }
  if (typeof value === 'string' || typeof value === 'boolean') return value;
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof JsonDouble)
    return parameterNumber(value);
  throw new TritonError(
    'INVALID_ARG',
    `parameter '${key}' has invalid type. It should be either 'int', 'bool', or 'string'.`,
  );
}

const CONTENT_SOURCES =
  "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'.";

/** Reads the inputs in order; binary ones take their bytes from the body behind the JSON. */
class InputReader {
  readonly #modelName: string;
  readonly #body: Buffer;
  readonly #maxInputSize: number;
  readonly #sharedMemory: SharedMemoryAccess;
  #binaryOffset: number;

  constructor(
    modelName: string,
    given: Pick<InferBody, 'body' | 'maxInputSize' | 'sharedMemory'> & { readonly jsonLength: number },
  ) {
    this.#modelName = modelName;
    this.#body = given.body;
    this.#binaryOffset = given.jsonLength;
    this.#maxInputSize = given.maxInputSize;
    this.#sharedMemory = given.sharedMemory;
  }

  readAll(list: JsonArray): InferTensor[] {
    const inputs = jsonElements(list).map((input) => this.#read(input));
    if (this.#binaryOffset !== this.#body.length) {
      throw new TritonError('INVALID_ARG', `unexpected additional input data for model '${this.#modelName}'`);
    }
    return inputs;
  }

  #read(input: JsonValue): InferTensor {
    const parameters = member(input, 'parameters') ?? null;
    const binarySize = member(parameters, 'binary_data_size');
    const region = member(parameters, 'shared_memory_region');
    checkContentSource(member(input, 'data') !== undefined, binarySize !== undefined, region !== undefined);
    const name = stringMember(input, 'name');
    const datatype = stringMember(input, 'datatype');
    const dims = readDims(arrayMember(input, 'shape'));
    const count = elementCount(name, dims, datatype);
    const shape = dims.every((dim) => typeof dim === 'number') ? dims : dims.map(Number);
    if (region !== undefined) {
      const bytes = this.#sharedMemory.input(readReference(region, parameters), datatype);
      return { name, datatype: knownDatatype(datatype), shape, bytes };
    }
    if (binarySize !== undefined) {
      const bytes = this.#takeBinary(name, expectUnsigned(binarySize, 'binary_data_size'));
      return { name, datatype: knownDatatype(datatype), shape, bytes };
    }
    return { name, datatype: datatype as Datatype, shape, bytes: this.#readData(input, name, datatype, count) };
  }

  #takeBinary(name: string, size: JsonInteger): Buffer {
    const start = this.#binaryOffset;
    const available = this.#body.length - start;
    if (size > available) {
      throw new TritonError(
        'INVALID_ARG',
        `unexpected size for input '${name}', expecting ${BigInt(size) - BigInt(available)} additional bytes for model '${this.#modelName}'`,
      );
    }
    this.#binaryOffset = start + Number(size);
    return this.#body.subarray(start, this.#binaryOffset);
  }

  #readData(input: JsonValue, name: string, datatype: string, count: number): Uint8Array {
    const data = arrayMember(input, 'data');
    if (!isDatatype(datatype)) throw new TritonError('INVALID_ARG', `invalid datatype for input ${name}`);
    if (count === 0) return new Uint8Array(0);
    const byteSize = count * DATATYPE_BYTE_SIZE[datatype];
    if (byteSize > this.#maxInputSize) {
      throw new TritonError(
        'INVALID_ARG',
        `JSON input '${name}' has a byte_size (${byteSize} bytes) that exceeds the maximum allowed value of ${this.#maxInputSize} bytes. ` +
          'Use --http-max-input-size to increase the limit.',
      );
    }
    return readTensorData(data, name, datatype, count);
  }
}

function checkContentSource(data: boolean, binary: boolean, region: boolean): void {
  if (Number(data) + Number(binary) + Number(region) === 1) return;
  if (!data && !binary && !region) throw new TritonError('INVALID_ARG', `${CONTENT_SOURCES} But no field is set`);
  const set = [data ? " 'data'" : '', binary ? " 'binary_data_size'" : '', region ? " 'shared_memory_region'" : ''];
  throw new TritonError('INVALID_ARG', `${CONTENT_SOURCES} But set${set.join('')}`);
}

function isDatatype(name: string): name is Datatype {
  return Object.hasOwn(DATATYPE_BYTE_SIZE, name);
}

// An unknown datatype is reported by the core, as a mismatch, once the input is known to exist.
function knownDatatype(name: string): Datatype {
  return isDatatype(name) ? name : ('<invalid>' as Datatype);
}

function readDims(shape: JsonArray): readonly JsonInteger[] {
  const dims = jsonElements(shape);
  for (let i = 0; i < dims.length; i++) expectUnsigned(dims[i]!, 'shape');
  return dims as readonly JsonInteger[];
}

const MAX_INT64 = 9223372036854775807n;

/** The number of elements of a shape. Throws INVALID_ARG when it or the tensor's size does not fit int64. */
function elementCount(name: string, dims: readonly JsonInteger[], datatype: string): number {
  let count = 1;
  let small = true;
  for (let i = 0; i < dims.length; i++) {
    small &&= typeof dims[i] === 'number';
    count *= Number(dims[i]);
  }
  if (small && count * 8 <= Number.MAX_SAFE_INTEGER) return count;
  const shape = `invalid shape for input '${name}': shape [${dims.join(',')}]`;
  if (dims.some((dim) => dim > MAX_INT64))
    throw new TritonError('INVALID_ARG', `${shape} contains one or more invalid dimensions`);
  const exact = dims.reduce<bigint>((product, dim) => product * BigInt(dim), 1n);
  if (exact > MAX_INT64) {
    throw new TritonError('INVALID_ARG', `${shape} causes total element count to exceed maximum size of ${MAX_INT64}`);
  }
  const size = isDatatype(datatype) ? DATATYPE_BYTE_SIZE[datatype] : 0;
  if (exact * BigInt(size) > MAX_INT64) {
    throw new TritonError(
      'INVALID_ARG',
      `byte size overflow for input '${name}': element count (${exact}) * data type size (${size}) exceeds maximum allowed size (${MAX_INT64})`,
    );
  }
  return count;
}

function readReference(region: JsonValue, parameters: JsonValue): SharedMemoryReference {
  const number = (name: string) => {
    const value = member(parameters, name);
    return value === undefined ? 0 : expectUnsigned(value, name);
  };
  return {
    region: expectString(region, 'shared_memory_region'),
    offset: number('shared_memory_offset'),
    byteSize: number('shared_memory_byte_size'),
  };
}

interface RequestedOutputs {
  /** The listed outputs in order, each with whether it is wanted in binary; undefined when none is listed. */
  readonly listed: ReadonlyMap<string, boolean> | undefined;
  readonly classes: ReadonlyMap<string, JsonInteger> | undefined;
  readonly elsewhere: ReadonlySet<string> | undefined;
}

const ALL_OUTPUTS: RequestedOutputs = { listed: undefined, classes: undefined, elsewhere: undefined };

function readOutputs(json: JsonValue, sharedMemory: SharedMemoryAccess): RequestedOutputs {
  if (member(json, 'outputs') === undefined) return ALL_OUTPUTS;
  const list = jsonElements(arrayMember(json, 'outputs'));
  if (list.length === 0) return ALL_OUTPUTS;
  const listed = new Map<string, boolean>();
  let classes: Map<string, JsonInteger> | undefined;
  let elsewhere: Set<string> | undefined;
  for (const output of list) {
    const name = stringMember(output, 'name');
    const asked = readOutputParameters(member(output, 'parameters') ?? null);
    if (asked.place !== undefined) sharedMemory.output(name, asked.place);
    if (listed.has(name)) continue;
    listed.set(name, asked.isBinary);
    if (asked.place !== undefined) (elsewhere ??= new Set<string>()).add(name);
    if (asked.classes > 0) (classes ??= new Map<string, JsonInteger>()).set(name, asked.classes);
  }
  return { listed, classes, elsewhere };
}

interface AskedOutput {
  readonly isBinary: boolean;
  readonly classes: JsonInteger;
  /** Where in shared memory it is to be written. */
  readonly place: SharedMemoryReference | undefined;
}

function readOutputParameters(parameters: JsonValue): AskedOutput {
  const region = member(parameters, 'shared_memory_region');
  const classification = member(parameters, 'classification');
  const binary = member(parameters, 'binary_data');
  const classes = classification === undefined ? 0 : readClassification(classification);
  const isBinary = binary !== undefined && expectBoolean(binary, 'binary_data');
  if (region !== undefined) {
    const place = readReference(region, parameters);
    if (classes > 0)
      throw new TritonError('INVALID_ARG', "Output can't set both 'shared_memory_region' and 'classification'");
    if (isBinary)
      throw new TritonError('INVALID_ARG', "Output can't set both 'shared_memory_region' and 'binary_data'");
    return { isBinary, classes, place };
  }
  return { isBinary, classes, place: undefined };
}

function readClassification(value: JsonValue): JsonInteger {
  if (isUnsigned(value)) return value;
  throw new TritonError(
    'INVALID_ARG',
    "Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer",
  );
}
