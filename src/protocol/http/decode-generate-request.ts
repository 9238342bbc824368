// From the body of POST …/generate and …/generate_stream to a ModelInferRequest (the generate extension): members that
// are called as inputs become tensors whose shape follows from the model's configuration, all others request
// parameters. Follows Triton's order of steps and its texts (server/src/http_server.cc, GenerateRequestClass).

import { TritonError } from '../../errors.js';
import type { Parameters } from '../../model/parameters.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { InferTensor, ModelInferRequest } from '../../model/exchange.js';
import { DATATYPE_BYTE_SIZE } from '../../tensor/dtype.js';
import { encodeRaw } from '../../tensor/raw.js';
import { elementCount } from '../../tensor/shape.js';
import { countElements } from '../json/count-elements.js';
import { parseJson } from '../json/json-parser.js';
import { JsonArray, JsonDouble, JsonObject, type JsonValue } from '../json/json-value.js';
import { checkJsonSize } from './decode-infer-request.js';
import { expectString, member, parameterNumber } from './json-members.js';
import { readTensorData } from './read-tensor-data.js';

export interface GenerateBody {
  /** Of the model that the request is for. */
  readonly config: CompleteModelConfig;
  /** As in the path; '' asks for the latest. */
  readonly modelVersion: string;
  readonly body: Buffer;
  /** Largest body, and largest size of all tensors together, in bytes. */
  readonly maxInputSize: number;
}

/** Throws INVALID_ARG. */
export function decodeGenerateRequest({ config, modelVersion, body, maxInputSize }: GenerateBody): ModelInferRequest {
  checkJsonSize(body.length, maxInputSize);
  const json = parseJson(body);
  if (!(json instanceof JsonObject)) throw new TritonError('INVALID_ARG', 'attempt to get members for non-object');
  const id = member(json, 'id');
  const mapping = new GenerateMapping(config, id === undefined ? '' : expectString(id, 'id'), maxInputSize);
  json.keys.forEach((key, index) => {
    const value = json.values[index]!;
    if (key === NESTED) mapping.addNested(value);
    else mapping.add(key, value);
  });
  return {
    modelName: config.name,
    modelVersion,
    id: mapping.id,
    parameters: mapping.parameters,
    inputs: mapping.inputs,
    outputs: [],
    priority: 0,
    timeoutMicroseconds: 0,
  };
}

/** The member whose own members are mapped by the same rule. */
const NESTED = 'parameters';

class GenerateMapping {
  readonly id: string;
  readonly inputs: InferTensor[] = [];
  readonly #config: CompleteModelConfig;
  readonly #maxInputSize: number;
  // Without a prototype: a parameter may be called anything, __proto__ too.
  #parameters: Record<string, Parameters[string]> | undefined;
  #byteSize = 0;

  constructor(config: CompleteModelConfig, id: string, maxInputSize: number) {
    this.id = id;
    this.#config = config;
    this.#maxInputSize = maxInputSize;
  }

  get parameters(): Parameters | undefined {
    return this.#parameters;
  }

  addNested(value: JsonValue): void {
    if (this.#config.inputs.some(({ name }) => name === NESTED)) {
      throw refusal(`Keyword '${NESTED}' for nested schema also given as input tensor name`);
    }
    if (!(value instanceof JsonObject)) {
      throw refusal(`Expected JSON object for keyword: '${NESTED}': attempt to access JSON non-object as object`);
    }
    value.keys.forEach((key, index) => {
      try {
        this.add(key, value.values[index]!);
      } catch (error) {
        const { code, message } = TritonError.from(error);
        throw new TritonError(code, `Converting keyword: '${NESTED}': ${message}`, { cause: error });
      }
    });
  }

  add(key: string, value: JsonValue): void {
    const input = this.#config.inputs.find(({ name }) => name === key);
    if (input === undefined) this.#addParameter(key, value);
    else this.#addInput(input, value);
  }

  #addParameter(key: string, value: JsonValue): void {
    const parameters = (this.#parameters ??= Object.create(null) as Record<string, Parameters[string]>);
    if (key in parameters) return;
    if (typeof value === 'string' || typeof value === 'boolean') {
      parameters[key] = value;
    } else if (typeof value === 'number' || typeof value === 'bigint' || value instanceof JsonDouble) {
      parameters[key] = parameterNumber(value);
    } else {
      throw refusal(`parameter '${key}' has invalid type. It should be either 'int', 'bool', or 'string'.`);
    }
  }

  #addInput(input: CompleteTensorSpec, value: JsonValue): void {
    const { name, datatype } = input;
    if (this.inputs.some((given) => given.name === name)) {
      throw refusal(`[request id: ${this.id || '<id_unknown>'}] input '${name}' already exists in request`);
    }
    const count = value instanceof JsonArray ? countElements(value) : 1;
    const shape = this.#shapeFor(input, count);
    const text = typeof value === 'string' && datatype === 'BYTES' ? encodeRaw('string', [value]) : undefined;
    const size = text?.length ?? elementCount(shape) * DATATYPE_BYTE_SIZE[datatype];
    this.#byteSize += size;
    this.#checkSize(name, size);
    const bytes =
      text ??
      (count === 0
        ? new Uint8Array(0)
        : readTensorData(value instanceof JsonArray ? value : arrayOf(value), name, datatype, count));
    if (datatype === 'BYTES' && text === undefined) {
      this.#byteSize += bytes.length;
      this.#checkSize(name, bytes.length);
    }
    this.inputs.push({ name, datatype, shape, bytes });
  }

  #checkSize(name: string, size: number): void {
    if (this.#byteSize <= this.#maxInputSize) return;
    throw refusal(
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
      throw refusal(`The schema can not convert input '${name}' to tensor with proper shape`);
    }
    return target.map((dim, axis) => (dim !== -1 ? dim : axis === open ? rest : 1));
  }
}

/** A single value as the array that has it as its only element. */
function arrayOf(value: Exclude<JsonValue, JsonArray>): JsonArray {
  const text = Buffer.from(`[${scalarText(value)}]`);
  return new JsonArray(text, 0, text.length);
}

function scalarText(value: Exclude<JsonValue, JsonArray>): string {
  if (value instanceof JsonObject) return '{}';
  if (typeof value === 'string') return JSON.stringify(value);
  if (!(value instanceof JsonDouble)) return String(value);
  // `2.0` must not become the integer 2.
  const text = Object.is(value.value, -0) ? '-0' : String(value.value);
  return Number.isInteger(value.value) && !text.includes('e') ? `${text}.0` : text;
}

function refusal(message: string): TritonError {
  return new TritonError('INVALID_ARG', message);
}
