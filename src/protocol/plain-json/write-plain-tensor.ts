// Writes a tensor as JSON nested as its shape says, without the batch axis. A tensor declared as [] or [1] is a single value. Large
// tensors are written with pauses.

import { assert, TritonError } from '../../errors.js';
import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';
import { isUtf8Paced } from '../../pacing/paced-bytes.js';
import type { Pace, PacedWork } from '../../pacing/paced-work.js';
import { dtypeOf, traitsOf } from '../../tensor/dtype.js';
import { HALVES, isHalf } from '../../tensor/float16.js';
import { elementCount } from '../../tensor/shape.js';
import type { JsonWriter } from '../json/json-writer.js';
import { isSingle } from './plain-input.js';

export interface TensorWriting {
  /** Undefined for an output that the model does not declare. */
  readonly spec: CompleteTensorSpec | undefined;
  /** Whether the tensor has a batch axis, which is 1. */
  readonly batched: boolean;
  readonly pace: Pace;
}

/** Writes the next elements with commas between them. Returns the rest of the work where it needs a pause. */
type WriteRun = (count: number) => PacedWork<void> | undefined;

/**
 * Returns the rest of the work where it needs a pause: small tensors need no generator. Throws INTERNAL for bytes that are no text,
 * without a declared encoding.
 */
export function writePlainTensor(
  writer: JsonWriter,
  output: InferTensor,
  { spec, batched, pace }: TensorWriting,
): PacedWork<void> | undefined {
  const dims = batched && output.shape[0] === 1 ? output.shape.slice(1) : output.shape;
  const count = elementCount(dims);
  const isBytes = output.datatype === 'BYTES';
  const isBase64 = spec?.contentEncoding === 'base64';
  const writeRun = isBytes ? elementRuns(writer, output, { isBase64, pace }) : numberRuns(writer, output, pace);
  const isValue = dims.length === 0 || (spec !== undefined && isSingle(spec.shape) && count === 1);
  if (isValue) return writeRun(1);
  if (count === 0) {
    writeEmpty(writer, dims, 0);
    return undefined;
  }
  if (dims.length > 1) return writeRows(writer, dims, writeRun);
  writer.raw('[');
  const rest = writeRun(count);
  if (rest !== undefined) return closed(writer, rest);
  writer.raw(']');
  return undefined;
}

/** Ends a list behind the rest of its elements. */
function* closed(writer: JsonWriter, rest: PacedWork<void>): PacedWork<void> {
  yield* rest;
  writer.raw(']');
}

/** Lists without any element, down to the first axis without length. */
function writeEmpty(writer: JsonWriter, dims: readonly number[], axis: number): void {
  writer.raw('[');
  for (let i = 0; i < dims[axis]!; i++) {
    if (i > 0) writer.raw(',');
    writeEmpty(writer, dims, axis + 1);
  }
  writer.raw(']');
}

function* writeRows(writer: JsonWriter, dims: readonly number[], writeRun: WriteRun): PacedWork<void> {
  const outer = dims.slice(0, -1);
  const rowLength = dims.at(-1)!;
  const rows = elementCount(outer);
  // Rows in one list of each outer axis. Such a list begins and ends where the number of a row is a multiple of it.
  const rowsIn = outer.map((_, axis) => elementCount(outer.slice(axis)));
  for (let row = 0; row < rows; row++) {
    if (row > 0) writer.raw(',');
    for (const each of rowsIn) if (row % each === 0) writer.raw('[');
    writer.raw('[');
    const rest = writeRun(rowLength);
    if (rest !== undefined) yield* rest;
    writer.raw(']');
    for (const each of rowsIn) if ((row + 1) % each === 0) writer.raw(']');
  }
}

/** Number of elements written at a time. */
const BLOCK = 2048;
/** The cost of an element's text, in bytes of paced work. */
const BYTES_OF_AN_ELEMENT = 32;

