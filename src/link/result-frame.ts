// The outputs of a batch in wire form, in one buffer. This is the only time that output bytes are copied. A header of
// doubles may come first. Each tensor starts at a multiple of 8, so that readers may view it as any typed array. Many
// elements of BYTES are counted and written with pauses, and so are very many numbers.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { copyPaced } from '../pacing/paced-bytes.js';
import { Pace, type PacedWork } from '../pacing/paced-work.js';
import type { ResolvedOutputs } from '../model/resolve-outputs.js';
import { isBytesDtype } from '../tensor/dtype.js';
import {
  type Elements,
  elementsByteLength,
  ElementWriter,
  isLongElement,
  rawByteLength,
  textByteLength,
  writeRaw,
} from '../tensor/raw.js';
import { elementCount } from '../tensor/shape.js';
import { newMemory } from '../model/exchange.js';
import { Tensor } from '../tensor/tensor.js';
import type { HostResult } from '../host/host-results.js';

/** After a larger answer is sent, its memory is used for requests. */
const LARGE_BYTES = 1 << 20;
/** Room for a request's bytes before its tensors. Most need no more, so the next request fits in the memory of the last answer. */
const REQUEST_HEAD_BYTES = 4096;

/** Numbers that are copied at once. With 4 bytes each that takes some ten milliseconds where the memory is new. */
const FEW_NUMBERS = 4 << 20;
/** An element of BYTES takes as long as this many numbers: 4096 elements are written in less than a millisecond. */
const NUMBERS_OF_AN_ELEMENT = 1024;
/** Elements between two checks of the pace. */
const ELEMENTS_AT_ONCE = 256;
/** The length of elements between two checks of the pace. */
const FEW_UNITS = 256 * 1024;
/** Counting or writing an element takes as long as copying this many bytes. */
const BYTES_OF_AN_ELEMENT = 64;

/** Names of the outputs that a request wants. An empty list means all outputs, and so does undefined. */
type Requested = readonly string[] | undefined;

/** Where a tensor lies in the frame. */
export interface FramedTensor {
  /** Index of the declared output. */
  readonly output: number;
  readonly shape: readonly number[];
  /** Counted from the end of the header. */
  readonly offset: number;
  readonly byteLength: number;
}

/** The result of one request: the places of its outputs, or why it failed. */
export type FramedResult = FramedTensor[] | TritonError;

/** Whether results have too many elements to write at once: other work should have its turn meanwhile. */
export function haveManyElements(results: readonly HostResult[]): boolean {
  let numbers = 0;
  for (let r = 0; r < results.length; r++) numbers += workOf(results[r]!);
  return numbers > FEW_NUMBERS;
}

/** Whether one result has too many elements to write at once. */
export function hasManyElements(outputs: ResolvedOutputs): boolean {
  return workOf(outputs) > FEW_NUMBERS;
}

/** The work of writing a result, counted in numbers. */
function workOf(outputs: HostResult): number {
  if (outputs instanceof Error) return 0;
  let numbers = 0;
  for (let i = 0; i < outputs.length; i++) {
    const data = outputs[i]?.data;
    // Only BYTES have arrays as data. This runs for every answer, so it does not look the dtype up in a table.
    if (data !== undefined) numbers += Array.isArray(data) ? workOfElements(data) : data.length;
  }
  return numbers;
}

/** Counts the lengths too, because a few elements may be long. */
function workOfElements(elements: Elements): number {
  let numbers = elements.length * NUMBERS_OF_AN_ELEMENT;
  for (let i = 0; i < elements.length && numbers <= FEW_NUMBERS; i++) numbers += elements[i]!.length;
  return numbers;
}

/** One response of a stream, in memory of its own. */
export interface FramedResponse {
  readonly places: readonly FramedTensor[];
  readonly buffer: ArrayBuffer;
  /** Bytes of its tensors. */
  readonly byteLength: number;
}

/** Throws INTERNAL when a tensor's data has changed since the tensor was made: an error of the callable's. */
export function frameResponse(
  outputs: ResolvedOutputs,
  requested: Requested,
  config: CompleteModelConfig,
): FramedResponse {
  const frame = new ResultFrame(config);
  const places = addResponse(frame, outputs, requested);
  return { places, buffer: frame.write().buffer as ArrayBuffer, byteLength: frame.byteLength };
}

