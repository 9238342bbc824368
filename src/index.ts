/**
 * The entry point of the package: everything that a server needs.
 *
 * @module tstriton
 */

export { batch } from './callables/batch.js';
export { constantPadder, type GroupOutputs, type PadFunc } from './callables/constant-padder.js';
export {
  fillOptionals,
  type DefaultValue,
  type FilledSpecs,
  type OptionalInputName,
} from './callables/fill-optionals.js';
export { firstValue, type FirstValueOptions, type FirstValues, type ValueFunc } from './callables/first-value.js';
export { groupByKeys } from './callables/group-by-keys.js';
export { groupByValues, type GroupByValuesOptions } from './callables/group-by-values.js';
export { padBatch } from './callables/pad-batch.js';
export { sample } from './callables/sample.js';
export {
  instanceGroup,
  type InstanceGroup,
  type InstanceGroupOptions,
  type ThreadResourceLimits,
} from './model/instance-group.js';
export type { SetupContext } from './model/run-setup.js';
export { TritonError, TritonUnrecoverableError, type ErrorCode, type TritonErrorOptions } from './errors.js';
export {
  defineModel,
  type Callable,
  type CallableOf,
  type ContextWith,
  type DecoratedMethod,
  type InferenceContext,
  type InferenceRequest,
  type InferFunc,
  type MethodOf,
  type ModelObject,
  type ModelSpec,
  type OutputsLike,
  type RequestWith,
  type Result,
  type Results,
  type TensorFunc,
  type TensorResult,
} from './model/callable.js';
export type { BoundModel } from './model/bound-model.js';
export { stream } from './callables/stream.js';
export { withRequests, withRows } from './model/derived-context.js';
export { withInputs } from './model/inference-request.js';
export { withTensors } from './model/input-list.js';
export { mapOutputs } from './model/map-outputs.js';
export type { Awaitable } from './model/awaitable.js';
export type { Steps } from './model/steps.js';
export { InferenceResponse, type InferenceResponseOptions } from './model/inference-response.js';
export type { ExternalLogger } from './logger.js';
export type { Logger } from './observability/logger.js';
export type {
  CallableModel,
  CallableModels,
  ModelCallOptions,
  TypedCallOptions,
  TypedModel,
} from './model/model-calls.js';
export type { VersionPolicy } from './model/version-policy.js';
export type { ModelWarmup, WarmupInput } from './model/model-warmup.js';
export {
  counter,
  gauge,
  histogram,
  type CounterMetric,
  type GaugeMetric,
  type HistogramMetric,
  type LabelValues,
  type MetricOptions,
  type Metrics,
} from './observability/metrics.js';
export {
  messageText,
  type ChatContentPart,
  type ChatMessage,
  type ChatTool,
  type ChatToolCall,
} from './openai/chat-messages.js';
export {
  chatModel,
  type ChatFunc,
  type ChatModel,
  type ChatModelOptions,
  type ChatRequest,
} from './openai/chat-model.js';
export {
  completionModel,
  type CompletionFunc,
  type CompletionModel,
  type CompletionModelOptions,
  type CompletionRequest,
} from './openai/completion-model.js';
export {
  embeddingModel,
  type EmbedFunc,
  type Embedding,
  type EmbeddingModel,
  type EmbeddingModelOptions,
} from './openai/embedding-model.js';
export {
  transcriptionModel,
  type TranscribeFunc,
  type Transcript,
  type TranscriptionModel,
  type TranscriptionModelOptions,
  type TranscriptionRequest,
} from './openai/transcription-model.js';
export type { ChatPart, CompletionPart, FinishReason, Generated, TokenUsage } from './openai/generation.js';
export type { GenerationConfig, OpenAiModelOptions } from './openai/generation-model.js';
export type { GenerationOptions } from './openai/generation-request.js';
export type { ToolCallPart } from './openai/tool-calls.js';
export type { OpenAiEndpoint } from './model/openai.js';
export type { Parameters } from './model/parameters.js';
export type { RequestSequence } from './model/request-sequence.js';
export type {
  SequenceBatching,
  SequenceControl,
  SequenceEndReason,
  SequenceStateSpec,
} from './model/sequence-batching.js';
export type { CompleteModelConfig, CompleteTensorSpec } from './model/complete-model-config.js';
export { TimeoutAction, type DynamicBatcher, type ModelConfig, type QueuePolicy } from './model/model-config.js';
export type {
  AnyInputs,
  BoxForm,
  InputName,
  InputTuple,
  InputValues,
  Inputs,
  NamedInputs,
  OutputLike,
  OutputList,
  OutputRecord,
  Outputs,
  PlainArray,
  SingleValue,
  TensorLike,
  TensorSpec,
  TensorSpecs,
} from './model/tensor-spec.js';
export type {
  Span,
  SpanAttributes,
  SpanAttributeValue,
  SpanContext,
  SpanException,
  SpanLink,
  SpanTime,
  SpanTraceState,
} from './observability/span.js';
export type { DataLike, DataOf, Datatype, Dtype, DtypeLike, ToDtype } from './tensor/dtype.js';
export type { ForeignDtype, ForeignTensor } from './tensor/foreign-tensor.js';
export type { Nested } from './tensor/nested.js';
export { Tensor } from './tensor/tensor.js';
export type { TritonConfig } from './config/generated/triton-config.js';
export type { BindOptions } from './server/model-bindings.js';
export type { FetchHandler, HandlerOptions, NodeHandler } from './server/mount.js';
export { Triton } from './triton.js';
export {
  RemoteTriton,
  type RemoteTritonOptions,
  type TritonserverOptions,
  type TstritonServerOptions,
} from './remote/remote-triton.js';
