// From the body of POST …/generate and …/generate_stream to a ModelInferRequest (the generate extension): members that
// are called as inputs become tensors whose shape follows from the model's configuration, all others request
// parameters. Follows Triton's order of steps and its texts (server/src/http_server.cc, GenerateRequestClass). Takes time
// in proportion to the bytes, and pauses meanwhile.

import { invalidArg, TritonError } from '../../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';
import { Pace, type PacedWork, PAUSE_BYTES } from '../../model/paced-work.js';
import type { Parameters } from '../../model/parameters.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { DATATYPE_BYTE_SIZE } from '../../tensor/dtype.js';
import { elementCount } from '../../tensor/shape.js';
import { JsonParser } from '../json/json-parser.js';
import { membersOf } from '../json/json-shape.js';
import { JsonArray, JsonDouble, JsonObject, JsonText, type JsonValue } from '../json/json-value.js';
import type { CompleteRequest, RequestForm } from '../request-form.js';
import { checkJsonSize } from './decode-infer-request.js';
import type { RequestBody } from './decode-raw-request.js';
import { expectString, member, parameterNumber, ParameterTexts } from './json-members.js';
import { type DataText, tensorDataReader } from './read-tensor-data.js';

/** The member whose own members are mapped by the same rule. */
const NESTED = 'parameters';
const MEMBERS = { limit: REQUEST_LIMITS.parameters, what: 'members', repeated: 'all' } as const;
const GENERATE_REQUEST = membersOf(MEMBERS, { [NESTED]: membersOf(MEMBERS) });

/** Throws INVALID_ARG. */
export function* decodeGenerateRequest({ modelVersion, body, maxInputSize }: RequestBody): PacedWork<RequestForm> {
  checkJsonSize(body.length, maxInputSize);
  const parser = new JsonParser(body, {}, GENERATE_REQUEST);
  while (!parser.advance(PAUSE_BYTES)) yield;
  const json = parser.value;
  if (!(json instanceof JsonObject)) throw invalidArg('attempt to get members for non-object');
  const id = member(json, 'id');
  return new GenerateForm(json, { modelVersion, body, maxInputSize }, id === undefined ? '' : expectString(id, 'id'));
}

class GenerateForm implements RequestForm {
  readonly #json: JsonObject;
  readonly #given: RequestBody;
  readonly #id: string;

  constructor(json: JsonObject, given: RequestBody, id: string) {
    this.#json = json;
    this.#given = given;
    this.#id = id;
  }

