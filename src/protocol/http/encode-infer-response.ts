// From a ModelInferResponse to the body of a 200: JSON with the outputs as flat arrays, or JSON followed by the bytes
// of the outputs that the client wants in binary. Outputs keep the response's order. Large tensors in JSON take their
// time, with pauses.

import type { ModelInferResponse } from '../../model/exchange.js';
import { Pace, type PacedWork } from '../../model/paced-work.js';
import { borrowWriter, giveBackWriter, type JsonWriter, writeParameter } from '../json/json-writer.js';
import { type BinaryOutputs, isBinaryOutput } from './binary-outputs.js';
import { writeTensorData } from './write-tensor-data.js';

export interface EncodedInferResponse {
  /** Value of Inference-Header-Content-Length; undefined when nothing follows the JSON. */
  readonly headerLength: number | undefined;
  /** The JSON, then the binary outputs in order; together the body. */
  readonly parts: readonly Uint8Array[];
  readonly contentLength: number;
}

/** Throws INVALID_ARG when an output has no JSON form. */
export function* encodeInferResponse(
  response: ModelInferResponse,
  binaryOutputs: BinaryOutputs,
): PacedWork<EncodedInferResponse> {
  const writer = borrowWriter();
  try {
    const binary: Uint8Array[] = [];
    yield* writeResponse(writer, response, { binaryOutputs, binary });
    const json = writer.takeChunks();
    const jsonLength = byteLengthOf(json);
    return {
      headerLength: binary.length === 0 ? undefined : jsonLength,
      parts: [...json, ...binary],
      contentLength: jsonLength + byteLengthOf(binary),
    };
  } finally {
    giveBackWriter(writer);
  }
}

export function byteLengthOf(parts: readonly Uint8Array[]): number {
  let length = 0;
  for (const { byteLength } of parts) length += byteLength;
  return length;
}

interface BinaryParts {
  readonly binaryOutputs: BinaryOutputs;
  /** Gets the bytes that follow the JSON. */
  readonly binary: Uint8Array[];
}

function* writeResponse(
  writer: JsonWriter,
  response: ModelInferResponse,
  { binaryOutputs, binary }: BinaryParts,
): PacedWork<void> {
  const pace = new Pace();
  writeHead(writer, response);
  for (let i = 0; i < response.outputs.length; i++) {
    const output = response.outputs[i]!;
    writer
      .raw(i === 0 ? '{"name":' : ',{"name":')
      .string(output.name)
      .raw(',"datatype":"')
      .raw(output.datatype)
      .raw('","shape":[');
    for (let axis = 0; axis < output.shape.length; axis++) {
      if (axis > 0) writer.raw(',');
      writer.integer(output.shape[axis]!);
    }
    if (binaryOutputs.elsewhere?.has(output.name) === true) {
      writer.raw(']}');
    } else if (isBinaryOutput(binaryOutputs, output.name)) {
      writer.raw('],"parameters":{"binary_data_size":').integer(output.bytes.byteLength).raw('}}');
      if (output.bytes.byteLength > 0) binary.push(output.bytes);
    } else {
      writer.raw('],"data":[');
      yield* writeTensorData(writer, output, pace);
      writer.raw(']}');
    }
  }
  writer.raw(']}');
}

function writeHead(writer: JsonWriter, response: ModelInferResponse): void {
  if (response.id === '') writer.raw('{');
  else writer.raw('{"id":').string(response.id).raw(',');
  writer.raw('"model_name":').string(response.modelName).raw(',"model_version":').string(response.modelVersion);
  if (response.parameters !== undefined) {
    let separator = ',"parameters":{';
    for (const [key, value] of Object.entries(response.parameters)) {
      writer.raw(separator).string(key).raw(':');
      separator = ',';
      writeParameter(writer, value);
    }
    if (separator === ',') writer.raw('}');
  }
  writer.raw(',"outputs":[');
}
