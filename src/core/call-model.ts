// A call from one model to another: an ordinary request. A call that cannot work is a mistake of the calling model, not of
// its client: INTERNAL, naming both.

import { TritonError } from '../errors.js';
import type { ModelInferRequest } from '../model/exchange.js';
import type { CallSink, ModelCall } from '../model/model-calls.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';

/** A model that can be called. */
interface CalledModel {
  readonly config: { readonly decoupled: boolean };
  readonly load: number;
}

/** What a call needs of the engine. */
export interface CalledEngine {
  resolve(name: string, version: string): CalledModel;
  infer(request: ModelInferRequest, sink: ResponseSink, load: number): InflightRequest;
}

const NOTHING_TO_CANCEL = (): void => undefined;

/**
 * Makes a call, see `ModelCaller`. It fails with INTERNAL for a circle, for a model that is not there or refuses the inputs, and
 * for a decoupled one where `sink` takes no responses. All other errors are the model's own.
 */
export function callModel(engine: CalledEngine, call: ModelCall, sink: CallSink): () => void {
  const { onResponse } = sink;
  let load: number;
  try {
    load = findCalled(engine, call, onResponse !== undefined).load;
  } catch (error) {
    sink.failed(TritonError.from(error));
    return NOTHING_TO_CANCEL;
  }
  const inflight = engine.infer(
    requestOf(call),
    {
      respond: ({ outputs }, final) => {
        if (onResponse === undefined) return sink.answered(outputs);
        const slow = onResponse(outputs);
        if (final) sink.answered([]);
        return slow;
      },
      complete: () => sink.answered([]),
      fail: (error, refused) =>
        sink.failed(refused && error.code === 'INVALID_ARG' ? badCall(call, error.message, error) : error),
    },
    load,
  );
  return () => inflight.cancel();
}

/** Spelled out: to spread the call and add a member would cost as much as the rest. */
function requestOf(call: ModelCall): ModelInferRequest {
  const { modelName, modelVersion, parameters, inputs, outputs, priority, timeoutMicroseconds } = call;
  const { callers, traceContext } = call;
  return {
    modelName,
    modelVersion,
    id: '',
    parameters,
    inputs,
    outputs,
    priority,
    timeoutMicroseconds,
    callers,
    traceContext,
  };
}

function findCalled(engine: CalledEngine, call: ModelCall, streams: boolean): CalledModel {
  const { modelName, callers } = call;
  if (callers.includes(modelName)) {
    throw new TritonError('INTERNAL', `models call each other in a circle: ${[...callers, modelName].join(' → ')}`);
  }
  const called = resolveCalled(engine, call);
  if (streams || !called.config.decoupled) return called;
  const reason = `model '${modelName}' is decoupled, so that 'infer' cannot tell how many responses come; call 'stream'`;
  throw badCall(call, reason);
}

function resolveCalled(engine: CalledEngine, call: ModelCall): CalledModel {
  try {
    return engine.resolve(call.modelName, call.modelVersion);
  } catch (thrown) {
    const error = TritonError.from(thrown);
    // That it is not ready passes; clients may try again.
    throw error.code === 'UNAVAILABLE' ? error : badCall(call, error.message, error);
  }
}

function badCall({ modelName, callers }: ModelCall, reason: string, cause?: TritonError): TritonError {
  const caller = callers.at(-1);
  const who = caller === undefined ? '' : `model '${caller}' `;
  return new TritonError('INTERNAL', `${who}cannot call model '${modelName}': ${reason}`, { cause });
}
