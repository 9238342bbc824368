// Checks, at bind, the names of inputs that decorators are given.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../model/complete-model-config.js';
import { nearest } from '../model/nearest.js';

/** The declaration of the input that a decorator names. Throws INVALID_ARG when the model has no such input. */
export function expectInput(
  name: string,
  { name: model, inputs }: CompleteModelConfig,
  decorator: string,
): CompleteTensorSpec {
  const spec = inputs.find((input) => input.name === name);
  if (spec !== undefined) return spec;
  const names = inputs.map((input) => input.name);
  const hint = nearest(name, names);
  throw new TritonError(
    'INVALID_ARG',
    `${decorator} names an input '${name}' that model '${model}' does not have; ` +
      (hint === undefined ? `it has ${names.join(', ') || 'none'}` : `did you mean '${hint}'?`),
  );
}
