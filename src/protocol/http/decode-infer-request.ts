// From the bytes of POST …/infer to a ModelInferRequest: JSON, or JSON followed by binary tensors (the binary tensor
// data extension). Decoding follows Triton's order of steps, so that of several mistakes the same one is reported
// (server/src/http_server.cc, ParseJsonTritonIO). What Triton calls INTERNAL here is the client's INVALID_ARG.
// The core judges what only the model's configuration can tell. Decoding takes time in proportion to the bytes, and
// pauses meanwhile.

import { invalidArg } from '../../errors.js';
import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import { type InferTensor, type ModelInferRequest, ownMemory } from '../../model/exchange.js';
import { Pace, type PacedWork, PAUSE_BYTES } from '../../model/paced-work.js';
import type { Parameters } from '../../model/parameters.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import type { SharedMemoryAccess, SharedMemoryReference } from '../../model/shared-memory.js';
import { type Datatype, DATATYPE_BYTE_SIZE, isDatatype } from '../../tensor/dtype.js';
import { jsonElements, JsonParser } from '../json/json-parser.js';
import { listOf, membersOf, objectOf, VALUE } from '../json/json-shape.js';
import { type JsonArray, JsonDouble, type JsonInteger, JsonObject, type JsonValue } from '../json/json-value.js';
import { checkTensorSize, type CompleteRequest, inputDatatype, type RequestForm } from '../request-form.js';
import { SEQUENCE_END, SEQUENCE_ID, SEQUENCE_START, SequenceFields } from '../sequence-parameters.js';
import type { BinaryOutputs } from './binary-outputs.js';
import { decodeRawRequest, type RequestBody } from './decode-raw-request.js';
import { parseHeaderLength } from './header-length.js';
import type { KnownHeaders, ParsedHeader } from './known-headers.js';
import {
  arrayMember,
  expectBoolean,
  expectString,
  expectUnsigned,
  isUnsigned,
  member,
  parameterNumber,
  ParameterTexts,
  stringMember,
} from './json-members.js';
import { tensorDataReader, type TensorDataReader } from './read-tensor-data.js';

export interface InferBody extends RequestBody {
  /** The header Inference-Header-Content-Length as it came; undefined without it. */
  readonly headerLength: string | undefined;
  /** The JSON of requests before, which need not be parsed again. Default: none is known. */
  readonly known?: KnownHeaders | undefined;
}

export interface CompleteInferRequest extends CompleteRequest {
  readonly binaryOutputs: BinaryOutputs;
}

const SHARED_MEMORY = { shared_memory_region: VALUE, shared_memory_offset: VALUE, shared_memory_byte_size: VALUE };
const INPUT = objectOf({
  name: VALUE,
  datatype: VALUE,
  shape: listOf(VALUE, REQUEST_LIMITS.rank, 'dimensions of a tensor'),
  parameters: objectOf({ binary_data_size: VALUE, ...SHARED_MEMORY }),
  data: VALUE,
});
const OUTPUT = objectOf({
  name: VALUE,
  parameters: objectOf({ binary_data: VALUE, classification: VALUE, ...SHARED_MEMORY }),
});
/** What is read of the JSON: all else is only checked. */
const INFER_REQUEST = objectOf({
  id: VALUE,
  parameters: membersOf({ limit: REQUEST_LIMITS.parameters, what: 'parameters' }),
  inputs: listOf(INPUT, REQUEST_LIMITS.inputs, 'inputs'),
  outputs: listOf(OUTPUT, REQUEST_LIMITS.outputs, 'requested outputs'),
});

/** Throws INVALID_ARG for what is malformed. */
export function* decodeInferRequest(given: InferBody): PacedWork<RequestForm<CompleteInferRequest>> {
  const { body, maxInputSize } = given;
  const jsonLength = parseHeaderLength(given.headerLength, body.length);
  if (jsonLength === 0) return new RawForm(given);
  checkJsonSize(jsonLength, maxInputSize);
  // Without binary tensors behind it, the JSON is another one each time.
  const known = jsonLength < body.length ? given.known : undefined;
  const parsed = known?.find(body, jsonLength);
  if (parsed !== undefined) return new JsonForm(parsed, given, jsonLength);
  const header = known?.copy(body, jsonLength);
  const parser = new JsonParser(header ?? body, { end: jsonLength }, INFER_REQUEST);
  while (!parser.advance(PAUSE_BYTES)) yield;
  if (header !== undefined) known!.add(header, parser.value);
  return new JsonForm({ json: parser.value, id: undefined }, given, jsonLength);
}

