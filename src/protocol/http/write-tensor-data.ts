// A tensor's elements as JSON, flat: what answers have for `data`. A large tensor takes its time, with pauses.

import { assert, TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import type { Pace, PacedWork } from '../../model/paced-work.js';
import { isUtf8Paced } from '../../model/paced-utf8.js';
import { DATATYPE_BYTE_SIZE } from '../../tensor/dtype.js';
import { elementCount } from '../../tensor/shape.js';
import type { JsonWriter } from '../json/json-writer.js';

/** Writes the elements with commas between them. Throws INVALID_ARG when an output has no JSON form. */
export function* writeTensorData(writer: JsonWriter, output: InferTensor, pace: Pace): PacedWork<void> {
  const { datatype } = output;
  if (datatype === 'FP16' || datatype === 'BF16') {
    throw new TritonError(
      'INVALID_ARG',
      `sending ${datatype} data via JSON is not supported. Please use the binary data format for output`,
    );
  }
  if (datatype === 'BYTES') return yield* writeStrings(writer, output, pace);
  const byteSize = DATATYPE_BYTE_SIZE[datatype];
  if (output.bytes.byteLength !== elementCount(output.shape) * byteSize) {
    throw new TritonError(
      'INTERNAL',
      `Failed to write 'data' field: output tensor shape does not match size of output for '${output.name}'`,
    );
  }
  const { buffer, byteOffset, byteLength } = yield* aligned(output.bytes, byteSize, pace);
  const count = byteLength / byteSize;
  for (let start = 0; start < count; start += BLOCK) {
    const length = Math.min(BLOCK, count - start);
    if (start > 0) writer.raw(',');
    writeNumbers(writer, datatype, {
      buffer: buffer as ArrayBuffer,
      byteOffset: byteOffset + start * byteSize,
      length,
    });
    if (pace.spend(length * BYTES_OF_A_NUMBER)) yield;
  }
}

/** So many elements are written at a time. */
const BLOCK = 2048;
/** What a number's text takes, as so many bytes. */
const BYTES_OF_A_NUMBER = 32;

interface Numbers {
  readonly buffer: ArrayBuffer;
  readonly byteOffset: number;
  readonly length: number;
}

type NumericDatatype = Exclude<InferTensor['datatype'], 'FP16' | 'BF16' | 'BYTES'>;

function writeNumbers(writer: JsonWriter, datatype: NumericDatatype, { buffer, byteOffset, length }: Numbers): void {
  switch (datatype) {
    case 'FP32':
      writer.doubles(new Float32Array(buffer, byteOffset, length));
      return;
    case 'FP64':
      writer.doubles(new Float64Array(buffer, byteOffset, length));
      return;
    case 'INT32':
      writer.integers(new Int32Array(buffer, byteOffset, length));
      return;
    case 'INT64':
      writer.bigIntegers(new BigInt64Array(buffer, byteOffset, length));
      return;
    case 'UINT64':
      writer.bigIntegers(new BigUint64Array(buffer, byteOffset, length));
      return;
    case 'INT8':
      writer.integers(new Int8Array(buffer, byteOffset, length));
      return;
    case 'INT16':
      writer.integers(new Int16Array(buffer, byteOffset, length));
      return;
    case 'UINT8':
      writer.integers(new Uint8Array(buffer, byteOffset, length));
      return;
    case 'UINT16':
      writer.integers(new Uint16Array(buffer, byteOffset, length));
      return;
    case 'UINT32':
      writer.integers(new Uint32Array(buffer, byteOffset, length));
      return;
    case 'BOOL': {
      const values = new Uint8Array(buffer, byteOffset, length);
      for (let i = 0; i < length; i++) writer.raw(i === 0 ? '' : ',').boolean(values[i] !== 0);
    }
  }
}

function* aligned(bytes: Uint8Array, byteSize: number, pace: Pace): PacedWork<Uint8Array> {
  if (bytes.byteOffset % byteSize === 0) return bytes;
  const copy = Buffer.allocUnsafeSlow(bytes.byteLength);
  for (let start = 0; start < bytes.byteLength; start += PIECE) {
    const piece = bytes.subarray(start, start + PIECE);
    copy.set(piece, start);
    // Copying is a hundred times as fast as writing numbers.
    if (pace.spend(piece.byteLength >> 4)) yield;
  }
  return copy;
}

/** So many bytes are copied, or of a string written, at a time. */
const PIECE = 16 * 1024;

function* writeStrings(writer: JsonWriter, { name, bytes }: InferTensor, pace: Pace): PacedWork<void> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset < buffer.length;) {
    const start = offset + 4;
    offset = start + buffer.readUInt32LE(offset);
    assert(offset <= buffer.length, `output '${name}' has an incomplete element`);
    if (!(yield* isUtf8Paced(buffer.subarray(start, offset), pace))) {
      throw new TritonError(
        'INVALID_ARG',
        `sending output '${name}' via JSON is not possible: an element is not valid UTF-8. Please use the binary data format for output`,
      );
    }
    writer.raw(start > 4 ? ',"' : '"');
    for (let piece = start; piece < offset; piece += PIECE) {
      writer.utf8(buffer.subarray(piece, Math.min(offset, piece + PIECE)));
      if (pace.spend(PIECE)) yield;
    }
    writer.raw('"');
    if (pace.spend(BYTES_OF_A_NUMBER)) yield;
  }
}
