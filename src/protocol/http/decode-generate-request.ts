// Decodes the body of POST …/generate and …/generate_stream into a ModelInferRequest (the generate extension). Members with the
// name of an input become tensors, whose shape follows from the model's configuration. All others become request parameters.
// Follows Triton's order of steps and its texts (server/src/http_server.cc, GenerateRequestClass). The time is proportional to
// the bytes, with pauses.

import { invalidArg, TritonError } from '../../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';
import { Pace, type PacedWork, PAUSE_BYTES } from '../../pacing/paced-work.js';
import type { Parameters } from '../../model/parameters.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import { DATATYPE_BYTE_SIZE } from '../../tensor/dtype.js';
import { elementCount } from '../../tensor/shape.js';
import { membersOf } from '../json/json-shape.js';
import { parsePaced } from '../json/parse-paced.js';
import { JsonArray, JsonDouble, JsonObject, JsonText, type JsonValue } from '../json/json-value.js';
import type { RequestSequence } from '../../model/request-sequence.js';
import type { CompleteRequest, RequestForm } from '../request-form.js';
import { SequenceFields } from '../sequence-parameters.js';
import { takeSequenceField } from './sequence-members.js';
import { checkJsonSize } from './decode-infer-request.js';
import type { RequestBody } from './decode-raw-request.js';
import { nestedShape } from '../plain-json/nested-shape.js';
import { expectString, member, parameterNumber, ParameterTexts } from './json-members.js';
import { tensorDataReader } from './read-tensor-data.js';
import type { DataText } from './tensor-data-reader.js';

/** The member whose own members follow the same rule. */
const NESTED = 'parameters';
const MEMBERS = { limit: REQUEST_LIMITS.parameters, what: 'members', repeated: 'all' } as const;
const GENERATE_REQUEST = membersOf(MEMBERS, { [NESTED]: membersOf(MEMBERS) });

/** Throws INVALID_ARG. */
export function* decodeGenerateRequest({ modelVersion, body, maxInputSize }: RequestBody): PacedWork<RequestForm> {
  checkJsonSize(body.length, maxInputSize);
  const json = yield* parsePaced(body, GENERATE_REQUEST);
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
    const { id, parameters, inputs, memory, sequence } = mapping;
    const { name: modelName } = config;
    const none = { outputs: [], priority: 0, timeoutMicroseconds: 0 };
    return {
      request: { modelName, modelVersion, id, parameters, inputs, ...none, memory, ...(sequence && { sequence }) },
    };
  }
}

/** A member of the request, and its text. */
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
  // The object has no prototype, because a parameter may have any name, even __proto__.
  #parameters: Record<string, Parameters[string]> | undefined;
  /** Set for a model that batches by sequences. For other models these members are ordinary parameters, as in Triton. */
  readonly #fields: SequenceFields | undefined;
  #byteSize = 0;
  readonly #texts = new ParameterTexts();
  readonly #pace = new Pace();
  readonly #memory: ArrayBuffer[] = [];

  constructor(config: CompleteModelConfig, id: string, maxInputSize: number) {
    this.id = id;
    this.#config = config;
    this.#maxInputSize = maxInputSize;
    this.#fields = config.sequenceBatching && new SequenceFields();
  }

  get sequence(): RequestSequence | undefined {
    return this.#fields?.sequence;
  }

  get parameters(): Parameters | undefined {
    return this.#parameters;
  }

  /** The memory that belongs to the inputs alone. */
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
    if (input !== undefined) yield* this.#addInput(input, given);
    else if (this.#fields === undefined || !takeSequenceField(this.#fields, given.name, given.value))
      this.#addParameter(given.name, given.value);
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
    const nested = value instanceof JsonArray ? this.#nestedFor(input, text) : undefined;
    const shape = nested === undefined ? this.#shapeFor(input, lengthOf(value)) : yield* nested;
    const count = elementCount(shape);
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

  /**
   * The shape of lists that are nested as deep as a declared shape of several axes, with or without the batch axis. Undefined for any
   * other list: Triton takes a flat one, and knows its shape by the number of elements.
   */
  #nestedFor({ name, shape }: CompleteTensorSpec, text: DataText): PacedWork<number[]> | undefined {
    const isBatch = this.#config.maxBatchSize > 0;
    const depth = shape.length > 1 ? depthOf(text) : 0;
    if (depth < 2) return undefined;
    if (depth === shape.length)
      return isBatch
        ? withRow(nestedShape(text, shape, `input '${name}'`))
        : nestedShape(text, shape, `input '${name}'`);
    return isBatch && depth === shape.length + 1 ? nestedShape(text, [-1, ...shape], `input '${name}'`) : undefined;
  }

  /** The declared shape with `count` elements. The innermost open axis takes what the fixed axes leave, and other open axes are 1. */
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

function lengthOf(value: JsonValue): number {
  return value instanceof JsonArray ? value.length : 1;
}

function* withRow(nested: PacedWork<number[]>): PacedWork<number[]> {
  return [1, ...(yield* nested)];
}

const OPEN_LIST = 0x5b;

/** How many lists begin before the first element. */
function depthOf({ bytes, start, end }: DataText): number {
  let depth = 0;
  for (let pos = start; pos < end; pos++) {
    const byte = bytes[pos]!;
    if (byte === OPEN_LIST) depth++;
    else if (byte > 0x20) break;
  }
  return depth;
}