/** Does the same with pauses, for many elements. */
export function* frameResponsePaced(
  outputs: ResolvedOutputs,
  requested: Requested,
  config: CompleteModelConfig,
): PacedWork<FramedResponse> {
  const frame = new ResultFrame(config);
  const [measured] = yield* frame.measure([outputs], [requested]);
  const places = addResponse(frame, measured!, requested);
  const { buffer } = yield* frame.writePaced();
  return { places, buffer: buffer as ArrayBuffer, byteLength: frame.byteLength };
}

/** Adds one response to a frame. Throws the reason when it cannot be sent. */
export function addResponse(frame: ResultFrame, outputs: HostResult, requested: Requested): readonly FramedTensor[] {
  const places = frame.add(outputs, requested);
  if (TritonError.is(places)) throw places;
  return places;
}

/**
 * Collects tensors, then writes them all at once. Where there are many elements, it counts, collects and writes them with
 * pauses.
 */
export class ResultFrame {
  readonly #config: CompleteModelConfig;
  readonly #tensors: Tensor[] = [];
  readonly #offsets: number[] = [];
  #byteLength = 0;
  /** The bytes of each tensor that has been measured. */
  #measured: Map<Tensor, number> | undefined;

  constructor(config: CompleteModelConfig) {
    this.#config = config;
  }

  /**
   * Plans a request's outputs that are in `requested`. An empty list asks for all, and so does undefined. A tensor whose
   * data has changed since it was made fails its own request only.
   */
  add(result: HostResult, requested?: Requested): FramedResult {
    if (TritonError.is(result)) return result;
    const { outputs, name: model } = this.#config;
    const places: FramedTensor[] = [];
    let end = this.#byteLength;
    for (let output = 0; output < result.length; output++) {
      const tensor = result[output];
      if (tensor === undefined) continue;
      const { name } = outputs[output]!;
      if (!isWanted(name, requested)) continue;
      const wrong = whatIsWrong(tensor);
      if (wrong !== undefined) return new TritonError('INTERNAL', `output '${name}' of model '${model}' ${wrong}`);
      const byteLength = this.#measured?.get(tensor) ?? rawByteLength(tensor.dtype, tensor.data);
      places.push({ output, shape: tensor.shape, offset: end, byteLength });
      end = alignTo8(end + byteLength);
    }
    for (let i = 0; i < places.length; i++) {
      this.#tensors.push(result[places[i]!.output]!);
      this.#offsets.push(places[i]!.offset);
    }
    this.#byteLength = end;
    return places;
  }

  /**
   * Counts the bytes of many elements, before they are added. Returns a copy of the results to add: the callable may
   * change its lists meanwhile, and its numbers too. Very many numbers are not copied.
   */
  *measure(results: readonly HostResult[], requested: readonly Requested[] | undefined): PacedWork<HostResult[]> {
    const pace = new Pace();
    const kept = results.map((result, index) => this.#kept(result, requested?.[index]));
    const measured = new Map<Tensor, number>();
    for (const result of kept) {
      if (TritonError.is(result)) continue;
      for (const tensor of result)
        if (tensor !== undefined && isBytesDtype(tensor.dtype))
          measured.set(tensor, yield* byteLengthPaced(tensor.data as Elements, pace));
    }
    this.#measured = measured;
    return kept;
  }

  /** Copies a result without the outputs that the request does not want. {@link add} reports faulty tensors. */
  #kept(result: HostResult, requested: Requested): HostResult {
    if (TritonError.is(result)) return result;
    const { outputs } = this.#config;
    return result.map((tensor, output) => {
      if (tensor === undefined || !isWanted(outputs[output]!.name, requested)) return undefined;
      if (whatIsWrong(tensor) !== undefined || isLong(tensor)) return tensor;
      return new Tensor(tensor.dtype, tensor.data.slice() as typeof tensor.data, tensor.shape.slice());
    });
  }

  /** Bytes of all tensors together. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** Writes the header and all tensors into memory of their own. */
  write(header: readonly number[] = [], allocate = newMemory): Buffer {
    const buffer = this.#memory(header, allocate);
    this.writeTo(buffer, header.length * 8);
    return buffer;
  }

