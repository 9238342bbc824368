// The outputs of a batch in wire form, in one buffer: the single copy that output bytes make. A header of
// doubles may come first; each tensor starts at a multiple of 8, so that readers may view it as any typed array.
// Many elements of BYTES are counted and written with pauses, and so are very many numbers.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { copyPaced } from '../model/paced-bytes.js';
import { Pace, type PacedWork } from '../model/paced-work.js';
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

/** The memory of larger answers is used for requests when they are sent. */
const LARGE_BYTES = 1 << 20;
/** What a request has in front of its tensors; so large are most, and then the next one fits where the answer to the last one was. */
const REQUEST_HEAD_BYTES = 4096;

/** So many numbers are copied at once: 4 bytes each are some ten milliseconds where the memory is new. */
const FEW_NUMBERS = 4 << 20;
/** An element of BYTES takes so many times longer: 4096 of them are written in less than a millisecond. */
const NUMBERS_OF_AN_ELEMENT = 1024;
/** Between two looks at the pace. */
const ELEMENTS_AT_ONCE = 256;
/** The same of their length. */
const FEW_UNITS = 256 * 1024;
/** What it takes to count an element or to write it, as so many bytes. */
const BYTES_OF_AN_ELEMENT = 64;

/** Names of the outputs that a request wants; empty for all, and so is none. */
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

/** What becomes of one request: the places of its outputs, or why it failed. */
export type FramedResult = FramedTensor[] | TritonError;

/** Whether results have so many elements that others should have their turn while they are written. */
export function haveManyElements(results: readonly HostResult[]): boolean {
  let numbers = 0;
  for (let r = 0; r < results.length; r++) {
    const outputs = results[r]!;
    if (isOutputs(outputs)) numbers += workOf(outputs);
  }
  return numbers > FEW_NUMBERS;
}

/** The same of one result. */
export function hasManyElements(outputs: ResolvedOutputs): boolean {
  return workOf(outputs) > FEW_NUMBERS;
}

function isOutputs(result: HostResult): result is ResolvedOutputs {
  return Array.isArray(result);
}

/** As so many numbers. */
function workOf(outputs: ResolvedOutputs): number {
  let numbers = 0;
  for (let i = 0; i < outputs.length; i++) {
    const data = outputs[i]?.data;
    // Only those of BYTES are arrays. Asked of every answer, so that no table is looked into.
    if (data !== undefined) numbers += Array.isArray(data) ? workOfElements(data) : data.length;
  }
  return numbers;
}

/** Few elements may be long. */
function workOfElements(elements: Elements): number {
  let numbers = elements.length * NUMBERS_OF_AN_ELEMENT;
  for (let i = 0; i < elements.length && numbers <= FEW_NUMBERS; i++) numbers += elements[i]!.length;
  return numbers;
}

/** One response of a stream, in memory of its own. */
export interface FramedResponse {
  readonly places: readonly FramedTensor[];
  readonly buffer: ArrayBuffer;
  /** What its tensors take. */
  readonly byteLength: number;
}

/** Throws INTERNAL when the data of a tensor is not what it was made with: an error of the callable's. */
export function frameResponse(
  outputs: ResolvedOutputs,
  requested: Requested,
  config: CompleteModelConfig,
): FramedResponse {
  const frame = new ResultFrame(config);
  const places = addResponse(frame, outputs, requested);
  return { places, buffer: frame.write().buffer as ArrayBuffer, byteLength: frame.byteLength };
}

/** The same with pauses, for many elements. */
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

/** Adds one response to a frame. Throws why it cannot be sent. */
export function addResponse(frame: ResultFrame, outputs: HostResult, requested: Requested): readonly FramedTensor[] {
  const places = frame.add(outputs, requested);
  if (TritonError.is(places)) throw places;
  return places;
}

/**
 * Collects tensors, then writes them all at once; or counts, collects and writes them with pauses, where there are
 * many elements.
 */
export class ResultFrame {
  readonly #config: CompleteModelConfig;
  readonly #tensors: Tensor[] = [];
  readonly #offsets: number[] = [];
  #byteLength = 0;
  /** Of tensors that have been measured. */
  #measured: Map<Tensor, number> | undefined;

  constructor(config: CompleteModelConfig) {
    this.#config = config;
  }

  /**
   * Plans the requested ones of a request's outputs. An empty list asks for all, and so does none. A tensor whose data is not what
   * it was made with fails its own request only.
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
   * Counts the bytes of many elements, before they are added. Gives the results as they are now, to be added: the callable
   * may change its lists meanwhile, and numbers unless they are very many.
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

  /** Without what nobody wants; what is wrong is left for {@link add} to tell. */
  #kept(result: HostResult, requested: Requested): HostResult {
    if (TritonError.is(result)) return result;
    const { outputs } = this.#config;
    return result.map((tensor, output) => {
      if (tensor === undefined || !isWanted(outputs[output]!.name, requested)) return undefined;
      if (whatIsWrong(tensor) !== undefined || isLong(tensor)) return tensor;
      return new Tensor(tensor.dtype, tensor.data.slice() as typeof tensor.data, tensor.shape.slice());
    });
  }

  /** What all tensors take together. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** The header and all tensors, in memory of their own. */
  write(header: readonly number[] = [], allocate = newMemory): Buffer {
    const buffer = this.#memory(header, allocate);
    this.writeTo(buffer, header.length * 8);
    return buffer;
  }

  /** The same with pauses. */
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
    // Not the shared pool: the memory is handed to another thread whole. Not zeroed: all that is read is written.
    const buffer = allocate(bytes < LARGE_BYTES ? bytes : bytes + REQUEST_HEAD_BYTES);
    if (start > 0) new Float64Array(buffer.buffer, 0, header.length).set(header);
    return buffer;
  }

  /** All tensors, into memory of the caller's. */
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

/** Writes all; returns where they end, undefined when one cannot be written any more. */
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

/** Copying its numbers is what has to be done with pauses. */
function isLong({ dtype, data }: Tensor): boolean {
  return !isBytesDtype(dtype) && data.length > FEW_NUMBERS / NUMBERS_OF_AN_ELEMENT;
}

// The buffer of a typed array may have been transferred since its tensor was made.
function whatIsWrong({ data, shape }: Tensor): string | undefined {
  const count = elementCount(shape);
  if (data.length === count) return undefined;
  return `has ${data.length} elements now and ${count} by its shape; was its buffer transferred?`;
}

/** The next multiple of 8: where a view as any typed array may begin. */
export function alignTo8(offset: number): number {
  return Math.ceil(offset / 8) * 8;
}
