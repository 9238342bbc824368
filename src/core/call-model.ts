// A call from one model to another: an ordinary request, whose answer is a promise.

import { TritonError } from '../errors.js';
import type { InferTensor, ModelInferRequest } from '../model/exchange.js';
import type { ModelCall } from '../model/model-calls.js';
import type { InflightRequest, ResponseSink } from './response-sink.js';

/** What a call needs of the engine. */
export interface CalledEngine {
  modelConfig(name: string, version: string): { readonly decoupled: boolean };
  infer(request: ModelInferRequest, sink: ResponseSink): InflightRequest;
}

/** Rejects with INVALID_ARG for a circle, UNSUPPORTED for decoupled models, and whatever the model fails with. */
export async function callModel(
  engine: CalledEngine,
  call: ModelCall,
  signal: AbortSignal,
): Promise<readonly InferTensor[]> {
  const { modelName, modelVersion, callers } = call;
  if (callers.includes(modelName)) {
    throw new TritonError('INVALID_ARG', `models call each other in a circle: ${[...callers, modelName].join(' → ')}`);
  }
  if (engine.modelConfig(modelName, modelVersion).decoupled) {
    throw new TritonError(
      'UNSUPPORTED',
      `model '${modelName}' is decoupled; a model can call only models that answer once`,
    );
  }
  if (signal.aborted) throw new TritonError('CANCELLED', `the call of model '${modelName}' was cancelled`);
  let cancel!: () => void;
  try {
    return await new Promise((resolve, reject) => {
      const inflight = engine.infer(
        { ...call, id: '', priority: 0, timeoutMicroseconds: 0 },
        {
          respond: ({ outputs }) => resolve(outputs),
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