  /** Does the same with pauses. */
  *writePaced(header: readonly number[] = [], allocate = newMemory): PacedWork<Buffer> {
    const buffer = this.#memory(header, allocate);
    const start = header.length * 8;
    const pace = new Pace();
    for (let i = 0; i < this.#tensors.length; i++) {
      const { dtype, data } = this.#tensors[i]!;
      const offset = start + this.#offsets[i]!;
      if (!isBytesDtype(dtype)) {
        const { buffer: memory, byteOffset, byteLength } = data as Uint8Array;
        const bytes = new Uint8Array(memory, byteOffset, byteLength);
        yield* copyPaced(bytes, buffer, offset, pace);
        if (bytes.byteLength !== byteLength) throw changed(this.#config.name);
        continue;
      }
      const end = offset + this.#measured!.get(this.#tensors[i]!)!;
      const writer = new ElementWriter(data as Elements, buffer, offset);
      if ((yield* writeElementsPaced(writer, pace)) !== end) throw changed(this.#config.name);
    }
    return buffer;
  }

  #memory(header: readonly number[], allocate: typeof newMemory): Buffer {
    const start = header.length * 8;
    const bytes = start + this.#byteLength;
    // Not from the shared pool, because another thread gets the memory whole. Not zeroed, because every byte read is written.
    const buffer = allocate(bytes < LARGE_BYTES ? bytes : bytes + REQUEST_HEAD_BYTES);
    if (start > 0) new Float64Array(buffer.buffer, 0, header.length).set(header);
    return buffer;
  }

  /** Writes all tensors into the caller's memory. */
  writeTo(target: Buffer, start: number): void {
    for (let i = 0; i < this.#tensors.length; i++) {
      const { dtype, data } = this.#tensors[i]!;
      writeRaw(dtype, data, target, start + this.#offsets[i]!);
    }
  }
}

function isWanted(name: string, requested: Requested): boolean {
  return requested === undefined || requested.length === 0 || requested.includes(name);
}

function* byteLengthPaced(elements: Elements, pace: Pace): PacedWork<number> {
  let total = 0;
  for (let start = 0; start < elements.length;) {
    const most = Math.min(start + ELEMENTS_AT_ONCE, elements.length);
    let end = start;
    for (let units = 0; end < most && units < FEW_UNITS && !isLongText(elements[end]!); end++)
      units += elements[end]!.length;
    const bytes = elementsByteLength(elements, start, end);
    total += bytes;
    if (pace.spend(costOf(end - start, bytes))) yield;
    if (end < most && isLongText(elements[end]!))
      total += 4 + (yield* textByteLengthPaced(elements[end++] as string, pace));
    start = end;
  }
  return total;
}

function isLongText(element: string | Uint8Array): boolean {
  return typeof element === 'string' && isLongElement(element);
}

function* textByteLengthPaced(text: string, pace: Pace): PacedWork<number> {
  let total = 0;
  for (const bytes of textByteLength(text)) {
    total += bytes;
    if (pace.spend(bytes >> 3)) yield;
  }
  return total;
}

/** Writes all elements. Returns the offset of their end, or undefined when an element can no longer be written. */
function* writeElementsPaced(writer: ElementWriter, pace: Pace): PacedWork<number | undefined> {
  for (;;) {
    const { count, offset } = writer;
    let ended;
    try {
      ended = writer.advance(ELEMENTS_AT_ONCE);
    } catch {
      return undefined;
    }
    if (pace.spend(costOf(writer.count - count, writer.offset - offset))) yield;
    if (ended) return writer.offset;
  }
}

function changed(model: string): TritonError {
  const message = `an output of model '${model}' has elements that are not what they were when it was returned; was a buffer transferred?`;
  return new TritonError('INTERNAL', message);
}

function costOf(elements: number, bytes: number): number {
  return elements * BYTES_OF_AN_ELEMENT + (bytes >> 3);
}

/** Whether copying a tensor's numbers needs pauses. */
function isLong({ dtype, data }: Tensor): boolean {
  return !isBytesDtype(dtype) && data.length > FEW_NUMBERS / NUMBERS_OF_AN_ELEMENT;
}

// The buffer of a typed array may have been transferred since its tensor was made.
function whatIsWrong({ data, shape }: Tensor): string | undefined {
  const count = elementCount(shape);
  if (data.length === count) return undefined;
  return `has ${data.length} elements now and ${count} by its shape; was its buffer transferred?`;
}

/** The next multiple of 8, where a view as any typed array may begin. */
export function alignTo8(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}
