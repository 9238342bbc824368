// The identity workload in the forms that the parts of a request have between them: what decoders make of it, and what the core
// and callables take and give.

import { batch } from 'tstriton';

import { binaryRequests, MODEL, VALUES } from './identity-wire.js';
import type { ExecutionRequest, InferResponse, Tensor } from './parts-build.js';

export const SPEC = {
  modelName: MODEL,
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
  outputs: { c: { dtype: 'float32', shape: [-1] }, d: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 64 },
  inferFunc: batch(({ a, b }) => ({ c: a!, d: b! })),
} as const;

export const HEADER_LENGTH = binaryRequests[0]!.headers['inference-header-content-length']!;

function tensorsNamed(names: readonly string[]): readonly Tensor[] {
  return VALUES[0]!.map((values, i) => ({
    name: names[i]!,
    datatype: 'FP32',
    shape: [1, values.length],
    bytes: new Uint8Array(values.buffer, values.byteOffset, values.byteLength),
  }));
}

export const OUTPUTS = tensorsNamed(['c', 'd']);
export const INPUTS = tensorsNamed(['a', 'b']);

export const RESPONSE: InferResponse = {
  modelName: MODEL,
  modelVersion: '1',
  id: '',
  parameters: undefined,
  outputs: OUTPUTS,
};

/** One row; the batch is of such. */
export const EXECUTION: ExecutionRequest = {
  id: '',
  parameters: undefined,
  rows: 1,
  memory: undefined,
  requestedOutputs: [],
  inputs: INPUTS,
};

/** Of answers of whatever part: the two tensors, unchanged. */
export function checkOutputs(outputs: readonly Tensor[] | undefined): void {
  for (const [i, { name, bytes }] of OUTPUTS.entries()) {
    const got = outputs?.[i];
    if (got?.name !== name || Buffer.compare(got.bytes, bytes) !== 0)
      throw new Error(`wrong answer: ${name} is not there`);
  }
}
