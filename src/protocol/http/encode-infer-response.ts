// From a ModelInferResponse to the body of a 200: JSON with the outputs as flat arrays, or JSON followed by the bytes
// of the outputs that the client wants in binary. Outputs keep the response's order.

import { isUtf8 } from 'node:buffer';

import { assert, TritonError } from '../../errors.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import { DATATYPE_BYTE_SIZE } from '../../tensor/dtype.js';
import { elementCount } from '../../tensor/shape.js';
import { JsonWriter } from '../json/json-writer.js';
import { isBinaryOutput, type BinaryOutputs } from './binary-outputs.js';

export interface EncodedInferResponse {
  /** Value of Inference-Header-Content-Length; undefined when nothing follows the JSON. */
  readonly headerLength: number | undefined;
  /** The JSON, then the binary outputs in order; together the body. */
  readonly parts: readonly Uint8Array[];
  readonly contentLength: number;
}

const writer = new JsonWriter();

/** Throws INVALID_ARG when an output has no JSON form. */
export function encodeInferResponse(response: ModelInferResponse, binaryOutputs: BinaryOutputs): EncodedInferResponse {
  let contentLength = 0;
  const parts: Uint8Array[] = [];
  writer.discard();
  writeHead(response);
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
    if (isBinaryOutput(binaryOutputs, output.name)) {
      writer.raw('],"parameters":{"binary_data_size":').integer(output.bytes.byteLength).raw('}}');
      if (output.bytes.byteLength === 0) continue;
      parts.push(output.bytes);
      contentLength += output.bytes.byteLength;
    } else {
      writer.raw('],"data":[');
      writeData(output);
      writer.raw(']}');
    }
  }
  const json = writer.raw(']}').take();
  const headerLength = parts.length === 0 ? undefined : json.length;
  parts.unshift(json);
  return { headerLength, parts, contentLength: contentLength + json.length };
}

function writeHead(response: ModelInferResponse): void {
  if (response.id === '') writer.raw('{');
  else writer.raw('{"id":').string(response.id).raw(',');
  writer.raw('"model_name":').string(response.modelName).raw(',"model_version":').string(response.modelVersion);
  if (response.parameters !== undefined) {
    let separator = ',"parameters":{';
    for (const [key, value] of Object.entries(response.parameters)) {
      writer.raw(separator).string(key).raw(':');
      separator = ',';
      if (typeof value === 'string') writer.string(value);
      else if (typeof value === 'boolean') writer.boolean(value);
      else if (typeof value === 'bigint' || Number.isSafeInteger(value)) writer.integer(value);
      else writer.double(value);
    }
    if (separator === ',') writer.raw('}');
  }
  writer.raw(',"outputs":[');
}

function writeData(output: InferTensor): void {
  const { datatype } = output;
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw new TritonError(
      'INVALID_ARG',
      `sending ${datatype} data via JSON is not supported. Please use the binary data format for output`,
    );
  }
  if (datatype === 'BYTES') return writeStrings(output);
  const byteSize = DATATYPE_BYTE_SIZE[datatype];
  if (output.bytes.byteLength !== elementCount(output.shape) * byteSize) {
    throw new TritonError(
      'INTERNAL',
      `Failed to write 'data' field: output tensor shape does not match size of output for '${output.name}'`,
    );
  }
  const { buffer, byteOffset, byteLength } = aligned(output.bytes, byteSize);
  const count = byteLength / byteSize;
  switch (datatype) {
    case 'FP32':
      writer.doubles(new Float32Array(buffer, byteOffset, count));
      return;
    case 'FP64':
      writer.doubles(new Float64Array(buffer, byteOffset, count));
      return;
    case 'INT32':
      writer.integers(new Int32Array(buffer, byteOffset, count));
      return;
    case 'INT64':
      writer.bigIntegers(new BigInt64Array(buffer, byteOffset, count));
      return;
    case 'UINT64':
      writer.bigIntegers(new BigUint64Array(buffer, byteOffset, count));
      return;
    case 'INT8':
      writer.integers(new Int8Array(buffer, byteOffset, count));
      return;
    case 'INT16':
      writer.integers(new Int16Array(buffer, byteOffset, count));
      return;
    case 'UINT8':
      writer.integers(new Uint8Array(buffer, byteOffset, count));
      return;
    case 'UINT16':
      writer.integers(new Uint16Array(buffer, byteOffset, count));
      return;
    case 'UINT32':
      writer.integers(new Uint32Array(buffer, byteOffset, count));
      return;
    case 'BOOL':
      for (let i = 0; i < count; i++) writer.raw(i === 0 ? '' : ',').boolean(output.bytes[i] !== 0);
  }
}

function aligned(bytes: Uint8Array, byteSize: number): Uint8Array {
  return bytes.byteOffset % byteSize === 0 ? bytes : new Uint8Array(bytes);
}

function writeStrings({ name, bytes }: InferTensor): void {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset < buffer.length;) {
    const start = offset + 4;
    offset = start + buffer.readUInt32LE(offset);
    assert(offset <= buffer.length, `output '${name}' has an incomplete element`);
    const text = buffer.toString('utf8', start, offset);
    // U+FFFD is what decoding makes of ill-formed bytes, unless it was there before.
    if (text.includes('\ufffd') && !isUtf8(buffer.subarray(start, offset))) {
      throw new TritonError(
        'INVALID_ARG',
        `sending output '${name}' via JSON is not possible: an element is not valid UTF-8. Please use the binary data format for output`,
      );
    }
    if (start > 4) writer.raw(',');
    writer.string(text);
  }
}
