// Changes the outputs of a function of tensors, whether it returns, promises or yields them. Decorators at the level of
// tensors use it, users' own included.

import { isPromiseLike } from './awaitable.js';
import type { ContextWith, OutputsLike, TensorResult } from './callable.js';
import { outputsOf, withOutputs } from './response-outputs.js';
import { asSteps, mapSteps } from './steps.js';
import type { TensorSpecs } from './tensor-spec.js';

/**
 * Applies `map` to the outputs of a function of tensors: at once, or when its promise is fulfilled. For a decoupled
 * model it applies `map` to every step; such a function may also return a single one.
 *
 * @example
 * function halved(fn) {
 *   return (inputs, context) => mapOutputs(fn(inputs, context), context, ({ y }) => ({ y: y.map((v) => v / 2) }));
 * }
 */
export function mapOutputs<O extends TensorSpecs, Decoupled extends boolean>(
  result: TensorResult<O, Decoupled>,
  context: ContextWith<unknown>,
  map: (outputs: OutputsLike<O>) => OutputsLike<O>,
): TensorResult<O, Decoupled> {
  const mapped = (step: unknown) => withOutputs(step, map(outputsOf(step) as OutputsLike<O>));
  return finishResult(result, context.modelConfig, mapped) as TensorResult<O, Decoupled>;
}

/** The same without types, for each step or for the only result. */
export function finishResult(
  result: unknown,
  config: { readonly decoupled: boolean },
  finish: (outputs: unknown) => unknown,
): unknown {
  const settle = config.decoupled ? (settled: unknown) => mapSteps(asSteps(settled), finish) : finish;
  return isPromiseLike(result) ? result.then(settle) : settle(result);
}
