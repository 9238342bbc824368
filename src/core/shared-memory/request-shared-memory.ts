// The shared memory that one request uses: its inputs are read from there, its outputs written there before the
// answer is sent. Whoever makes one releases it when the request has ended.

import { TritonError } from '../../errors.js';
import type { InferTensor, ModelInferResponse } from '../../model/exchange.js';
import type { SharedMemoryAccess, SharedMemoryReference } from '../../model/shared-memory.js';
import type { SharedMemoryRange } from './shared-memory-range.js';
import type { SharedMemoryRegistry } from './shared-memory-registry.js';

const WRITTEN_ELSEWHERE = new Uint8Array(0);

export class RequestSharedMemory implements SharedMemoryAccess {
  readonly #registry: Pick<SharedMemoryRegistry, 'use'>;
  readonly #inputs: SharedMemoryRange[] = [];
  readonly #outputs = new Map<string, SharedMemoryRange>();

  constructor(registry: Pick<SharedMemoryRegistry, 'use'>) {
    this.#registry = registry;
  }

  input(reference: SharedMemoryReference, datatype: string): Uint8Array {
    const range = this.#registry.use(reference);
    this.#inputs.push(range);
    // The lengths inside BYTES data are checked once; the client must not change them after that. Numbers may change
    // under the client's own hands: the callable gets one state or another of them, in memory of its own.
    return datatype === 'BYTES' ? range.copy() : range.read();
  }

  output(name: string, reference: SharedMemoryReference): void {
    const range = this.#registry.use(reference);
    // The first listing of an output counts.
    if (this.#outputs.has(name)) range.release();
    else this.#outputs.set(name, range);
  }

  /** Whether an output goes into shared memory. */
  holds(output: string): boolean {
    return this.#outputs.has(output);
  }

  /** Writes the outputs that go into shared memory; in what it returns they have no bytes. Throws INTERNAL when one does not fit. */
  deliver(response: ModelInferResponse): ModelInferResponse {
    if (this.#outputs.size === 0) return response;
    return { ...response, outputs: response.outputs.map((output) => this.#place(output)) };
  }

  /** The request has ended. */
  release(): void {
    for (const range of this.#inputs) range.release();
    for (const range of this.#outputs.values()) range.release();
  }

  #place(output: InferTensor): InferTensor {
    const range = this.#outputs.get(output.name);
    if (range === undefined) return output;
    const { byteLength } = output.bytes;
    if (byteLength > range.byteSize) {
      throw new TritonError(
        'INTERNAL',
        `shared memory size specified with the request for output '${output.name}' (${range.byteSize} bytes) should be at least ${byteLength} bytes to hold the results`,
      );
    }
    range.write(output.bytes);
    return { ...output, bytes: WRITTEN_ELSEWHERE };
  }
}
