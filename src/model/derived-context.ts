// The context of a part of a batch: what decorators give to the function under them when it gets other requests
// than they got. Everything but the requests and the signal, which cancels calls of other models too, is the whole
// batch's.

import type { InferenceContext, InferenceRequest, ModelSpec } from './callable.js';
import type { CallableModel, CallableModels } from './model-calls.js';
import type { TensorSpecs } from './tensor-spec.js';
import { typedModel } from './typed-model.js';
import { joinSignals, withSignals } from './with-signals.js';

/**
 * `context` for these requests, for decorators that hand on others than they got: its signal aborts when the
 * clients of all of them are gone.
 */
export function withRequests<Given extends TensorSpecs, I extends TensorSpecs>(
  context: InferenceContext<Given>,
  requests: readonly InferenceRequest<I>[],
): InferenceContext<I> {
  let signal: AbortSignal | undefined;
  // Made only when somebody asks for it, as the requests' own signals are.
  const ownSignal = () =>
    (signal ??= signalOf(context as unknown as InferenceContext, requests as readonly InferenceRequest[]));
  const models = () => cancelledBy(ownSignal, context.models);
  const derived = new Proxy(context as unknown as InferenceContext, {
    get(whole, member) {
      if (member === 'requests') return requests;
      if (member === 'signal') return ownSignal();
      if (member === 'models') return models();
      if (member === 'modelOf') return (spec: ModelSpec) => typedModel(models(), spec);
      return Reflect.get(whole, member, whole);
    },
  });
  return derived as unknown as InferenceContext<I>;
}

/** The other models, whose calls end with the signal. */
function cancelledBy(signal: () => AbortSignal, models: CallableModels): CallableModels {
  return new Proxy(models, {
    get(_target, name): CallableModel | undefined {
      const model = typeof name === 'string' ? models[name] : undefined;
      if (model === undefined) return undefined;
      return {
        infer: (inputs, options = {}) =>
          withSignals([signal(), options.signal], (either) => model.infer(inputs, { ...options, signal: either })),
        async *stream(inputs, options = {}) {
          const either = joinSignals([signal(), options.signal]);
          try {
            yield* model.stream(inputs, { ...options, signal: either.signal });
          } finally {
            either.release();
          }
        },
      };
    },
  });
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
