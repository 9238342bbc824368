// Makes a tensor of one input of a plain request: JSON nested as the input's shape says, or whole elements of bytes. The shape is
// that of one row. A model that batches gets a batch axis of 1.

import { invalidArg, TritonError } from '../../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../../model/complete-model-config.js';
import { type InferTensor, ownMemory } from '../../model/exchange.js';
import { copyPaced } from '../../pacing/paced-bytes.js';
import { Pace, type PacedWork, PAUSE_BYTES } from '../../pacing/paced-work.js';
import { DATATYPE_BYTE_SIZE, isBytesDtype } from '../../tensor/dtype.js';
import { HALVES, isHalf } from '../../tensor/float16.js';
import { elementCount, formatShape, matchesShape } from '../../tensor/shape.js';
import { JsonArray, JsonObject, JsonSkipped, type JsonValue } from '../json/json-value.js';
import { readTensorData, tensorDataReader } from '../http/read-tensor-data.js';
import { allocate, type DataText } from '../http/tensor-data-reader.js';
import { decodeBase64Elements } from './base64-elements.js';
import { nestedShape } from './nested-shape.js';

/** The value of an input as it came. */
export type PlainValue =
  | { readonly kind: 'json'; readonly value: JsonValue; readonly text: DataText }
  /** Each is one element of bytes. */
  | { readonly kind: 'elements'; readonly elements: readonly Uint8Array[] };

/** A tensor declared as `[]` or `[1]` is a single value in plain JSON. */
export function isSingle(shape: readonly number[]): boolean {
  return shape.length === 0 || (shape.length === 1 && shape[0] === 1);
}

/** Collects the inputs of one request, whose size is limited. */
export class PlainInputs {
  readonly tensors: InferTensor[] = [];
  readonly #batched: boolean;
  readonly #maxInputSize: number;
  readonly #memory: ArrayBuffer[] = [];
  readonly #pace = new Pace();
  #byteSize = 0;

  constructor({ maxBatchSize }: CompleteModelConfig, maxInputSize: number) {
    this.#batched = maxBatchSize > 0;
    this.#maxInputSize = maxInputSize;
  }

  /** The memory that belongs to the inputs alone. */
  get memory(): readonly ArrayBuffer[] | undefined {
    return this.#memory.length === 0 ? undefined : this.#memory;
  }

  /** Returns the rest of the work where it needs a pause: small inputs need no generator. Throws INVALID_ARG, or TOO_LARGE. */
  add(input: CompleteTensorSpec, given: PlainValue): PacedWork<void> | undefined {
    if (given.kind === 'elements') return this.#addElements(input, given.elements);
    const { dtype } = input;
    const { start, end } = given.text;
    if (end - start > SMALL_BYTES || isHalf(dtype) || isBytesDtype(dtype)) return this.#addJson(input, given);
    const shape = flatShape(input, given);
    if (shape === undefined) return this.#addJson(input, given);
    const count = this.#countOf(input, shape);
    const { name, datatype } = input;
    let bytes = NO_BYTES;
    if (count > 0) {
      try {
        bytes = readTensorData(given.text, { datatype, count, name });
      } catch (error) {
        throw wrongElements(input, reasonOf(error));
      }
    }
    this.#push({ name, datatype, shape, bytes });
    return this.#pace.spend(end - start) ? pause() : undefined;
  }

  *#addElements(input: CompleteTensorSpec, elements: readonly Uint8Array[]): PacedWork<void> {
    const { name, datatype } = input;
    const shape = shapeOfElements(input, elements.length);
    const size = elements.reduce((sum, { byteLength }) => sum + 4 + byteLength, 0);
    this.#addSize(name, size);
    const bytes = allocate(size);
    let offset = 0;
    for (const element of elements) {
      bytes.writeUInt32LE(element.byteLength, offset);
      yield* copyPaced(element, bytes, offset + 4, this.#pace);
      offset += 4 + element.byteLength;
    }
    this.#push({ name, datatype, shape, bytes });
  }

  *#addJson(input: CompleteTensorSpec, given: Extract<PlainValue, { readonly kind: 'json' }>): PacedWork<void> {
    const { name, datatype, dtype } = input;
    const { text } = given;
    const shape = flatShape(input, given) ?? (yield* nestedShape(text, input.shape, whatOf(input)));
    const count = this.#countOf(input, shape);
    let bytes = NO_BYTES;
    if (count > 0) {
      try {
        const reader = tensorDataReader(text, { datatype: isHalf(dtype) ? 'FP64' : datatype, count, name });
        while (!reader.advance(PAUSE_BYTES)) yield;
        if (this.#pace.spend(reader.textLength % PAUSE_BYTES)) yield;
        bytes = reader.values;
      } catch (error) {
        throw wrongElements(input, reasonOf(error));
      }
    }
    if (isHalf(dtype)) bytes = yield* this.#halves(bytes, dtype);
    if (isBytesDtype(dtype)) {
      if (input.contentEncoding === 'base64') bytes = yield* decodeBase64Elements(bytes, whatOf(input), this.#pace);
      this.#addSize(name, bytes.length);
    }
    this.#push({ name, datatype, shape, bytes });
  }

  /** The number of elements, which are within the limit. Throws INVALID_ARG for another shape than the declared one. */
  #countOf(input: CompleteTensorSpec, shape: readonly number[]): number {
    if (!matchesShape(input.shape, shape)) {
      throw invalidArg(`${whatOf(input)} must have the shape ${formatShape(input.shape)}, got ${formatShape(shape)}`);
    }
    const count = elementCount(shape);
    this.#addSize(input.name, count * DATATYPE_BYTE_SIZE[input.datatype]);
    return count;
  }

