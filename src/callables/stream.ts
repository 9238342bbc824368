// `stream` runs one generator per request of a decoupled model, each with its own end.

import type { InferenceContext, InferenceRequest, InferFunc, TensorFunc } from '../model/callable.js';
import { markDecorated } from '../model/decorated.js';
import { withRequests } from '../model/derived-context.js';
import { RequestStreams } from '../model/steps.js';
import type { InputsOrAny, TakenInputs, TensorSpecs } from '../model/tensor-spec.js';
import { type AnyMethod, type AnyTensorFunc, expectContext, type Tensors } from './decorator-parts.js';

/**
 * Runs `fn` once per request, with that request's own tensors, the batch axis included. `fn` yields outputs of the same
 * form. Each request ends, fails and is cancelled by itself: `context.signal` is the request's own. For models with
 * `decoupled: true`.
 *
 * @example
 * stream(async function* ({ prompt }, { signal }) {
 *   for (const token of generate(prompt.strings()[0]!, signal)) yield { token: [[token]] };
 * })
 */
export function stream<I extends TensorSpecs = TensorSpecs, O extends TensorSpecs = TensorSpecs, T = InputsOrAny<I>>(
  fn: TensorFunc<I, O, boolean, T>,
  decorated?: undefined,
): InferFunc<I, O, true, TakenInputs<T>>;
/** As a decorator of a method: `@stream async *infer(inputs, context) {…}`. */
export function stream<Method extends AnyMethod>(method: Method, decorated: ClassMethodDecoratorContext): Method;
export function stream(fn: AnyMethod, decorated?: ClassMethodDecoratorContext): AnyMethod {
  const infer = fn as AnyTensorFunc;
  function streaming(this: unknown, requests: readonly InferenceRequest[], context: InferenceContext): unknown {
    expectContext(context, 'stream');
    const streams = requests.map((request) => () => {
      return infer.call(this, request.inputs as Tensors, withRequests(context, [request]));
    });
    return new RequestStreams(streams);
  }
  return markDecorated(streaming, 'stream', fn, { decorated });
}
