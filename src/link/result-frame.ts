// The outputs of a batch in wire form, in one buffer: the single copy that output bytes make. A header of
// doubles may come first; each tensor starts at a multiple of 8, so that readers may view it as any typed array.

import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { rawByteLength, writeRaw } from '../tensor/raw.js';
import type { Tensor } from '../tensor/tensor.js';
import { alignTo8 } from './align.js';

/** Where a tensor lies in the frame. */
export interface FramedTensor {
  /** Index of the declared output. */
  readonly output: number;
  readonly shape: readonly number[];
  /** Counted from the end of the header. */
  readonly offset: number;
  readonly byteLength: number;
}

/** Collects tensors, then writes them all at once. */
export class ResultFrame {
  readonly #tensors: Tensor[] = [];
  readonly #placed: FramedTensor[] = [];
  #byteLength = 0;

  /** Plans the requested ones of a request's outputs; returns their places. An empty request list asks for all. */
  add(outputs: readonly (Tensor | undefined)[], config: CompleteModelConfig, requested: readonly string[]): FramedTensor[] {
    const places: FramedTensor[] = [];
    for (let output = 0; output < outputs.length; output++) {
      const tensor = outputs[output];
      if (tensor === undefined) continue;
      if (requested.length > 0 && !requested.includes(config.outputs[output]!.name)) continue;
      const byteLength = rawByteLength(tensor.dtype, tensor.data);
      const place = { output, shape: tensor.shape, offset: this.#byteLength, byteLength };
      this.#tensors.push(tensor);
      this.#placed.push(place);
      places.push(place);
      this.#byteLength = alignTo8(this.#byteLength + byteLength);
    }
    return places;
  }

  /** The header and all tensors, in memory of their own. */
  write(header: readonly number[] = []): Buffer {
    const start = header.length * 8;
    // Not the shared pool: the memory is handed to another thread whole. Not zeroed: all that is read is written.
    const buffer = Buffer.allocUnsafeSlow(start + this.#byteLength);
    if (start > 0) new Float64Array(buffer.buffer, 0, header.length).set(header);
    for (let i = 0; i < this.#tensors.length; i++) {
      const { dtype, data } = this.#tensors[i]!;
      writeRaw(dtype, data, buffer, start + this.#placed[i]!.offset);
    }
    return buffer;
  }
}
