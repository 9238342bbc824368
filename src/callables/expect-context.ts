// Checks that a decorated function was called as a server calls it.

import { TritonError } from '../errors.js';
import type { InferenceContext } from '../model/callable.js';
import type { DecoratorName } from '../model/decorated.js';
import type { TensorSpecs } from '../model/tensor-spec.js';

/** The context that a decorated function got. Throws INVALID_ARG when there is none, as in a unit test that calls it. */
export function expectContext<I extends TensorSpecs>(
  context: InferenceContext<I> | undefined,
  decorator: DecoratorName,
): InferenceContext<I> {
  if ((context as Partial<InferenceContext> | null | undefined)?.modelConfig !== undefined) return context!;
  throw new TritonError(
    'INVALID_ARG',
    `${decorator} was called without a context: it needs the one that a server gives; in a test, call the callable with ` +
      "call(model, inputs) of 'tstriton/testing'",
  );
}