  *#halves(doubles: Uint8Array, dtype: keyof typeof HALVES): PacedWork<Uint8Array> {
    const values = new Float64Array(doubles.buffer as ArrayBuffer, doubles.byteOffset, doubles.byteLength >> 3);
    const halves = allocate(values.length * 2);
    const bits = new Uint16Array(halves.buffer, halves.byteOffset, values.length);
    for (let start = 0; start < values.length; start += BLOCK) {
      bits.set(HALVES[dtype].encode(values.subarray(start, start + BLOCK)), start);
      if (this.#pace.spend(BLOCK * 8)) yield;
    }
    return halves;
  }

  #addSize(name: string, size: number): void {
    this.#byteSize += size;
    if (this.#byteSize <= this.#maxInputSize) return;
    throw new TritonError(
      'TOO_LARGE',
      `the inputs up to '${name}' have ${this.#byteSize} bytes, the limit is ${this.#maxInputSize} (httpMaxInputSize)`,
    );
  }

  #push(tensor: InferTensor): void {
    const memory = ownMemory(tensor.bytes);
    if (memory !== undefined) this.#memory.push(memory);
    const { name, datatype, shape, bytes } = tensor;
    this.tensors.push(this.#batched ? { name, datatype, shape: [1, ...shape], bytes } : tensor);
  }
}

const BLOCK = 4096;

/** Inputs whose text is as small as this are read at once. */
const SMALL_BYTES = 4096;

function* pause(): PacedWork<void> {
  yield;
}

const NO_BYTES: Uint8Array = new Uint8Array(0);

/** The shape of a single value, or of a flat list. Returns undefined where lists may be nested. Throws INVALID_ARG. */
function flatShape(
  input: CompleteTensorSpec,
  { value, text }: Extract<PlainValue, { readonly kind: 'json' }>,
): readonly number[] | undefined {
  const { shape: declared } = input;
  if (value instanceof JsonArray) {
    if (declared.length === 0) throw invalidArg(`${whatOf(input)} must be a single value, got a list`);
    // Most lists are flat, and the parser has counted their elements.
    return declared.length === 1 && !hasList(text) ? [value.length] : undefined;
  }
  if (value instanceof JsonObject || value instanceof JsonSkipped) throw wrongElements(input, 'got an object');
  if (isSingle(declared)) return declared;
  throw invalidArg(`${whatOf(input)} must be a list, as its shape ${formatShape(declared)} says, got a single value`);
}

/** For a wrong type the readers have the words of Triton's JSON library, which do not help here. */
function reasonOf(error: unknown): string {
  const reason = TritonError.from(error).message.replace(/^Unable to parse [^:]*: /, '');
  if (!reason.startsWith('attempt to access JSON')) return reason;
  return /, (got [^]*)$/.exec(reason)?.[1] ?? 'got a value of another type';
}

const OPEN = 0x5b;
/** A short text is searched faster by a loop than by a call. */
const LOOPED_BYTES = 256;

/** Whether the text of a list may have a list in it. */
function hasList({ bytes, start, end }: DataText): boolean {
  if (end - start > LOOPED_BYTES) return bytes.subarray(start + 1, end).includes(OPEN);
  for (let i = start + 1; i < end; i++) if (bytes[i] === OPEN) return true;
  return false;
}

/** Elements that come one by one make a list, or are the only value. */
function shapeOfElements(input: CompleteTensorSpec, count: number): readonly number[] {
  const { shape: declared } = input;
  if (isSingle(declared)) {
    if (count === 1) return declared;
    throw invalidArg(`${whatOf(input)} takes one file or text, got ${count}`);
  }
  if (declared.length > 1) {
    throw invalidArg(
      `${whatOf(input)} has the shape ${formatShape(declared)}: as form data it must be JSON, in a part of Content-Type: application/json`,
    );
  }
  const [dim] = declared;
  if (dim === -1 || dim === count) return [count];
  throw invalidArg(`${whatOf(input)} takes ${dim} files or texts, got ${count}`);
}

/** Names an input in messages. */
export function whatOf({ name, dtype }: CompleteTensorSpec): string {
  return `input '${name}' (${dtype})`;
}

function wrongElements(input: CompleteTensorSpec, reason: string): TritonError {
  return invalidArg(`${whatOf(input)} must hold ${elementsOf(input)}; ${reason}`);
}

function elementsOf({ dtype, contentEncoding }: CompleteTensorSpec): string {
  if (isBytesDtype(dtype)) return contentEncoding === 'base64' ? 'strings of base64' : 'strings';
  if (dtype === 'bool') return 'true and false';
  return dtype.includes('float') ? 'numbers' : 'integers';
}
