// A call from one model to another: an ordinary request, whose answer is a promise. A call that cannot work is a mistake
// of the calling model, not of its client: INTERNAL, naming both.

import { TritonError } from '../errors.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import type { CallReceiver, ModelCall } from '../model/model-calls.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';

/** What a call needs of the engine. */
export interface CalledEngine {
  resolve(name: string, version: string): { readonly config: { readonly decoupled: boolean } };
  infer(request: ModelInferRequest, sink: ResponseSink): InflightRequest;
}

/**
 * Resolves with the outputs of the only response; where `onResponse` takes the responses, whatever their number, with
 * none. Rejects with INTERNAL for a circle, for a model that is not there, and for a decoupled one without `onResponse`;
 * else with whatever the model fails with.
 */
export async function callModel(
  engine: CalledEngine,
  call: ModelCall,
  { signal, onResponse }: CallReceiver,
): Promise<readonly InferTensor[]> {
  const { modelName, callers } = call;
  if (callers.includes(modelName)) {
    throw new TritonError('INTERNAL', `models call each other in a circle: ${[...callers, modelName].join(' → ')}`);
  }
  const { decoupled } = findCalled(engine, call);
  if (onResponse === undefined && decoupled) {
    throw badCall(
      call,
      `model '${modelName}' is decoupled, so that 'infer' cannot tell how many responses come; call 'stream'`,
    );
  }
  if (signal.aborted) throw new TritonError('CANCELLED', `the call of model '${modelName}' was cancelled`);
  let cancel!: () => void;
  try {
    return await new Promise((resolve, reject) => {
      const inflight = engine.infer(
        { ...call, id: '', priority: 0, timeoutMicroseconds: 0 },
        {
          respond: ({ outputs }, final) => {
            if (onResponse === undefined) return resolve(outputs);
            const slow = onResponse(outputs);
            if (final) resolve([]);
            return slow;
          },
          complete: () => resolve([]),
          fail: reject,
        },
      );
      cancel = () => inflight.cancel();
      signal.addEventListener('abort', cancel);
    });
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

function findCalled(engine: CalledEngine, call: ModelCall): { readonly decoupled: boolean } {
  try {
    return engine.resolve(call.modelName, call.modelVersion).config;
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
