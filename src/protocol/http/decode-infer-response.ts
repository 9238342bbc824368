// Decodes the body of an answer to POST …/infer into a ModelInferResponse, for clients: JSON, and behind it the raw bytes of the
// outputs that have a `binary_data_size`. Outputs in JSON form are understood too.

import { TritonError } from '../../errors.js';
import type { Parameters } from '../../model/parameters.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { isDatatype } from '../../tensor/dtype.js';
import { elementCount } from '../../tensor/shape.js';
import { jsonElements } from '../json/json-parser.js';
import { JsonDouble, JsonObject, type JsonValue } from '../json/json-value.js';
import { parseHeaderLength } from './header-length.js';
import { arrayMember, expectString, expectUnsigned, member, parameterNumber, stringMember } from './json-members.js';
import type { KnownHeaders, ParsedHeader } from './known-headers.js';
import { parseResponseJson, readResponse } from './parse-response-json.js';
import { readTensorData } from './read-tensor-data.js';

/**
 * `headerLength` is the header Inference-Header-Content-Length. Throws INTERNAL when the body is malformed. The outputs are views
 * of the body, which must not change any more. `known`: the JSON of earlier answers, which need not be parsed again.
 */
export function decodeInferResponse(
  body: Buffer,
  headerLength: string | undefined,
  known?: KnownHeaders,
): ModelInferResponse {
  const jsonLength = readResponse(() => parseHeaderLength(headerLength, body.length));
  // JSON without binary tensors behind it differs in each answer.
  const parsed = parseKnown(body, jsonLength, jsonLength < body.length ? known : undefined);
  return readResponse(() => readInferResponse(parsed, body, jsonLength));
}

function parseKnown(body: Buffer, jsonLength: number, known: KnownHeaders | undefined): ParsedHeader {
  const found = known?.find(body, jsonLength);
  if (found !== undefined) return found;
  const header = known?.copy(body, jsonLength);
  const json = parseResponseJson(header ?? body, jsonLength);
  if (header !== undefined) known!.add(header, json);
  return { json, id: undefined };
}

function readInferResponse({ json, id }: ParsedHeader, body: Buffer, jsonLength: number): ModelInferResponse {
  let binaryOffset = jsonLength;
  const takeBinary = (name: string, size: number): Buffer => {
    const start = binaryOffset;
    if (size > body.length - start) {
      throw invalid(
        `output '${name}' has a binary_data_size of ${size} bytes, but only ${body.length - start} bytes follow`,
      );
    }
    binaryOffset += size;
    return body.subarray(start, binaryOffset);
  };
  const outputs = jsonElements(arrayMember(json, 'outputs')).map((output) => readOutput(output, takeBinary));
  if (binaryOffset !== body.length) {
    throw invalid(`${body.length - binaryOffset} bytes follow that belong to no output`);
  }
  return {
    modelName: optionalString(json, 'model_name'),
    modelVersion: optionalString(json, 'model_version'),
    id: id ?? optionalString(json, 'id'),
    parameters: readParameters(member(json, 'parameters')),
    outputs,
  };
}

/** `takeBinary` gives the bytes of an output that has a `binary_data_size`. */
export function readOutput(output: JsonValue, takeBinary: (name: string, size: number) => Buffer): InferTensor {
  const name = stringMember(output, 'name');
  const datatype = stringMember(output, 'datatype');
  if (!isDatatype(datatype)) throw invalid(`output '${name}' has unknown datatype '${datatype}'`);
  const shape = jsonElements(arrayMember(output, 'shape')).map((dim) => Number(expectUnsigned(dim, 'shape')));
  const binarySize = member(member(output, 'parameters') ?? null, 'binary_data_size');
  if (binarySize !== undefined) {
    const bytes = takeBinary(name, Number(expectUnsigned(binarySize, 'binary_data_size')));
    return { name, datatype, shape, bytes };
  }
  const data = arrayMember(output, 'data');
  // Copied, because the reader may share its memory with others.
  const bytes = new Uint8Array(readTensorData(data, { datatype, count: elementCount(shape), name }));
  return { name, datatype, shape, bytes };
}

// KServe's Python server writes null for absent values.
function optionalString(json: JsonValue, key: string): string {
  const value = member(json, key) ?? null;
  return value === null ? '' : expectString(value, key);
}

// A server may put anything here. Values that our parameters cannot hold are left out.
function readParameters(value: JsonValue | undefined): Parameters | undefined {
  if (!(value instanceof JsonObject)) return undefined;
  const entries: [string, Parameters[string]][] = [];
  value.keys.forEach((key, index) => {
    const given = value.values[index]!;
    if (typeof given === 'number' || typeof given === 'bigint' || given instanceof JsonDouble) {
      entries.push([key, parameterNumber(given)]);
    } else if (typeof given === 'string' || typeof given === 'boolean') entries.push([key, given]);
  });
  return Object.fromEntries(entries);
}

function invalid(message: string): TritonError {
  return new TritonError('INTERNAL', message);
}
