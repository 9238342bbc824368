// The declaration of a model that a server has described: what clients take.

import type { ModelSpec } from '../model/callable.js';
import type { CompleteTensorSpec } from '../model/complete-model-config.js';
import type { ModelSignature } from '../protocol/model-signature.js';

export function specOf({ name, inputs, outputs, maxBatchSize, decoupled }: ModelSignature): ModelSpec {
  return {
    modelName: name,
    inputs: inputs.map(tensorSpec),
    outputs: outputs.map(tensorSpec),
    config: { ...(maxBatchSize > 0 ? { maxBatchSize } : { batching: false }), ...(decoupled && { decoupled }) },
  } as ModelSpec;
}

function tensorSpec({ name, dtype, shape, optional }: CompleteTensorSpec) {
  return { name, dtype, shape, ...(optional && { optional }) };
}
