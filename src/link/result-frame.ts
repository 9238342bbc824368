// The outputs of a batch in wire form, in one buffer: the single copy that output bytes make. A header of
// doubles may come first; each tensor starts at a multiple of 8, so that readers may view it as any typed array.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { rawByteLength, writeRaw } from '../tensor/raw.js';
import { elementCount } from '../tensor/shape.js';
import { newMemory } from '../model/exchange.js';
import type { Tensor } from '../tensor/tensor.js';
import type { HostResult } from '../host/host-results.js';

/** The memory of larger answers is used for requests when they are sent. */
const LARGE_BYTES = 1 << 20;
/** What a request has in front of its tensors; so large are most, and then the next one fits where the answer to the last one was. */
const REQUEST_HEAD_BYTES = 4096;

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

/** Collects tensors, then writes them all at once. */
export class ResultFrame {
  readonly #config: CompleteModelConfig;
  readonly #tensors: Tensor[] = [];
  readonly #offsets: number[] = [];
  #byteLength = 0;

  constructor(config: CompleteModelConfig) {
    this.#config = config;
  }

  /**
   * Plans the requested ones of a request's outputs. An empty list asks for all, and so does none. A tensor whose data is not what
   * it was made with fails its own request only.
   */
  add(result: HostResult, requested: readonly string[] = []): FramedResult {
    if (TritonError.is(result)) return result;
    const { outputs, name: model } = this.#config;
    const places: FramedTensor[] = [];
    let end = this.#byteLength;
    for (let output = 0; output < result.length; output++) {
      const tensor = result[output];
      if (tensor === undefined) continue;
      const { name } = outputs[output]!;
      if (requested.length > 0 && !requested.includes(name)) continue;
      const wrong = whatIsWrong(tensor);
      if (wrong !== undefined) return new TritonError('INTERNAL', `output '${name}' of model '${model}' ${wrong}`);
      const byteLength = rawByteLength(tensor.dtype, tensor.data);
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

  /** What all tensors take together. */
  get byteLength(): number {
    return this.#byteLength;
  }

  /** The header and all tensors, in memory of their own. */
  write(header: readonly number[] = [], allocate = newMemory): Buffer {
    const start = header.length * 8;
    const bytes = start + this.#byteLength;
    // Not the shared pool: the memory is handed to another thread whole. Not zeroed: all that is read is written.
    const buffer = allocate(bytes < LARGE_BYTES ? bytes : bytes + REQUEST_HEAD_BYTES);
    if (start > 0) new Float64Array(buffer.buffer, 0, header.length).set(header);
    this.writeTo(buffer, start);
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
