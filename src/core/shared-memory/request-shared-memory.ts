// The shared memory that one request uses: its inputs are read from there, its outputs written there before the
// answer is sent. Whoever makes one releases it when the request has ended.

import { invalidArg } from '../../errors.js';
import { type InferTensor, type ModelInferResponse, ownMemory } from '../../model/exchange.js';
import type { PacedWork } from '../../model/paced-work.js';
import type { SharedInput, SharedMemoryAccess, SharedMemoryReference } from '../../model/shared-memory.js';
import type { SharedMemoryRange } from './shared-memory-range.js';
import type { SharedMemoryRegistry } from './shared-memory-registry.js';

const WRITTEN_ELSEWHERE = new Uint8Array(0);

/** Larger inputs are copied here, in pieces, rather than on their way to the callable in one go. */
const LARGEST_VIEW_BYTES = 4 * 1024 * 1024;

export class RequestSharedMemory implements SharedMemoryAccess {
  /**
   * Whether inputs must stay as they are from now on: an answer that is cached is found by what they were, and must be
   * the answer to that.
   */
  copiesInputs = false;
  readonly #registry: Pick<SharedMemoryRegistry, 'use'>;
  // Nearly no request has any.
  #inputs: SharedMemoryRange[] | undefined;
  #outputs: Map<string, SharedMemoryRange> | undefined;

  constructor(registry: Pick<SharedMemoryRegistry, 'use'>) {
    this.#registry = registry;
  }

  *input(reference: SharedMemoryReference, datatype: string): PacedWork<SharedInput> {
    const range = this.#registry.use(reference);
    (this.#inputs ??= []).push(range);
    // The lengths inside BYTES data are checked once; the client must not change them after that. Numbers may change
    // under the client's own hands: the callable gets one state or another of them, in memory of its own.
    const copies = datatype === 'BYTES' || this.copiesInputs || range.byteSize > LARGEST_VIEW_BYTES;
    const view = copies ? undefined : range.view();
    if (view !== undefined) return { bytes: view, memory: undefined };
    const bytes = yield* range.copy();
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

  /** Writes the outputs that go into shared memory; in what it returns they have no bytes. Throws INVALID_ARG when one does not fit. */
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
