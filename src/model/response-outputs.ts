// The outputs of a callable's result, whether or not it is an InferenceResponse.

import { InferenceResponse } from './inference-response.js';

/** The outputs of a result that may be an InferenceResponse. */
export function outputsOf(result: unknown): unknown {
  return InferenceResponse.is(result) ? result.outputs : result;
}

/** Other outputs in place of a result's. What an InferenceResponse says beside them stays. */
export function withOutputs(result: unknown, outputs: unknown): unknown {
  return InferenceResponse.is(result) ? new InferenceResponse(outputs, result) : outputs;
}
