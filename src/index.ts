// Entry point of the package: everything a server needs.

export { batch } from './callables/batch.js';
export { constantPadder, type GroupOutputs, type PadFunc } from './callables/constant-padder.js';
export {
  fillOptionals,
  type DefaultValue,
  type FilledSpecs,
  type OptionalInputName,
} from './callables/fill-optionals.js';
export {
  firstValue,
  type FirstValueOptions,
  type FirstValues,
  type SingleValue,
  type ValueFunc,
} from './callables/first-value.js';
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
export type { Logger } from './model/logger.js';
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
} from './model/metrics.js';
export type { Parameters } from './model/parameters.js';
export type { RequestSequence } from './model/request-sequence.js';
export type { CompleteModelConfig, CompleteTensorSpec } from './model/complete-model-config.js';
export { TimeoutAction, type DynamicBatcher, type ModelConfig, type QueuePolicy } from './model/model-config.js';
export type {
  AnyInputs,
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
} from './model/span.js';
export type { DataLike, DataOf, Datatype, Dtype, DtypeLike, ToDtype } from './tensor/dtype.js';
export type { ForeignDtype, ForeignTensor } from './tensor/foreign-tensor.js';
export type { Nested } from './tensor/nested.js';
export { Tensor } from './tensor/tensor.js';
export type { TritonConfig } from './config/generated/triton-config.js';
export type { BindOptions } from './server/model-bindings.js';
export { Triton } from './triton.js';