// Forms are classes, because a generator function that is made anew for each request costs as much as reading it.
class RawForm implements RequestForm<CompleteInferRequest> {
  readonly #given: InferBody;

  constructor(given: InferBody) {
    this.#given = given;
  }

  // eslint-disable-next-line require-yield
  *complete(config: CompleteModelConfig): PacedWork<CompleteInferRequest> {
    const request = decodeRawRequest(config, this.#given);
    return { request, binaryOutputs: { byDefault: true, listed: undefined }, classes: undefined };
  }
}

class JsonForm implements RequestForm<CompleteInferRequest> {
  readonly #json: JsonValue;
  readonly #given: InferBody;
  readonly #jsonLength: number;
  readonly #id: string;
  readonly #parameters: RequestParameters;

  constructor({ json, id }: ParsedHeader, given: InferBody, jsonLength: number) {
    this.#json = json;
    this.#given = given;
    this.#jsonLength = jsonLength;
    this.#id = id ?? readId(member(json, 'id'));
    this.#parameters = readParameters(member(json, 'parameters'));
  }

  *complete(
    { name: modelName }: CompleteModelConfig,
    sharedMemory: SharedMemoryAccess,
  ): PacedWork<CompleteInferRequest> {
    const { modelVersion, body, maxInputSize } = this.#given;
    const { parameters, priority, timeoutMicroseconds, sequence, binaryByDefault } = this.#parameters;
    const reader = new InputReader(modelName, { body, jsonLength: this.#jsonLength, maxInputSize, sharedMemory });
    const inputs = yield* reader.readAll(arrayMember(this.#json, 'inputs'));
    const { outputs, listed, classes, elsewhere } = readOutputs(this.#json, sharedMemory);
    return {
      request: {
        modelName,
        modelVersion,
        id: this.#id,
        parameters,
        inputs,
        outputs,
        priority,
        timeoutMicroseconds,
        sequence,
        memory: reader.memory,
      },
      binaryOutputs: { byDefault: binaryByDefault, listed, elsewhere },
      classes,
    };
  }
}

function readId(id: JsonValue | undefined): string {
  return id === undefined ? '' : expectString(id, 'id');
}

/** Throws INVALID_ARG when the JSON part is larger than allowed. */
export function checkJsonSize(jsonLength: number, maxInputSize: number): void {
  if (jsonLength <= maxInputSize) return;
  throw invalidArg(
    `request JSON size of ${jsonLength} bytes exceeds the maximum allowed input size of ${maxInputSize} bytes. ` +
      'Use --http-max-input-size to increase the limit.',
  );
}

interface RequestParameters extends Pick<
  ModelInferRequest,
  'parameters' | 'priority' | 'timeoutMicroseconds' | 'sequence'
> {
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
    throw invalidArg('failed to get request params.: attempt to get members for non-object');
  }
  // Without a prototype: a parameter may be called anything, __proto__ too.
  let custom: Record<string, string | boolean | number | bigint> | undefined;
  let priority = 0;
  let timeoutMicroseconds = 0;
  let fields: SequenceFields | undefined;
  let binaryByDefault = false;
  const texts = new ParameterTexts();
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
        custom[key] = customParameter(key, given, texts);
    }
  }
  return { parameters: custom, priority, timeoutMicroseconds, sequence: fields?.sequence, binaryByDefault };
}

function customParameter(key: string, value: JsonValue, texts: ParameterTexts): Parameters[string] {
  if (key.startsWith('triton_')) {
    throw invalidArg(
      "parameter keys starting with 'triton_' are reserved for Triton usage and should not be specified.",
    );
  }
  const text = texts.take(key, value);
  if (text !== undefined) return text;
  if (typeof value === 'boolean') return value;
  if (typeof value === 'number' || typeof value === 'bigint' || value instanceof JsonDouble)
    return parameterNumber(value);
  throw invalidArg(`parameter '${key}' has invalid type. It should be either 'int', 'bool', or 'string'.`);
}

/** What an input takes beside its data, as so much of it. */
const BYTES_OF_AN_INPUT = 256;

const CONTENT_SOURCES =
  "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'.";

/** Reads the inputs in order; binary ones take their bytes from the body behind the JSON. */
class InputReader {
  readonly #modelName: string;
  readonly #body: Buffer;
  readonly #maxInputSize: number;
  readonly #sharedMemory: SharedMemoryAccess;
  readonly #pace = new Pace();
  #memory: Set<ArrayBuffer> | undefined;
  #binaryOffset: number;

  constructor(
    modelName: string,
    given: Pick<InferBody, 'body' | 'maxInputSize'> & {
      readonly jsonLength: number;
      readonly sharedMemory: SharedMemoryAccess;
    },
  ) {
    this.#modelName = modelName;
    this.#body = given.body;
    this.#binaryOffset = given.jsonLength;
    this.#maxInputSize = given.maxInputSize;
    this.#sharedMemory = given.sharedMemory;
  }

  /** Of the inputs that were read, what belongs to them alone. */
  get memory(): readonly ArrayBuffer[] | undefined {
    return this.#memory && [...this.#memory];
  }

  *readAll(list: JsonArray): PacedWork<InferTensor[]> {
    const inputs: InferTensor[] = [];
    for (const input of jsonElements(list)) {
      inputs.push(yield* this.#read(input));
      if (this.#pace.spend(BYTES_OF_AN_INPUT)) yield;
    }
    if (this.#binaryOffset !== this.#body.length) {
      throw invalidArg(`unexpected additional input data for model '${this.#modelName}'`);
    }
    return inputs;
  }

  *#read(input: JsonValue): PacedWork<InferTensor> {
    const parameters = member(input, 'parameters') ?? null;
    const binarySize = member(parameters, 'binary_data_size');
    const region = member(parameters, 'shared_memory_region');
    checkContentSource(member(input, 'data') !== undefined, binarySize !== undefined, region !== undefined);
    const name = stringMember(input, 'name');
    const datatype = stringMember(input, 'datatype');
    const dims = readDims(arrayMember(input, 'shape'));
    const count = elementCount(name, dims, datatype);
    // Of its own: the JSON may be that of other requests too.
    const shape = dims.map(Number);
    if (region !== undefined) {
      const { bytes, memory } = yield* this.#sharedMemory.input(readReference(region, parameters));
      this.#own(memory);
      return { name, datatype: inputDatatype(datatype), shape, bytes };
    }
    if (binarySize !== undefined) {
      const bytes = this.#takeBinary(name, expectUnsigned(binarySize, 'binary_data_size'));
      return { name, datatype: inputDatatype(datatype), shape, bytes };
    }
    const reader = this.#dataReader(input, name, datatype, count);
    if (reader === undefined) return { name, datatype: datatype as Datatype, shape, bytes: new Uint8Array(0) };
    while (!reader.advance(PAUSE_BYTES)) yield;
    // What it read without a pause counts with what the next input takes.
    if (this.#pace.spend(reader.textLength % PAUSE_BYTES)) yield;
    this.#own(reader.memory);
    return { name, datatype: datatype as Datatype, shape, bytes: reader.values };
  }

  #own(memory: ArrayBuffer | undefined): void {
    if (memory !== undefined) (this.#memory ??= new Set()).add(memory);
  }

  #takeBinary(name: string, size: JsonInteger): Buffer {
    const start = this.#binaryOffset;
    const available = this.#body.length - start;
    if (size > available) {
      throw invalidArg(
        `unexpected size for input '${name}', expecting ${BigInt(size) - BigInt(available)} additional bytes for model '${this.#modelName}'`,
      );
    }
    this.#binaryOffset = start + Number(size);
    this.#own(ownMemory(this.#body));
    return this.#body.subarray(start, this.#binaryOffset);
  }

  /** Undefined for a tensor without elements, whatever is given as its data. */
  #dataReader(input: JsonValue, name: string, datatype: string, count: number): TensorDataReader | undefined {
    const data = arrayMember(input, 'data');
    if (!isDatatype(datatype)) throw invalidArg(`invalid datatype for input ${name}`);
    if (count === 0) return undefined;
    const byteSize = count * DATATYPE_BYTE_SIZE[datatype];
    if (byteSize > this.#maxInputSize) {
      throw invalidArg(
        `JSON input '${name}' has a byte_size (${byteSize} bytes) that exceeds the maximum allowed value of ${this.#maxInputSize} bytes. ` +
          'Use --http-max-input-size to increase the limit.',
      );
    }
    return tensorDataReader(data, { datatype, count, name });
  }
}

function checkContentSource(data: boolean, binary: boolean, region: boolean): void {
  if (Number(data) + Number(binary) + Number(region) === 1) return;
  if (!data && !binary && !region) throw invalidArg(`${CONTENT_SOURCES} But no field is set`);
  const set = [data ? " 'data'" : '', binary ? " 'binary_data_size'" : '', region ? " 'shared_memory_region'" : ''];
  throw invalidArg(`${CONTENT_SOURCES} But set${set.join('')}`);
}

function readDims(shape: JsonArray): readonly JsonInteger[] {
  const dims = jsonElements(shape);
  for (let i = 0; i < dims.length; i++) expectUnsigned(dims[i]!, 'shape');
  return dims as readonly JsonInteger[];
}

/** The number of elements of a shape. Throws INVALID_ARG when it or the tensor's size does not fit int64. */
function elementCount(name: string, dims: readonly JsonInteger[], datatype: string): number {
  let count = 1;
  let small = true;
  for (let i = 0; i < dims.length; i++) {
    small &&= typeof dims[i] === 'number';
    count *= Number(dims[i]);
  }
  if (!small || count * 8 > Number.MAX_SAFE_INTEGER) checkTensorSize(name, dims, datatype);
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
  /** Their names as they are listed; none asks for all. */
  readonly outputs: readonly string[];
  /** The listed outputs in order, each with whether it is wanted in binary; undefined when none is listed. */
  readonly listed: ReadonlyMap<string, boolean> | undefined;
  readonly classes: ReadonlyMap<string, JsonInteger> | undefined;
  readonly elsewhere: ReadonlySet<string> | undefined;
}

const ALL_OUTPUTS: RequestedOutputs = { outputs: [], listed: undefined, classes: undefined, elsewhere: undefined };

function readOutputs(json: JsonValue, sharedMemory: SharedMemoryAccess): RequestedOutputs {
  if (member(json, 'outputs') === undefined) return ALL_OUTPUTS;
  const list = jsonElements(arrayMember(json, 'outputs'));
  if (list.length === 0) return ALL_OUTPUTS;
  const outputs: string[] = [];
  const listed = new Map<string, boolean>();
  let classes: Map<string, JsonInteger> | undefined;
  let elsewhere: Set<string> | undefined;
  for (const output of list) {
    const name = stringMember(output, 'name');
    const asked = readOutputParameters(member(output, 'parameters') ?? null);
    if (asked.place !== undefined) sharedMemory.output(name, asked.place);
    // One that is listed twice is refused by the core.
    outputs.push(name);
    listed.set(name, asked.isBinary);
    if (asked.place !== undefined) (elsewhere ??= new Set<string>()).add(name);
    if (asked.classes > 0) (classes ??= new Map<string, JsonInteger>()).set(name, asked.classes);
  }
  return { outputs, listed, classes, elsewhere };
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
    if (classes > 0) throw invalidArg("Output can't set both 'shared_memory_region' and 'classification'");
    if (isBinary) throw invalidArg("Output can't set both 'shared_memory_region' and 'binary_data'");
    return { isBinary, classes, place };
  }
  return { isBinary, classes, place: undefined };
}

function readClassification(value: JsonValue): JsonInteger {
  if (isUnsigned(value)) return value;
  throw invalidArg("Unable to set 'classification': attempt to access JSON non-unsigned-integer as unsigned-integer");
}
