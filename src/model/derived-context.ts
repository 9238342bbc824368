// Makes the context of a part of a batch, for decorators whose inner function gets other requests or rows. The signal,
// which also cancels calls of other models, belongs to these requests; everything else is the whole batch's.

import type { ContextWith, InferenceContext, InferenceRequest, ModelSpec, RequestWith } from './callable.js';
import type { CallableModel, CallableModels, ModelCallOptions } from './model-calls.js';
import { neededByAny } from './requested-outputs.js';
import { failRow, parametersOf, requestsByRow, reschedule } from './inference-request.js';
import { expectIterative } from './reschedule.js';
import { noSuchRow } from './row-failures.js';
import { typedModel } from './typed-model.js';
import { urgencyOf } from './urgency.js';
import { followSignal } from '../lifecycle/follow-signal.js';
import { joinSignals } from '../lifecycle/join-signals.js';

/**
 * `context` for these requests, for decorators that hand on other requests than they got: its signal aborts when the
 * clients of all of them are gone.
 */
export function withRequests<T>(context: ContextWith<unknown>, requests: readonly RequestWith<T>[]): ContextWith<T> {
  const whole = context as unknown as InferenceContext;
  const own = requests as unknown as readonly InferenceRequest[];
  const signal = once(() => signalOf(whole, own));
  // The calls of a whole batch end with it in any case.
  const models = () => madeFor(own, own.length === whole.requests.length ? undefined : signal, whole.models);
  const rows = once(() => requestsByRow(own));
  return derived(context, {
    requests: () => requests,
    requestedOutputs: () => neededByAny(own, whole.modelConfig),
    requestOfRow: rows,
    rowParameters: once(() => parametersOf(rows())),
    sequences: () => rows().map(({ sequence }) => sequence),
    sequence: () => own[0]?.sequence,
    failRow: () => (row: number, error: Error) => failRow(own, row, error),
    reschedule:
      () =>
      (row = 0) => {
        expectIterative(whole.modelConfig);
        reschedule(own, row);
      },
    signal,
    models,
    modelOf: () => (spec: ModelSpec) => typedModel(models(), spec),
  });
}

/**
 * `context` for some of the rows, by their places, for decorators that hand on other rows than they got, or in another
 * order: `requestOfRow`, `rowParameters`, `failRow` and `reschedule` follow. A row that is named again has no sequence, and
 * asks for no other execution: it is there to fill the batch, and would advance the state of its request twice.
 */
export function withRows<T>(context: ContextWith<T>, rows: readonly number[]): ContextWith<T> {
  const requestOfRow = once(() => rows.map((row) => context.requestOfRow[row]!));
  const failRow = (row: number, error: Error) => {
    const place = rows[row];
    if (place === undefined) throw noSuchRow(row, rows.length);
    context.failRow(place, error);
  };
  const isFirst = once(() => {
    const named = new Set<number>();
    return rows.map((place) => named.size < named.add(place).size);
  });
  const reschedule = (row = 0) => {
    const place = rows[row];
    if (place === undefined) throw noSuchRow(row, rows.length, 'reschedule');
    if (isFirst()[row] === true) context.reschedule(place);
  };
  const sequences = () => {
    const all = context.sequences;
    return rows.map((place, row) => (isFirst()[row] === true ? all[place] : undefined));
  };
  return derived(context, {
    requestOfRow,
    rowParameters: once(() => parametersOf(requestOfRow())),
    sequences,
    sequence: () => sequences()[0],
    failRow: () => failRow,
    reschedule: () => reschedule,
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

/** Makes the value at the first call only, like the requests' own signals. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** The other models, whose calls are as urgent as these requests, and end with the signal, where there is one. */
function madeFor(
  requests: readonly InferenceRequest[],
  signal: (() => AbortSignal) | undefined,
  models: CallableModels,
): CallableModels {
  const urgency = once(() => urgencyOf(requests));
  const joined = (options: ModelCallOptions) => {
    const { signal: either, release } = joinSignals([signal?.(), options.signal]);
    return { given: Object.assign({}, urgency(), options, either && { signal: either }), release };
  };
  return new Proxy(models, {
    get(_target, name): CallableModel | undefined {
      const model = typeof name === 'string' ? models[name] : undefined;
      if (model === undefined) return undefined;
      return {
        async infer(inputs, options = {}) {
          const { given, release } = joined(options);
          try {
            return await model.infer(inputs, given);
          } finally {
            release();
          }
        },
        async *stream(inputs, options = {}) {
          const { given, release } = joined(options);
          try {
            yield* model.stream(inputs, given);
          } finally {
            release();
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
  for (const { signal } of requests) followSignal(signal, abortWhenAllGone);
  abortWhenAllGone();
  return controller.signal;
}