  *complete(config: CompleteModelConfig): PacedWork<CompleteRequest> {
    const { modelVersion, body, maxInputSize } = this.#given;
    const mapping = new GenerateMapping(config, this.#id, maxInputSize);
    for (const given of membersIn(body, this.#json)) {
      if (given.name === NESTED) yield* mapping.addNested(given);
      else yield* mapping.add(given);
    }
    const { id, parameters, inputs, memory } = mapping;
    const { name: modelName } = config;
    const none = { outputs: [], priority: 0, timeoutMicroseconds: 0 };
    return { request: { modelName, modelVersion, id, parameters, inputs, ...none, memory } };
  }
}

/** A member of the request, with its text. */
interface GivenMember {
  readonly name: string;
  readonly value: JsonValue;
  readonly text: DataText;
}

function membersIn(bytes: Buffer, { keys, values, places }: JsonObject): readonly GivenMember[] {
  return keys.map((name, index) => ({
    name,
    value: values[index]!,
    text: { bytes, start: places[2 * index]!, end: places[2 * index + 1]! },
  }));
}

class GenerateMapping {
  readonly id: string;
  readonly inputs: InferTensor[] = [];
  readonly #config: CompleteModelConfig;
  readonly #maxInputSize: number;
  // Without a prototype: a parameter may be called anything, __proto__ too.
  #parameters: Record<string, Parameters[string]> | undefined;
  #byteSize = 0;
  readonly #texts = new ParameterTexts();
  readonly #pace = new Pace();
  readonly #memory: ArrayBuffer[] = [];

  constructor(config: CompleteModelConfig, id: string, maxInputSize: number) {
    this.id = id;
    this.#config = config;
    this.#maxInputSize = maxInputSize;
  }

  get parameters(): Parameters | undefined {
    return this.#parameters;
  }

  /** Of the inputs, what belongs to them alone. */
  get memory(): readonly ArrayBuffer[] | undefined {
    return this.#memory.length === 0 ? undefined : this.#memory;
  }

  *addNested({ value, text }: GivenMember): PacedWork<void> {
    if (this.#config.inputs.some(({ name }) => name === NESTED)) {
      throw invalidArg(`Keyword '${NESTED}' for nested schema also given as input tensor name`);
    }
    if (!(value instanceof JsonObject)) {
      throw invalidArg(`Expected JSON object for keyword: '${NESTED}': attempt to access JSON non-object as object`);
    }
    for (const given of membersIn(text.bytes, value)) {
      try {
        yield* this.add(given);
      } catch (error) {
        const { code, message } = TritonError.from(error);
        throw new TritonError(code, `Converting keyword: '${NESTED}': ${message}`, { cause: error });
      }
    }
  }

  *add(given: GivenMember): PacedWork<void> {
    const input = this.#config.inputs.find(({ name }) => name === given.name);
    if (input === undefined) this.#addParameter(given.name, given.value);
    else yield* this.#addInput(input, given);
  }

  #addParameter(key: string, value: JsonValue): void {
    const parameters = (this.#parameters ??= Object.create(null) as Record<string, Parameters[string]>);
    if (key in parameters) return;
    if (typeof value === 'string' || value instanceof JsonText) {
      parameters[key] = this.#texts.take(key, value)!;
    } else if (typeof value === 'boolean') {
      parameters[key] = value;
    } else if (typeof value === 'number' || typeof value === 'bigint' || value instanceof JsonDouble) {
      parameters[key] = parameterNumber(value);
    } else {
      throw invalidArg(`parameter '${key}' has invalid type. It should be either 'int', 'bool', or 'string'.`);
    }
  }

  *#addInput(input: CompleteTensorSpec, { value, text }: GivenMember): PacedWork<void> {
    const { name, datatype } = input;
    if (this.inputs.some((given) => given.name === name)) {
      throw invalidArg(`[request id: ${this.id || '<id_unknown>'}] input '${name}' already exists in request`);
    }
    const count = value instanceof JsonArray ? value.length : 1;
    const shape = this.#shapeFor(input, count);
    this.#addSize(name, elementCount(shape) * DATATYPE_BYTE_SIZE[datatype]);
    if (count === 0) {
      this.inputs.push({ name, datatype, shape, bytes: new Uint8Array(0) });
      return;
    }
    const reader = tensorDataReader(text, { datatype, count, name });
    while (!reader.advance(PAUSE_BYTES)) yield;
    if (this.#pace.spend(reader.textLength % PAUSE_BYTES)) yield;
    const bytes = reader.values;
    if (datatype === 'BYTES') this.#addSize(name, bytes.length);
    if (reader.memory !== undefined) this.#memory.push(reader.memory);
    this.inputs.push({ name, datatype, shape, bytes });
  }

  #addSize(name: string, size: number): void {
    this.#byteSize += size;
    if (this.#byteSize <= this.#maxInputSize) return;
    throw invalidArg(
      `request size of ${this.#byteSize} bytes with input '${name}' of size ${size} bytes exceeds the maximum allowed input size of ${this.#maxInputSize}. ` +
        'Use --http-max-input-size to increase the limit.',
    );
  }

  /** The declared shape with `count` elements: the innermost open axis takes what the fixed ones leave, others are 1. */
  #shapeFor({ name, shape }: CompleteTensorSpec, count: number): number[] {
    const target = this.#config.maxBatchSize > 0 ? [-1, ...shape] : [...shape];
    let rest = count;
    for (const dim of target) if (dim !== -1) rest /= dim;
    const open = target.lastIndexOf(-1);
    if (!Number.isInteger(rest) || (open < 0 && rest !== 1)) {
      throw invalidArg(`The schema can not convert input '${name}' to tensor with proper shape`);
    }
    return target.map((dim, axis) => (dim !== -1 ? dim : axis === open ? rest : 1));
  }
}