function numberRuns(writer: JsonWriter, output: InferTensor, pace: Pace): WriteRun {
  const { byteSize, array, kind } = traitsOf(output.datatype);
  const size = elementCount(output.shape) * byteSize;
  if (array === undefined || output.bytes.byteLength !== size) {
    throw new TritonError('INTERNAL', `output '${output.name}' has ${output.bytes.byteLength} bytes, expected ${size}`);
  }
  const isAligned = output.bytes.byteOffset % byteSize === 0;
  const { buffer, byteOffset } = isAligned ? output.bytes : new Uint8Array(output.bytes);
  const elements = new array(buffer as ArrayBuffer, byteOffset, size / byteSize);
  const dtype = dtypeOf(output.datatype);
  let at = 0;
  const write = (length: number): boolean => {
    const block = elements.subarray(at, at + length);
    at += length;
    if (isHalf(dtype)) writeDoubles(writer, HALVES[dtype].decode(block as Uint16Array));
    else if (kind === 'float') writeDoubles(writer, block as Float32Array);
    else if (kind === 'wide') writer.bigIntegers(block as BigInt64Array);
    else if (kind === 'bool') writeBooleans(writer, block as Uint8Array);
    else writer.integers(block as Int32Array);
    return pace.spend(length * BYTES_OF_AN_ELEMENT);
  };
  return (count) => {
    if (count > BLOCK) return writeBlocks(writer, count, write);
    return write(count) ? pause() : undefined;
  };
}

/** `write` returns true when it is time to pause. */
function* writeBlocks(writer: JsonWriter, count: number, write: (length: number) => boolean): PacedWork<void> {
  for (let left = count; left > 0; left -= BLOCK) {
    if (left < count) writer.raw(',');
    if (write(Math.min(left, BLOCK))) yield;
  }
}

function* pause(): PacedWork<void> {
  yield;
}

/** JSON has no NaN and no infinities: they become null. */
function writeDoubles(writer: JsonWriter, values: Float32Array | Float64Array): void {
  let isFinite = true;
  for (let i = 0; i < values.length; i++) isFinite &&= Number.isFinite(values[i]!);
  if (isFinite) {
    writer.doubles(values);
    return;
  }
  for (let i = 0; i < values.length; i++) {
    if (i > 0) writer.raw(',');
    if (Number.isFinite(values[i]!)) writer.double(values[i]!);
    else writer.raw('null');
  }
}

function writeBooleans(writer: JsonWriter, values: Uint8Array): void {
  for (let i = 0; i < values.length; i++) writer.raw(i === 0 ? '' : ',').boolean(values[i] !== 0);
}

/** Bytes of an element written at a time: whole groups of three, which base64 encodes apart. */
const PIECE = 12 * 1024;

function elementRuns(
  writer: JsonWriter,
  { name, bytes }: InferTensor,
  { isBase64, pace }: { readonly isBase64: boolean; readonly pace: Pace },
): WriteRun {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let offset = 0;
  return function* (count) {
    for (let i = 0; i < count; i++) {
      const start = offset + 4;
      offset = start + buffer.readUInt32LE(offset);
      assert(offset <= buffer.length, `output '${name}' has an incomplete element`);
      if (!isBase64 && !(yield* isUtf8Paced(buffer.subarray(start, offset), pace))) {
        throw new TritonError('INTERNAL', `output '${name}' is not text; declare it with contentEncoding: 'base64'`);
      }
      writer.raw(i > 0 ? ',"' : '"');
      for (let from = start; from < offset; from += PIECE) {
        const piece = buffer.subarray(from, Math.min(offset, from + PIECE));
        if (isBase64) writer.raw(piece.toString('base64'));
        else writer.utf8(piece);
        if (pace.spend(PIECE)) yield;
      }
      writer.raw('"');
      if (pace.spend(BYTES_OF_AN_ELEMENT)) yield;
    }
  };
}
