// The shared memory that one request uses: its inputs are read from there, its outputs written there before the
// answer is sent. Its creator releases it when the request has ended.

import { invalidArg } from '../../errors.js';
import { type InferTensor, type ModelInferResponse, ownMemory } from '../../model/exchange.js';
import type { PacedWork } from '../../pacing/paced-work.js';
import type { SharedInput, SharedMemoryAccess, SharedMemoryReference } from '../../model/shared-memory.js';
import type { SharedMemoryRange } from './shared-memory-range.js';
import type { SharedMemoryRegistry } from './shared-memory-registry.js';

const WRITTEN_ELSEWHERE = new Uint8Array(0);

export class RequestSharedMemory implements SharedMemoryAccess {
  readonly #registry: Pick<SharedMemoryRegistry, 'use'>;
  readonly #allocate: (bytes: number) => Buffer;
  // Nearly no request has any.
  #inputs: SharedMemoryRange[] | undefined;
  #outputs: Map<string, SharedMemoryRange> | undefined;

  /** `allocate` gives the memory that inputs are copied to. */
  constructor(registry: Pick<SharedMemoryRegistry, 'use'>, allocate: (bytes: number) => Buffer) {
    this.#registry = registry;
    this.#allocate = allocate;
  }

  /** Copies the input on arrival. The client may change its memory while the request waits. */
  *input(reference: SharedMemoryReference): PacedWork<SharedInput> {
    const range = this.#registry.use(reference);
    (this.#inputs ??= []).push(range);
    const bytes = yield* range.copy(this.#allocate);
    return { bytes, memory: ownMemory(bytes) };
  }

  output(name: string, reference: SharedMemoryReference): void {
    const range = this.#registry.use(reference);
    this.#outputs ??= new Map();
    // The first listing of an output counts.
    if (this.#outputs.has(name)) range.release();
    else this.#outputs.set(name, range);
  }

  /** Whether {@link deliver} has anything to do. */
  get hasOutputs(): boolean {
    return this.#outputs !== undefined;
  }

  /** Writes outputs into shared memory; in the returned response they have no bytes. Throws INVALID_ARG when one does not fit. */
  *deliver(response: ModelInferResponse): PacedWork<ModelInferResponse> {
    const ranges = this.#outputs;
    if (ranges === undefined) return response;
    const outputs: InferTensor[] = [];
    for (const output of response.outputs) {
      const range = ranges.get(output.name);
      outputs.push(range === undefined ? output : yield* place(output, range));
    }
    return { ...response, outputs };
  }

  /** The request has ended. */
  release(): void {
    if (this.#inputs !== undefined) for (const range of this.#inputs) range.release();
    if (this.#outputs !== undefined) for (const range of this.#outputs.values()) range.release();
  }
}

function* place(output: InferTensor, range: SharedMemoryRange): PacedWork<InferTensor> {
  const { byteLength } = output.bytes;
  if (byteLength > range.byteSize) {
    throw invalidArg(
      `shared memory size specified with the request for output '${output.name}' (${range.byteSize} bytes) should be at least ${byteLength} bytes to hold the results`,
    );
  }
  yield* range.write(output.bytes);
  return { ...output, bytes: WRITTEN_ELSEWHERE };
}
