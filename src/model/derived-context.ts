// The context of a part of a batch: what decorators give to the function under them when it gets other requests
// than they got. Everything but the requests and the signal is the whole batch's.

import type { InferenceContext, InferenceRequest } from './callable.js';
import type { TensorSpecs } from './tensor-spec.js';

/**
 * `context` for these requests, for decorators that hand on others than they got: its signal aborts when the
 * clients of all of them are gone.
 */
export function withRequests<Given extends TensorSpecs, I extends TensorSpecs>(
  context: InferenceContext<Given>,
  requests: readonly InferenceRequest<I>[],
): InferenceContext<I> {
  let signal: AbortSignal | undefined;
  const derived = new Proxy(context as unknown as InferenceContext, {
    get(whole, member) {
      if (member === 'requests') return requests;
      // Made only when somebody asks for it, as the requests' own signals are.
      if (member === 'signal') return (signal ??= signalOf(whole, requests as readonly InferenceRequest[]));
      return Reflect.get(whole, member, whole);
    },
  });
  return derived as unknown as InferenceContext<I>;
}

function signalOf(whole: InferenceContext, requests: readonly InferenceRequest[]): AbortSignal {
  if (requests.length === whole.requests.length) return whole.signal;
  if (requests.length === 1) return requests[0]!.signal;
  const controller = new AbortController();
  const abortWhenAllGone = () => {
    if (requests.every(({ signal }) => signal.aborted)) controller.abort();
  };
  for (const { signal } of requests) signal.addEventListener('abort', abortWhenAllGone, { once: true });
  abortWhenAllGone();
  return controller.signal;
}
