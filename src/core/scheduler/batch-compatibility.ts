// Which requests may share a batch. As in Triton (backend_model.cc, RequiredEqualInputs): inputs with an open
// dimension must agree in all dimensions but the batch, and where a model has optional inputs the same ones
// must be present. Everything else mixes. A request that may not join ends the batch at once: it cannot grow.

import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';

interface WithInputs {
  readonly inputs: readonly (InferTensor | undefined)[];
}

/** Whether a validated request of the model may join a batch that begins with another one. */
export function batchCompatibility(config: CompleteModelConfig): (first: WithInputs, next: WithInputs) => boolean {
  const open = config.inputs.flatMap(({ shape }, index) => (shape.includes(-1) ? [index] : []));
  const optional = config.inputs.flatMap((input, index) => (input.optional ? [index] : []));
  return (first, next) => {
    for (const index of optional) {
      if ((first.inputs[index] === undefined) !== (next.inputs[index] === undefined)) return false;
    }
    for (const index of open) {
      const a = first.inputs[index]?.shape;
      const b = next.inputs[index]?.shape;
      if (a === undefined || b === undefined) continue;
      // Validated shapes of one input have the same rank; the first dimension is the batch.
      for (let axis = 1; axis < a.length; axis++) if (a[axis] !== b[axis]) return false;
    }
    return true;
  };
}
