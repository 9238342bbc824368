// A call from one model to another: an ordinary request, whose answer is a promise.

import { TritonError } from '../errors.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import type { CallReceiver, ModelCall } from '../model/model-calls.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';

/** What a call needs of the engine. */
export interface CalledEngine {
  modelConfig(name: string, version: string): { readonly decoupled: boolean };
  infer(request: ModelInferRequest, sink: ResponseSink): InflightRequest;
}

/**
 * Resolves with the outputs of the only response; where `onResponse` takes the responses, whatever their number, with
 * none. Rejects with INVALID_ARG for a circle, UNSUPPORTED for a decoupled model without `onResponse`, and whatever
 * the model fails with.
 */
export async function callModel(
  engine: CalledEngine,
  call: ModelCall,
  { signal, onResponse }: CallReceiver,
): Promise<readonly InferTensor[]> {
  const { modelName, modelVersion, callers } = call;
  if (callers.includes(modelName)) {
    throw new TritonError('INVALID_ARG', `models call each other in a circle: ${[...callers, modelName].join(' → ')}`);
  }
  if (onResponse === undefined && engine.modelConfig(modelName, modelVersion).decoupled) {
    throw new TritonError(
      'UNSUPPORTED',
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
