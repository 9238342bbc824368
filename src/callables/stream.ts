// The decorator for decoupled models: one generator per request, each with its own end.

import type { InferFunc, TensorFunc } from '../model/callable.js';
import { markDecorated } from '../model/decorated.js';
import { withRequests } from '../model/derived-context.js';
import { RequestStreams } from '../model/request-streams.js';
import type { TensorSpecs } from '../model/tensor-spec.js';

/**
 * Runs `fn` once per request, with that request's own tensors as they came, the batch axis included; what it
 * yields are outputs of the same form. Each request ends, fails and is cancelled by itself: `context.signal` is
 * the request's own. For models with `decoupled: true`.
 *
 * @example
 * stream(async function* ({ prompt }, { signal }) {
 *   for (const token of generate(prompt.strings()[0]!, signal)) yield { token: [[token]] };
 * })
 */
export function stream<I extends TensorSpecs, O extends TensorSpecs>(
  fn: TensorFunc<I, O, true>,
): InferFunc<I, O, true> {
  const streaming: InferFunc<I, O, true> = (requests, context) =>
    new RequestStreams(requests.map((request) => () => fn(request.inputs, withRequests(context, [request]))));
  return markDecorated(streaming, 'stream', fn);
}
