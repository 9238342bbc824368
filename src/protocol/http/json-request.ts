// The parts of the JSON of POST …/infer that depend on neither the model nor the bytes behind the JSON. Several requests may
// share one JSON, so each part is read once, when a request first needs it. That way Triton's order of steps decides which of
// several mistakes is reported (server/src/http_server.cc, ParseJsonTritonIO).

import { invalidArg } from '../../errors.js';
import type { ModelInferRequest } from '../../model/exchange.js';
import type { Parameters } from '../../model/parameters.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import type { SharedMemoryAccess, SharedMemoryReference } from '../../model/shared-memory.js';
import type { Datatype } from '../../tensor/dtype.js';
import { jsonElements } from '../json/json-parser.js';
import { listOf, membersOf, objectOf, VALUE } from '../json/json-shape.js';
import { type JsonArray, JsonDouble, type JsonInteger, JsonObject, type JsonValue } from '../json/json-value.js';
import { checkTensorSize, inputDatatype } from '../request-form.js';
import { SEQUENCE_END, SEQUENCE_ID, SEQUENCE_START, SequenceFields } from '../sequence-parameters.js';
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
import { takeSequenceField } from './sequence-members.js';
import { wrongDim } from './wrong-data.js';

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
export const PARAMETERS = membersOf({ limit: REQUEST_LIMITS.parameters, what: 'parameters' });
/** The members that are kept. All others are only checked. */
export const INFER_REQUEST = objectOf({
  id: VALUE,
  parameters: PARAMETERS,
  inputs: listOf(INPUT, REQUEST_LIMITS.inputs, 'inputs'),
  outputs: listOf(OUTPUT, REQUEST_LIMITS.outputs, 'requested outputs'),
});

/** The JSON of one request, or of several with the same JSON. */
export class JsonRequest {
  readonly #json: JsonValue;
  readonly #inputs: JsonInput[] = [];
  #list: readonly JsonValue[] | undefined;
  #id: string | undefined;
  #parameters: RequestParameters | undefined;
  #outputs: RequestedOutputs | undefined;

  constructor(json: JsonValue) {
    this.#json = json;
  }

