// Writes a tensor's elements as flat JSON, the `data` of answers. A large tensor is written with pauses.

import { assert, invalidArg, TritonError } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import { isUtf8Paced } from '../../pacing/paced-bytes.js';
import type { Pace, PacedWork } from '../../pacing/paced-work.js';
import { traitsOf } from '../../tensor/dtype.js';
import { elementCount } from '../../tensor/shape.js';
import type { JsonWriter } from '../json/json-writer.js';

/** Writes the elements with commas between them. Throws INVALID_ARG when an output has no JSON form. */
export function* writeTensorData(
  writer: JsonWriter,
  output: InferTensor,
  pace: Pace,
  side: 'output' | 'input' = 'output',
): PacedWork<void> {
  const { datatype } = output;
  const { kind, byteSize, array } = traitsOf(datatype);
  if (kind === 'half') {
    throw invalidArg(
      `sending ${datatype} data via JSON is not supported. Please use the binary data format for output`,
    );
  }
  if (kind === 'bytes') return yield* writeStrings(writer, output, pace, side);
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
    writeNumbers(writer, kind, new array(buffer as ArrayBuffer, byteOffset + start * byteSize, length));
    if (pace.spend(length * BYTES_OF_A_NUMBER)) yield;
  }
}

/** Number of elements written at a time. */
const BLOCK = 2048;
/** The cost of a number's text, in bytes of paced work. */
const BYTES_OF_A_NUMBER = 32;

type Kind = 'bool' | 'integer' | 'wide' | 'float';

function writeNumbers(writer: JsonWriter, kind: Kind, numbers: ArrayLike<number> | ArrayLike<bigint>): void {
  switch (kind) {
    case 'float':
      writer.doubles(numbers as Float64Array);
      return;
    case 'integer':
      writer.integers(numbers as Int32Array);
      return;
    case 'wide':
      writer.bigIntegers(numbers as BigInt64Array);
      return;
    case 'bool':
      for (let i = 0; i < numbers.length; i++) writer.raw(i === 0 ? '' : ',').boolean(numbers[i] !== 0);
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

/** Number of bytes copied at a time, or written of a string. */
const PIECE = 16 * 1024;

function* writeStrings(
  writer: JsonWriter,
  { name, bytes }: InferTensor,
  pace: Pace,
  side: 'output' | 'input',
): PacedWork<void> {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  for (let offset = 0; offset < buffer.length;) {
    const start = offset + 4;
    offset = start + buffer.readUInt32LE(offset);
    assert(offset <= buffer.length, `${side} '${name}' has an incomplete element`);
    if (!(yield* isUtf8Paced(buffer.subarray(start, offset), pace))) {
      throw invalidArg(
        `sending ${side} '${name}' via JSON is not possible: an element is not valid UTF-8. Please use the binary data format for ${side}`,
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
