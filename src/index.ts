// Entry point of the package: everything a server needs.

export { batch } from './callables/batch.js';
export { sample } from './callables/sample.js';
export { instanceGroup, type InstanceGroup, type InstanceGroupOptions, type ThreadResourceLimits } from './model/instance-group.js';
export type { SetupContext } from './model/setup-context.js';
export { TritonError, TritonUnrecoverableError, type ErrorCode, type TritonErrorOptions } from './errors.js';
export {
  defineModel,
  type BoundModel,
  type Callable,
  type CallableOf,
  type InferenceContext,
  type InferenceRequest,
  type InferFunc,
  type ModelObject,
  type ModelSpec,
  type OutputsLike,
  type Result,
  type TensorFunc,
} from './model/callable.js';
export { stream } from './callables/stream.js';
export { InferenceResponse, type InferenceResponseOptions } from './model/inference-response.js';
export type { Logger } from './model/logger.js';
export type { Parameters } from './model/parameters.js';
export type { CompleteModelConfig, CompleteTensorSpec } from './model/complete-model-config.js';
export {
  DeviceKind,
  TimeoutAction,
  type DynamicBatcher,
  type ModelConfig,
  type QueuePolicy,
} from './model/model-config.js';
export type {
  InputValues,
  Inputs,
  OutputList,
  OutputRecord,
  Outputs,
  PlainArray,
  TensorLike,
  TensorSpec,
  TensorSpecs,
} from './model/tensor-spec.js';
export type { DataOf, Datatype, Dtype, DtypeLike, ToDtype } from './tensor/dtype.js';
export type { Nested } from './tensor/nested.js';
export { Tensor } from './tensor/tensor.js';
export type { TritonConfig } from './triton-config.js';
export { Triton } from './triton.js';
