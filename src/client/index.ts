/**
 * What a client needs, and nothing of the server.
 *
 * @module tstriton/client
 */

export { TritonError, type ErrorCode, type TritonErrorOptions } from '../errors.js';
export { defineModel, type ModelSpec } from '../model/callable.js';
export type { ModelMetadata, TensorMetadata } from '../protocol/model-metadata.js';
export type { Parameters } from '../model/parameters.js';
export type { DynamicBatcher, ModelConfig, QueuePolicy } from '../model/model-config.js';
export type { InputValues, Outputs, PlainArray, TensorLike, TensorSpec, TensorSpecs } from '../model/tensor-spec.js';
export type { DataLike, DataOf, Datatype, Dtype, DtypeLike } from '../tensor/dtype.js';
export type { ForeignDtype, ForeignTensor } from '../tensor/foreign-tensor.js';
export type { Nested } from '../tensor/nested.js';
export { Tensor, type ElementOf } from '../tensor/tensor.js';
export type { CallTimings } from './call-timings.js';
export {
  TritonConnectionError,
  TritonQueueFullError,
  TritonTimeoutError,
  type TritonConnectionErrorOptions,
} from './client-errors.js';
export type {
  CallOptions,
  ClientTls,
  ClientTlsOptions,
  ModelClientOptions,
  ServerClientOptions,
} from './client-options.js';
export { connect, ServerConnection, type ConnectOptions, type ModelSpecs } from './connect.js';
export type { BatchInferOptions, InferOptions, SequenceOptions } from './infer-options.js';
export type { AnyInputValue, ClientInputs, ClientOutputs } from './tensors/input-values.js';
export type { InProcessServer } from '../in-process/open-transport.js';
export type { InferSequence, InferSequenceOptions, SequencedInferOptions } from './infer-sequence.js';
export type { InferStream, SendOptions, StreamAnswer, StreamOptions } from './infer-stream.js';
export { ModelClient, type ClientOf } from './model-client.js';
export type { OutputStream } from './output-stream.js';
export type { RetryOptions } from './retry-policy.js';
export { ServerClient, type ModelCallOptions, type WaitOptions } from './server/server-client.js';
export type {
  ConfiguredTensor,
  CountAndTime,
  LogSettingsUpdate,
  ModelLoad,
  RepositoryModel,
  ServedLogSettings,
  ServedModelConfig,
  ServedModelStatistics,
  ServedTraceSettings,
  ServerMetadata,
  SharedMemoryRegion,
  TraceSettingsUpdate,
} from './server/server-data.js';