  get id(): string {
    return (this.#id ??= readId(member(this.#json, 'id')));
  }

  get parameters(): RequestParameters {
    return (this.#parameters ??= readParameters(member(this.#json, 'parameters')));
  }

  get inputCount(): number {
    this.#list ??= jsonElements(arrayMember(this.#json, 'inputs'));
    return this.#list.length;
  }

  /** Reads one of the {@link inputCount} inputs. */
  input(index: number): JsonInput {
    return (this.#inputs[index] ??= readInput(this.#list![index]!));
  }

  /** Reads the outputs. Tells `sharedMemory` which outputs it will receive. */
  outputs(sharedMemory: SharedMemoryAccess): RequestedOutputs {
    const known = this.#outputs;
    if (known === undefined) return (this.#outputs = readOutputs(this.#json, sharedMemory));
    if (known.places !== undefined) for (const [name, place] of known.places) sharedMemory.output(name, place);
    return known;
  }
}

function readId(id: JsonValue | undefined): string {
  return id === undefined ? '' : expectString(id, 'id');
}

export interface RequestParameters extends Pick<
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

/** Reads the parameters of a request, including parameters of the scheduler and of sequences. Throws INVALID_ARG. */
export function readParameters(value: JsonValue | undefined): RequestParameters {
  if (value === undefined) return NO_PARAMETERS;
  if (!(value instanceof JsonObject)) {
    throw invalidArg('failed to get request params.: attempt to get members for non-object');
  }
  // The object has no prototype, because a parameter may have any name, even __proto__.
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
      case SEQUENCE_START:
      case SEQUENCE_END:
        takeSequenceField((fields ??= new SequenceFields()), key, given);
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

/** An input without its data. */
export interface JsonInput {
  readonly name: string;
  readonly datatype: Datatype;
  readonly shape: readonly number[];
  /** The number of elements of {@link shape}. */
  readonly count: number;
  /** The place of the input's data in shared memory, if it is there. */
  readonly place: SharedMemoryReference | undefined;
  /** The size of the input's data behind the JSON, if it is there. */
  readonly binarySize: JsonInteger | undefined;
  /** The input itself. It holds the data that is in neither of these places. */
  readonly json: JsonValue;
}

const CONTENT_SOURCES =
  "Input must set only one of the following fields: 'data', 'binary_data_size' in 'parameters', 'shared_memory_region' in 'parameters'.";

function readInput(json: JsonValue): JsonInput {
  const parameters = member(json, 'parameters') ?? null;
  const binarySize = member(parameters, 'binary_data_size');
  const region = member(parameters, 'shared_memory_region');
  checkContentSource(member(json, 'data') !== undefined, binarySize !== undefined, region !== undefined);
  const name = stringMember(json, 'name');
  const datatype = stringMember(json, 'datatype');
  const dims = readDims(name, arrayMember(json, 'shape'));
  return {
    name,
    datatype: inputDatatype(datatype),
    shape: dims.map(Number),
    count: elementCount(name, dims, datatype),
    place: region === undefined ? undefined : readReference(region, parameters),
    binarySize: binarySize === undefined ? undefined : expectUnsigned(binarySize, 'binary_data_size'),
    json,
  };
}

function checkContentSource(data: boolean, binary: boolean, region: boolean): void {
  if (Number(data) + Number(binary) + Number(region) === 1) return;
  if (!data && !binary && !region) throw invalidArg(`${CONTENT_SOURCES} But no field is set`);
  const set = [data ? " 'data'" : '', binary ? " 'binary_data_size'" : '', region ? " 'shared_memory_region'" : ''];
  throw invalidArg(`${CONTENT_SOURCES} But set${set.join('')}`);
}

function readDims(name: string, shape: JsonArray): readonly JsonInteger[] {
  const dims = jsonElements(shape);
  for (let i = 0; i < dims.length; i++) if (!isUnsigned(dims[i]!)) throw wrongDim(name, dims, i);
  return dims as readonly JsonInteger[];
}

/** The number of elements of a shape. Throws INVALID_ARG when that number or the tensor's size does not fit int64. */
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

export interface RequestedOutputs {
  /** The names of the listed outputs. An empty list asks for all outputs. */
  readonly outputs: readonly string[];
  /** The listed outputs in order, and whether each should be binary; undefined when none is listed. */
  readonly listed: ReadonlyMap<string, boolean> | undefined;
  readonly classes: ReadonlyMap<string, JsonInteger> | undefined;
  /** The outputs that are written to shared memory, each once. */
  readonly elsewhere: ReadonlySet<string> | undefined;
  /** The outputs' places in shared memory, in the order of the list. */
  readonly places: readonly (readonly [output: string, place: SharedMemoryReference])[] | undefined;
}

const ALL_OUTPUTS: RequestedOutputs = {
  outputs: [],
  listed: undefined,
  classes: undefined,
  elsewhere: undefined,
  places: undefined,
};

function readOutputs(json: JsonValue, sharedMemory: SharedMemoryAccess): RequestedOutputs {
  if (member(json, 'outputs') === undefined) return ALL_OUTPUTS;
  const list = jsonElements(arrayMember(json, 'outputs'));
  if (list.length === 0) return ALL_OUTPUTS;
  const outputs: string[] = [];
  const listed = new Map<string, boolean>();
  let classes: Map<string, JsonInteger> | undefined;
  let elsewhere: Set<string> | undefined;
  let places: [string, SharedMemoryReference][] | undefined;
  for (const output of list) {
    const name = stringMember(output, 'name');
    const asked = readOutputParameters(member(output, 'parameters') ?? null);
    if (asked.place !== undefined) sharedMemory.output(name, asked.place);
    // The core refuses an output that is listed twice.
    outputs.push(name);
    listed.set(name, asked.isBinary);
    if (asked.place !== undefined) {
      (elsewhere ??= new Set<string>()).add(name);
      (places ??= []).push([name, asked.place]);
    }
    if (asked.classes > 0) (classes ??= new Map<string, JsonInteger>()).set(name, asked.classes);
  }
  return { outputs, listed, classes, elsewhere, places };
}

interface AskedOutput {
  readonly isBinary: boolean;
  readonly classes: JsonInteger;
  /** The place in shared memory that the output should be written to. */
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
