// The entry point '.' for browsers and others without Node, so that a server and a page can share declarations. It exports everything
// but `Triton`: the bundler reports an import of that by name.

export { batch } from './callables/batch.js';
export { constantPadder } from './callables/constant-padder.js';
export { fillOptionals } from './callables/fill-optionals.js';
export { firstValue } from './callables/first-value.js';
export { groupByKeys } from './callables/group-by-keys.js';
export { groupByValues } from './callables/group-by-values.js';
export { padBatch } from './callables/pad-batch.js';
export { sample } from './callables/sample.js';
export { stream } from './callables/stream.js';
export { TritonError, TritonUnrecoverableError } from './errors.js';
export { defineModel } from './model/callable.js';
export { withRequests, withRows } from './model/derived-context.js';
export { withInputs } from './model/inference-request.js';
export { InferenceResponse } from './model/inference-response.js';
export { withTensors } from './model/input-list.js';
export { instanceGroup } from './model/instance-group.js';
export { mapOutputs } from './model/map-outputs.js';
export { TimeoutAction } from './model/model-config.js';
export { messageText } from './openai/chat-messages.js';
export { chatModel } from './openai/chat-model.js';
export { completionModel } from './openai/completion-model.js';
export { embeddingModel } from './openai/embedding-model.js';
export { transcriptionModel } from './openai/transcription-model.js';
export { counter, gauge, histogram } from './observability/metrics.js';
export { Tensor } from './tensor/tensor.js';
