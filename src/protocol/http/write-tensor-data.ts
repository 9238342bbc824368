// A tensor's elements as JSON, flat: what answers have for `data`.

import { isUtf8 } from 'node:buffer';

import { assert, TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import { DATATYPE_BYTE_SIZE } from '../../tensor/dtype.js';
import { elementCount } from '../../tensor/shape.js';
import type { JsonWriter } from '../json/json-writer.js';

/** Writes the elements with commas between them. Throws INVALID_ARG when an output has no JSON form. */
export function writeTensorData(writer: JsonWriter, output: InferTensor): void {
  const { datatype } = output;
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw new TritonError(
      'INVALID_ARG',
      `sending ${datatype} data via JSON is not supported. Please use the binary data format for output`,
    );
  }
  if (datatype === 'BYTES') return writeStrings(writer, output);
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

function writeStrings(writer: JsonWriter, { name, bytes }: InferTensor): void {
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
