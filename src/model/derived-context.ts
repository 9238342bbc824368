// The context of a part of a batch: what decorators give to the function under them when it gets other requests or
// rows than they got. Everything else is the whole batch's; the signal, which cancels calls of other models too, goes
// with the requests.

import type { ContextWith, InferenceContext, InferenceRequest, ModelSpec, RequestWith } from './callable.js';
import type { CallableModel, CallableModels } from './model-calls.js';
import { requestedByAny } from './requested-outputs.js';
import { failRow, parametersOf, requestsByRow } from './inference-request.js';
import { noSuchRow } from './row-failures.js';
import { typedModel } from './typed-model.js';
import { joinSignals, withSignals } from './with-signals.js';

/**
 * `context` for these requests, for decorators that hand on others than they got: its signal aborts when the
 * clients of all of them are gone.
 */
export function withRequests<T>(context: ContextWith<unknown>, requests: readonly RequestWith<T>[]): ContextWith<T> {
  const whole = context as unknown as InferenceContext;
  const own = requests as unknown as readonly InferenceRequest[];
  const signal = once(() => signalOf(whole, own));
  const models = () => cancelledBy(signal, whole.models);
  const rows = once(() => requestsByRow(own));
  return derived(context, {
    requests: () => requests,
    requestedOutputs: () => requestedByAny(own, whole.modelConfig),
    requestOfRow: rows,
    rowParameters: once(() => parametersOf(rows())),
    failRow: () => (row: number, error: Error) => failRow(own, row, error),
    signal,
    models,
    modelOf: () => (spec: ModelSpec) => typedModel(models(), spec),
  });
}

/**
 * `context` for some of the rows, by their places, for decorators that hand on others than they got, or in another
 * order: `requestOfRow`, `rowParameters` and `failRow` follow.
 */
export function withRows<T>(context: ContextWith<T>, rows: readonly number[]): ContextWith<T> {
  const requestOfRow = once(() => rows.map((row) => context.requestOfRow[row]!));
  const failRow = (row: number, error: Error) => {
    const place = rows[row];
    if (place === undefined) throw noSuchRow(row, rows.length);
    context.failRow(place, error);
  };
  return derived(context, {
    requestOfRow,
    rowParameters: once(() => parametersOf(requestOfRow())),
    failRow: () => failRow,
  });
}

type Members = { readonly [Member in keyof InferenceContext]?: () => unknown };

function derived<T>(context: ContextWith<unknown>, own: Members): ContextWith<T> {
  const proxy = new Proxy(context as unknown as InferenceContext, {
    get(whole, member) {
      const make = Object.hasOwn(own, member) ? own[member as keyof Members] : undefined;
      return make === undefined ? Reflect.get(whole, member, whole) : make();
    },
  });
  return proxy as unknown as ContextWith<T>;
}

/** Made only when somebody asks for it, as the requests' own signals are. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
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
