// Encodes a ModelInferResponse as the body of a 200. Outputs are flat arrays in the JSON, or follow it as bytes if the client
// wants binary ones. They keep the response's order. Large tensors in JSON are written with pauses.

import type { ModelInferResponse } from '../../model/exchange.js';
import { Pace, type PacedWork } from '../../pacing/paced-work.js';
import { borrowWriter, giveBackWriter, type JsonWriter, writeParameter } from '../json/json-writer.js';
import { writeTensorData } from './write-tensor-data.js';

/** The outputs that the client wants as raw bytes behind the JSON, and those that it finds in shared memory. */
export interface BinaryOutputs {
  /** The request's `binary_data_output`, for outputs that it does not list. */
  readonly byDefault: boolean;
  /** Each listed output's own `binary_data`; undefined when the request lists none. */
  readonly listed: ReadonlyMap<string, boolean> | undefined;
  /** The outputs whose data is in shared memory and not in the answer. */
  readonly elsewhere?: ReadonlySet<string> | undefined;
}

/** As in Triton, a listed output is JSON unless its own `binary_data` says otherwise. */
export function isBinaryOutput({ byDefault, listed }: BinaryOutputs, name: string): boolean {
  return listed?.get(name) ?? byDefault;
}

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
  /** Receives the bytes that follow the JSON. */
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
    const { datatype, shape, bytes } = output;
    // Numbers and datatypes are JSON as they are.
    const properties = `,"datatype":"${datatype}","shape":[${shape.join(',')}]`;
    writer.raw(i === 0 ? '{"name":' : ',{"name":').string(output.name);
    if (binaryOutputs.elsewhere?.has(output.name) === true) {
      writer.raw(`${properties}}`);
    } else if (isBinaryOutput(binaryOutputs, output.name)) {
      writer.raw(`${properties},"parameters":{"binary_data_size":${bytes.byteLength}}}`);
      if (bytes.byteLength > 0) binary.push(bytes);
    } else {
      writer.raw(`${properties},"data":[`);
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
