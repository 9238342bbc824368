// One way to change the outputs of a function of tensors, whether it returns them, promises them or yields them.
// What decorators at the level of tensors are made with, users' own included.

import { isPromiseLike } from './awaitable.js';
import type { ContextWith, OutputsLike, TensorResult } from './callable.js';
import { asSteps, mapSteps } from './steps.js';
import type { TensorSpecs } from './tensor-spec.js';

/**
 * `map` applied to the outputs that a function of tensors gave: at once, when its promise is fulfilled, or to
 * every step of a decoupled model, whose function may also return one.
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
  return finishResult(result, context.modelConfig, map as (outputs: unknown) => unknown) as TensorResult<O, Decoupled>;
}

/** The same without types: what each step, or the only result, becomes. */
export function finishResult(
  result: unknown,
  config: { readonly decoupled: boolean },
  finish: (outputs: unknown) => unknown,
): unknown {
  const settle = (settled: unknown) => (config.decoupled ? mapSteps(asSteps(settled), finish) : finish(settled));
  return isPromiseLike(result) ? result.then(settle) : settle(result);
}
