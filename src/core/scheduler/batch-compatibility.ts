// Which requests may share a batch. As in Triton (backend_model.cc, RequiredEqualInputs): inputs with an open dimension must
// agree in all dimensions but the batch. Where a model has optional inputs, the same ones must be present. Everything else mixes.

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

/** The same as a text: requests may share a batch when their texts are equal. Undefined for a model whose requests all may. */
export function batchSignature({ inputs }: CompleteModelConfig): ((request: WithInputs) => string) | undefined {
  const differing = inputs.flatMap(({ shape, optional }, index) =>
    optional || shape.includes(-1) ? [{ index, isOpen: shape.includes(-1) }] : [],
  );
  if (differing.length === 0) return undefined;
  return (request) => {
    let text = '';
    for (const { index, isOpen } of differing) {
      const shape = request.inputs[index]?.shape;
      text += shape === undefined ? '-' : '+';
      if (shape !== undefined && isOpen) for (let axis = 1; axis < shape.length; axis++) text += `${shape[axis]},`;
    }
    return text;
  };
}
