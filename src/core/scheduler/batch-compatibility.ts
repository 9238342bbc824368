// Which requests may share a batch. As in Triton (backend_model.cc, RequiredEqualInputs): inputs with an open
// dimension must agree in all dimensions but the batch, and where a model has optional inputs the same ones
// must be present. Everything else mixes.

import type { CompleteModelConfig } from '../../model/complete-model-config.js';
import type { InferTensor } from '../../model/exchange.js';

interface WithInputs {
  readonly inputs: readonly (InferTensor | undefined)[];
}

/** Compares two validated requests of the model. */
export function batchCompatibility(config: CompleteModelConfig): (first: WithInputs, next: WithInputs) => boolean {
  const open = config.inputs.flatMap(({ shape }, index) => (shape.includes(-1) ? [index] : []));
  const optional = config.inputs.some((input) => input.optional);
  return (first, next) => {
    if (optional) {
      for (let i = 0; i < first.inputs.length; i++) {
        if ((first.inputs[i] === undefined) !== (next.inputs[i] === undefined)) return false;
      }
    }
    for (const index of open) {
      const a = first.inputs[index]?.shape;
      const b = next.inputs[index]?.shape;
      if (a === undefined || b === undefined) continue;
      for (let axis = 1; axis < a.length; axis++) if (a[axis] !== b[axis]) return false;
    }
    return true;
  };
}
