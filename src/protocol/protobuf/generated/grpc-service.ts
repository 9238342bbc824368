// Written by scripts/generate-messages.js from proto/.

import { message, type MessageType } from '../message-type.js';
import { ModelConfig } from './model-config.js';

export type ServerLiveRequest = object;
export const ServerLiveRequest: MessageType<ServerLiveRequest> = /*@__PURE__*/ message('inference.ServerLiveRequest', '');

export interface ServerLiveResponse {
  readonly live: boolean;
}
export const ServerLiveResponse: MessageType<ServerLiveResponse> = /*@__PURE__*/ message('inference.ServerLiveResponse', `
live 1 bool`);

export type ServerReadyRequest = object;
export const ServerReadyRequest: MessageType<ServerReadyRequest> = /*@__PURE__*/ message('inference.ServerReadyRequest', '');

export interface ServerReadyResponse {
  readonly ready: boolean;
}
export const ServerReadyResponse: MessageType<ServerReadyResponse> = /*@__PURE__*/ message('inference.ServerReadyResponse', `
ready 1 bool`);

export interface ModelReadyRequest {
  readonly name: string;
  readonly version: string;
}
export const ModelReadyRequest: MessageType<ModelReadyRequest> = /*@__PURE__*/ message('inference.ModelReadyRequest', `
name 1 string
version 2 string`);

export interface ModelReadyResponse {
  readonly ready: boolean;
}
export const ModelReadyResponse: MessageType<ModelReadyResponse> = /*@__PURE__*/ message('inference.ModelReadyResponse', `
ready 1 bool`);

export type ServerMetadataRequest = object;
export const ServerMetadataRequest: MessageType<ServerMetadataRequest> = /*@__PURE__*/ message('inference.ServerMetadataRequest', '');

export interface ServerMetadataResponse {
  readonly name: string;
  readonly version: string;
  readonly extensions: readonly string[];
}
export const ServerMetadataResponse: MessageType<ServerMetadataResponse> = /*@__PURE__*/ message('inference.ServerMetadataResponse', `
name 1 string
version 2 string
extensions 3 * string`);

export interface ModelMetadataRequest {
  readonly name: string;
  readonly version: string;
}
export const ModelMetadataRequest: MessageType<ModelMetadataRequest> = /*@__PURE__*/ message('inference.ModelMetadataRequest', `
name 1 string
version 2 string`);

export interface ModelMetadataResponse_TensorMetadata {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly bigint[];
}
export const ModelMetadataResponse_TensorMetadata: MessageType<ModelMetadataResponse_TensorMetadata> = /*@__PURE__*/ message('inference.ModelMetadataResponse.TensorMetadata', `
name 1 string
datatype 2 string
shape 3 * int64`);

export interface ModelMetadataResponse {
  readonly name: string;
  readonly versions: readonly string[];
  readonly platform: string;
  readonly inputs: readonly ModelMetadataResponse_TensorMetadata[];
  readonly outputs: readonly ModelMetadataResponse_TensorMetadata[];
}
export const ModelMetadataResponse: MessageType<ModelMetadataResponse> = /*@__PURE__*/ message('inference.ModelMetadataResponse', `
name 1 string
versions 2 * string
platform 3 string
inputs 4 * 0
outputs 5 * 0`, () => [ModelMetadataResponse_TensorMetadata]);

export interface InferParameter {
  readonly parameterChoice:
    | { readonly case: 'boolParam'; readonly value: boolean }
    | { readonly case: 'int64Param'; readonly value: bigint }
    | { readonly case: 'stringParam'; readonly value: string }
    | { readonly case: 'doubleParam'; readonly value: number }
    | { readonly case: 'uint64Param'; readonly value: bigint }
    | { readonly case: undefined; readonly value?: undefined };
}
export const InferParameter: MessageType<InferParameter> = /*@__PURE__*/ message('inference.InferParameter', `
oneof parameter_choice
 bool_param 1 bool
 int64_param 2 int64
 string_param 3 string
 double_param 4 double
 uint64_param 5 uint64`);

export interface InferTensorContents {
  readonly boolContents: readonly boolean[];
  readonly intContents: readonly number[];
  readonly int64Contents: readonly bigint[];
  readonly uintContents: readonly number[];
  readonly uint64Contents: readonly bigint[];
  readonly fp32Contents: readonly number[];
  readonly fp64Contents: readonly number[];
  readonly bytesContents: readonly Uint8Array[];
}
export const InferTensorContents: MessageType<InferTensorContents> = /*@__PURE__*/ message('inference.InferTensorContents', `
bool_contents 1 * bool
int_contents 2 * int32
int64_contents 3 * int64
uint_contents 4 * uint32
uint64_contents 5 * uint64
fp32_contents 6 * float
fp64_contents 7 * double
bytes_contents 8 * bytes`);

export interface ModelInferRequest_InferInputTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly bigint[];
  readonly parameters: Readonly<Record<string, InferParameter>>;
  readonly contents: InferTensorContents | undefined;
}
export const ModelInferRequest_InferInputTensor: MessageType<ModelInferRequest_InferInputTensor> = /*@__PURE__*/ message('inference.ModelInferRequest.InferInputTensor', `
name 1 string
datatype 2 string
shape 3 * int64
parameters 4 map:string 0
contents 5 1`, () => [InferParameter, InferTensorContents]);

export interface ModelInferRequest_InferRequestedOutputTensor {
  readonly name: string;
  readonly parameters: Readonly<Record<string, InferParameter>>;
}
export const ModelInferRequest_InferRequestedOutputTensor: MessageType<ModelInferRequest_InferRequestedOutputTensor> = /*@__PURE__*/ message('inference.ModelInferRequest.InferRequestedOutputTensor', `
name 1 string
parameters 2 map:string 0`, () => [InferParameter]);

export interface ModelInferRequest {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Readonly<Record<string, InferParameter>>;
  readonly inputs: readonly ModelInferRequest_InferInputTensor[];
  readonly outputs: readonly ModelInferRequest_InferRequestedOutputTensor[];
  readonly rawInputContents: readonly Uint8Array[];
}
export const ModelInferRequest: MessageType<ModelInferRequest> = /*@__PURE__*/ message('inference.ModelInferRequest', `
model_name 1 string
model_version 2 string
id 3 string
parameters 4 map:string 0
inputs 5 * 1
outputs 6 * 2
raw_input_contents 7 * bytes`, () => [InferParameter, ModelInferRequest_InferInputTensor, ModelInferRequest_InferRequestedOutputTensor]);

export interface ModelInferResponse_InferOutputTensor {
  readonly name: string;
  readonly datatype: string;
  readonly shape: readonly bigint[];
  readonly parameters: Readonly<Record<string, InferParameter>>;
  readonly contents: InferTensorContents | undefined;
}
export const ModelInferResponse_InferOutputTensor: MessageType<ModelInferResponse_InferOutputTensor> = /*@__PURE__*/ message('inference.ModelInferResponse.InferOutputTensor', `
name 1 string
datatype 2 string
shape 3 * int64
parameters 4 map:string 0
contents 5 1`, () => [InferParameter, InferTensorContents]);

export interface ModelInferResponse {
  readonly modelName: string;
  readonly modelVersion: string;
  readonly id: string;
  readonly parameters: Readonly<Record<string, InferParameter>>;
  readonly outputs: readonly ModelInferResponse_InferOutputTensor[];
  readonly rawOutputContents: readonly Uint8Array[];
}
export const ModelInferResponse: MessageType<ModelInferResponse> = /*@__PURE__*/ message('inference.ModelInferResponse', `
model_name 1 string
model_version 2 string
id 3 string
parameters 4 map:string 0
outputs 5 * 1
raw_output_contents 6 * bytes`, () => [InferParameter, ModelInferResponse_InferOutputTensor]);

export interface ModelStreamInferResponse {
  readonly errorMessage: string;
  readonly inferResponse: ModelInferResponse | undefined;
}
export const ModelStreamInferResponse: MessageType<ModelStreamInferResponse> = /*@__PURE__*/ message('inference.ModelStreamInferResponse', `
error_message 1 string
infer_response 2 0`, () => [ModelInferResponse]);

export interface ModelConfigRequest {
  readonly name: string;
  readonly version: string;
}
export const ModelConfigRequest: MessageType<ModelConfigRequest> = /*@__PURE__*/ message('inference.ModelConfigRequest', `
name 1 string
version 2 string`);

export interface ModelConfigResponse {
  readonly config: ModelConfig | undefined;
}
export const ModelConfigResponse: MessageType<ModelConfigResponse> = /*@__PURE__*/ message('inference.ModelConfigResponse', `
config 1 0`, () => [ModelConfig]);

export interface ModelStatisticsRequest {
  readonly name: string;
  readonly version: string;
}
export const ModelStatisticsRequest: MessageType<ModelStatisticsRequest> = /*@__PURE__*/ message('inference.ModelStatisticsRequest', `
name 1 string
version 2 string`);

export interface StatisticDuration {
  readonly count: bigint;
  readonly ns: bigint;
}
export const StatisticDuration: MessageType<StatisticDuration> = /*@__PURE__*/ message('inference.StatisticDuration', `
count 1 uint64
ns 2 uint64`);

export interface InferStatistics {
  readonly success: StatisticDuration | undefined;
  readonly fail: StatisticDuration | undefined;
  readonly queue: StatisticDuration | undefined;
  readonly computeInput: StatisticDuration | undefined;
  readonly computeInfer: StatisticDuration | undefined;
  readonly computeOutput: StatisticDuration | undefined;
  readonly cacheHit: StatisticDuration | undefined;
  readonly cacheMiss: StatisticDuration | undefined;
}
export const InferStatistics: MessageType<InferStatistics> = /*@__PURE__*/ message('inference.InferStatistics', `
success 1 0
fail 2 0
queue 3 0
compute_input 4 0
compute_infer 5 0
compute_output 6 0
cache_hit 7 0
cache_miss 8 0`, () => [StatisticDuration]);

export interface InferResponseStatistics {
  readonly computeInfer: StatisticDuration | undefined;
  readonly computeOutput: StatisticDuration | undefined;
  readonly success: StatisticDuration | undefined;
  readonly fail: StatisticDuration | undefined;
  readonly emptyResponse: StatisticDuration | undefined;
  readonly cancel: StatisticDuration | undefined;
}
export const InferResponseStatistics: MessageType<InferResponseStatistics> = /*@__PURE__*/ message('inference.InferResponseStatistics', `
compute_infer 1 0
compute_output 2 0
success 3 0
fail 4 0
empty_response 5 0
cancel 6 0`, () => [StatisticDuration]);

export interface InferBatchStatistics {
  readonly batchSize: bigint;
  readonly computeInput: StatisticDuration | undefined;
  readonly computeInfer: StatisticDuration | undefined;
  readonly computeOutput: StatisticDuration | undefined;
}
export const InferBatchStatistics: MessageType<InferBatchStatistics> = /*@__PURE__*/ message('inference.InferBatchStatistics', `
batch_size 1 uint64
compute_input 2 0
compute_infer 3 0
compute_output 4 0`, () => [StatisticDuration]);

export interface MemoryUsage {
  readonly type: string;
  readonly id: bigint;
  readonly byteSize: bigint;
}
export const MemoryUsage: MessageType<MemoryUsage> = /*@__PURE__*/ message('inference.MemoryUsage', `
type 1 string
id 2 int64
byte_size 3 uint64`);

export interface ModelStatistics {
  readonly name: string;
  readonly version: string;
  readonly lastInference: bigint;
  readonly inferenceCount: bigint;
  readonly executionCount: bigint;
  readonly inferenceStats: InferStatistics | undefined;
  readonly batchStats: readonly InferBatchStatistics[];
  readonly memoryUsage: readonly MemoryUsage[];
  readonly responseStats: Readonly<Record<string, InferResponseStatistics>>;
}
export const ModelStatistics: MessageType<ModelStatistics> = /*@__PURE__*/ message('inference.ModelStatistics', `
name 1 string
version 2 string
last_inference 3 uint64
inference_count 4 uint64
execution_count 5 uint64
inference_stats 6 0
batch_stats 7 * 1
memory_usage 8 * 2
response_stats 9 map:string 3`, () => [InferStatistics, InferBatchStatistics, MemoryUsage, InferResponseStatistics]);

export interface ModelStatisticsResponse {
  readonly modelStats: readonly ModelStatistics[];
}
export const ModelStatisticsResponse: MessageType<ModelStatisticsResponse> = /*@__PURE__*/ message('inference.ModelStatisticsResponse', `
model_stats 1 * 0`, () => [ModelStatistics]);

export interface ModelRepositoryParameter {
  readonly parameterChoice:
    | { readonly case: 'boolParam'; readonly value: boolean }
    | { readonly case: 'int64Param'; readonly value: bigint }
    | { readonly case: 'stringParam'; readonly value: string }
    | { readonly case: 'bytesParam'; readonly value: Uint8Array }
    | { readonly case: undefined; readonly value?: undefined };
}
export const ModelRepositoryParameter: MessageType<ModelRepositoryParameter> = /*@__PURE__*/ message('inference.ModelRepositoryParameter', `
oneof parameter_choice
 bool_param 1 bool
 int64_param 2 int64
 string_param 3 string
 bytes_param 4 bytes`);

export interface RepositoryIndexRequest {
  readonly repositoryName: string;
  readonly ready: boolean;
}
export const RepositoryIndexRequest: MessageType<RepositoryIndexRequest> = /*@__PURE__*/ message('inference.RepositoryIndexRequest', `
repository_name 1 string
ready 2 bool`);

export interface RepositoryIndexResponse_ModelIndex {
  readonly name: string;
  readonly version: string;
  readonly state: string;
  readonly reason: string;
}
export const RepositoryIndexResponse_ModelIndex: MessageType<RepositoryIndexResponse_ModelIndex> = /*@__PURE__*/ message('inference.RepositoryIndexResponse.ModelIndex', `
name 1 string
version 2 string
state 3 string
reason 4 string`);

export interface RepositoryIndexResponse {
  readonly models: readonly RepositoryIndexResponse_ModelIndex[];
}
export const RepositoryIndexResponse: MessageType<RepositoryIndexResponse> = /*@__PURE__*/ message('inference.RepositoryIndexResponse', `
models 1 * 0`, () => [RepositoryIndexResponse_ModelIndex]);

export interface RepositoryModelLoadRequest {
  readonly repositoryName: string;
  readonly modelName: string;
  readonly parameters: Readonly<Record<string, ModelRepositoryParameter>>;
}
export const RepositoryModelLoadRequest: MessageType<RepositoryModelLoadRequest> = /*@__PURE__*/ message('inference.RepositoryModelLoadRequest', `
repository_name 1 string
model_name 2 string
parameters 3 map:string 0`, () => [ModelRepositoryParameter]);

export type RepositoryModelLoadResponse = object;
export const RepositoryModelLoadResponse: MessageType<RepositoryModelLoadResponse> = /*@__PURE__*/ message('inference.RepositoryModelLoadResponse', '');

export interface RepositoryModelUnloadRequest {
  readonly repositoryName: string;
  readonly modelName: string;
  readonly parameters: Readonly<Record<string, ModelRepositoryParameter>>;
}
export const RepositoryModelUnloadRequest: MessageType<RepositoryModelUnloadRequest> = /*@__PURE__*/ message('inference.RepositoryModelUnloadRequest', `
repository_name 1 string
model_name 2 string
parameters 3 map:string 0`, () => [ModelRepositoryParameter]);

export type RepositoryModelUnloadResponse = object;
export const RepositoryModelUnloadResponse: MessageType<RepositoryModelUnloadResponse> = /*@__PURE__*/ message('inference.RepositoryModelUnloadResponse', '');

export interface SystemSharedMemoryStatusRequest {
  readonly name: string;
}
export const SystemSharedMemoryStatusRequest: MessageType<SystemSharedMemoryStatusRequest> = /*@__PURE__*/ message('inference.SystemSharedMemoryStatusRequest', `
name 1 string`);

export interface SystemSharedMemoryStatusResponse_RegionStatus {
  readonly name: string;
  readonly key: string;
  readonly offset: bigint;
  readonly byteSize: bigint;
}
export const SystemSharedMemoryStatusResponse_RegionStatus: MessageType<SystemSharedMemoryStatusResponse_RegionStatus> = /*@__PURE__*/ message('inference.SystemSharedMemoryStatusResponse.RegionStatus', `
name 1 string
key 2 string
offset 3 uint64
byte_size 4 uint64`);

export interface SystemSharedMemoryStatusResponse {
  readonly regions: Readonly<Record<string, SystemSharedMemoryStatusResponse_RegionStatus>>;
}
export const SystemSharedMemoryStatusResponse: MessageType<SystemSharedMemoryStatusResponse> = /*@__PURE__*/ message('inference.SystemSharedMemoryStatusResponse', `
regions 1 map:string 0`, () => [SystemSharedMemoryStatusResponse_RegionStatus]);

export interface SystemSharedMemoryRegisterRequest {
  readonly name: string;
  readonly key: string;
  readonly offset: bigint;
  readonly byteSize: bigint;
}
export const SystemSharedMemoryRegisterRequest: MessageType<SystemSharedMemoryRegisterRequest> = /*@__PURE__*/ message('inference.SystemSharedMemoryRegisterRequest', `
name 1 string
key 2 string
offset 3 uint64
byte_size 4 uint64`);

export type SystemSharedMemoryRegisterResponse = object;
export const SystemSharedMemoryRegisterResponse: MessageType<SystemSharedMemoryRegisterResponse> = /*@__PURE__*/ message('inference.SystemSharedMemoryRegisterResponse', '');

export interface SystemSharedMemoryUnregisterRequest {
  readonly name: string;
}
export const SystemSharedMemoryUnregisterRequest: MessageType<SystemSharedMemoryUnregisterRequest> = /*@__PURE__*/ message('inference.SystemSharedMemoryUnregisterRequest', `
name 1 string`);

export type SystemSharedMemoryUnregisterResponse = object;
export const SystemSharedMemoryUnregisterResponse: MessageType<SystemSharedMemoryUnregisterResponse> = /*@__PURE__*/ message('inference.SystemSharedMemoryUnregisterResponse', '');

export interface CudaSharedMemoryStatusRequest {
  readonly name: string;
}
export const CudaSharedMemoryStatusRequest: MessageType<CudaSharedMemoryStatusRequest> = /*@__PURE__*/ message('inference.CudaSharedMemoryStatusRequest', `
name 1 string`);

export interface CudaSharedMemoryStatusResponse_RegionStatus {
  readonly name: string;
  readonly deviceId: bigint;
  readonly byteSize: bigint;
}
export const CudaSharedMemoryStatusResponse_RegionStatus: MessageType<CudaSharedMemoryStatusResponse_RegionStatus> = /*@__PURE__*/ message('inference.CudaSharedMemoryStatusResponse.RegionStatus', `
name 1 string
device_id 2 uint64
byte_size 3 uint64`);

export interface CudaSharedMemoryStatusResponse {
  readonly regions: Readonly<Record<string, CudaSharedMemoryStatusResponse_RegionStatus>>;
}
export const CudaSharedMemoryStatusResponse: MessageType<CudaSharedMemoryStatusResponse> = /*@__PURE__*/ message('inference.CudaSharedMemoryStatusResponse', `
regions 1 map:string 0`, () => [CudaSharedMemoryStatusResponse_RegionStatus]);

export interface CudaSharedMemoryRegisterRequest {
  readonly name: string;
  readonly rawHandle: Uint8Array;
  readonly deviceId: bigint;
  readonly byteSize: bigint;
}
export const CudaSharedMemoryRegisterRequest: MessageType<CudaSharedMemoryRegisterRequest> = /*@__PURE__*/ message('inference.CudaSharedMemoryRegisterRequest', `
name 1 string
raw_handle 2 bytes
device_id 3 int64
byte_size 4 uint64`);

export type CudaSharedMemoryRegisterResponse = object;
export const CudaSharedMemoryRegisterResponse: MessageType<CudaSharedMemoryRegisterResponse> = /*@__PURE__*/ message('inference.CudaSharedMemoryRegisterResponse', '');

export interface CudaSharedMemoryUnregisterRequest {
  readonly name: string;
}
export const CudaSharedMemoryUnregisterRequest: MessageType<CudaSharedMemoryUnregisterRequest> = /*@__PURE__*/ message('inference.CudaSharedMemoryUnregisterRequest', `
name 1 string`);

export type CudaSharedMemoryUnregisterResponse = object;
export const CudaSharedMemoryUnregisterResponse: MessageType<CudaSharedMemoryUnregisterResponse> = /*@__PURE__*/ message('inference.CudaSharedMemoryUnregisterResponse', '');

export interface TraceSettingRequest_SettingValue {
  readonly value: readonly string[];
}
export const TraceSettingRequest_SettingValue: MessageType<TraceSettingRequest_SettingValue> = /*@__PURE__*/ message('inference.TraceSettingRequest.SettingValue', `
value 1 * string`);

export interface TraceSettingRequest {
  readonly settings: Readonly<Record<string, TraceSettingRequest_SettingValue>>;
  readonly modelName: string;
}
export const TraceSettingRequest: MessageType<TraceSettingRequest> = /*@__PURE__*/ message('inference.TraceSettingRequest', `
settings 1 map:string 0
model_name 2 string`, () => [TraceSettingRequest_SettingValue]);

export interface TraceSettingResponse_SettingValue {
  readonly value: readonly string[];
}
export const TraceSettingResponse_SettingValue: MessageType<TraceSettingResponse_SettingValue> = /*@__PURE__*/ message('inference.TraceSettingResponse.SettingValue', `
value 1 * string`);

export interface TraceSettingResponse {
  readonly settings: Readonly<Record<string, TraceSettingResponse_SettingValue>>;
}
export const TraceSettingResponse: MessageType<TraceSettingResponse> = /*@__PURE__*/ message('inference.TraceSettingResponse', `
settings 1 map:string 0`, () => [TraceSettingResponse_SettingValue]);

export interface LogSettingsRequest_SettingValue {
  readonly parameterChoice:
    | { readonly case: 'boolParam'; readonly value: boolean }
    | { readonly case: 'uint32Param'; readonly value: number }
    | { readonly case: 'stringParam'; readonly value: string }
    | { readonly case: undefined; readonly value?: undefined };
}
export const LogSettingsRequest_SettingValue: MessageType<LogSettingsRequest_SettingValue> = /*@__PURE__*/ message('inference.LogSettingsRequest.SettingValue', `
oneof parameter_choice
 bool_param 1 bool
 uint32_param 2 uint32
 string_param 3 string`);

export interface LogSettingsRequest {
  readonly settings: Readonly<Record<string, LogSettingsRequest_SettingValue>>;
}
export const LogSettingsRequest: MessageType<LogSettingsRequest> = /*@__PURE__*/ message('inference.LogSettingsRequest', `
settings 1 map:string 0`, () => [LogSettingsRequest_SettingValue]);

export interface LogSettingsResponse_SettingValue {
  readonly parameterChoice:
    | { readonly case: 'boolParam'; readonly value: boolean }
    | { readonly case: 'uint32Param'; readonly value: number }
    | { readonly case: 'stringParam'; readonly value: string }
    | { readonly case: undefined; readonly value?: undefined };
}
export const LogSettingsResponse_SettingValue: MessageType<LogSettingsResponse_SettingValue> = /*@__PURE__*/ message('inference.LogSettingsResponse.SettingValue', `
oneof parameter_choice
 bool_param 1 bool
 uint32_param 2 uint32
 string_param 3 string`);

export interface LogSettingsResponse {
  readonly settings: Readonly<Record<string, LogSettingsResponse_SettingValue>>;
}
export const LogSettingsResponse: MessageType<LogSettingsResponse> = /*@__PURE__*/ message('inference.LogSettingsResponse', `
settings 1 map:string 0`, () => [LogSettingsResponse_SettingValue]);

/** What each method of inference.GRPCInferenceService takes and gives. */
export const GRPCInferenceServiceMethods = {
  ServerLive: { input: ServerLiveRequest, output: ServerLiveResponse },
  ServerReady: { input: ServerReadyRequest, output: ServerReadyResponse },
  ModelReady: { input: ModelReadyRequest, output: ModelReadyResponse },
  ServerMetadata: { input: ServerMetadataRequest, output: ServerMetadataResponse },
  ModelMetadata: { input: ModelMetadataRequest, output: ModelMetadataResponse },
  ModelInfer: { input: ModelInferRequest, output: ModelInferResponse },
  ModelStreamInfer: { input: ModelInferRequest, output: ModelStreamInferResponse },
  ModelConfig: { input: ModelConfigRequest, output: ModelConfigResponse },
  ModelStatistics: { input: ModelStatisticsRequest, output: ModelStatisticsResponse },
  RepositoryIndex: { input: RepositoryIndexRequest, output: RepositoryIndexResponse },
  RepositoryModelLoad: { input: RepositoryModelLoadRequest, output: RepositoryModelLoadResponse },
  RepositoryModelUnload: { input: RepositoryModelUnloadRequest, output: RepositoryModelUnloadResponse },
  SystemSharedMemoryStatus: { input: SystemSharedMemoryStatusRequest, output: SystemSharedMemoryStatusResponse },
  SystemSharedMemoryRegister: { input: SystemSharedMemoryRegisterRequest, output: SystemSharedMemoryRegisterResponse },
  SystemSharedMemoryUnregister: { input: SystemSharedMemoryUnregisterRequest, output: SystemSharedMemoryUnregisterResponse },
  CudaSharedMemoryStatus: { input: CudaSharedMemoryStatusRequest, output: CudaSharedMemoryStatusResponse },
  CudaSharedMemoryRegister: { input: CudaSharedMemoryRegisterRequest, output: CudaSharedMemoryRegisterResponse },
  CudaSharedMemoryUnregister: { input: CudaSharedMemoryUnregisterRequest, output: CudaSharedMemoryUnregisterResponse },
  TraceSetting: { input: TraceSettingRequest, output: TraceSettingResponse },
  LogSettings: { input: LogSettingsRequest, output: LogSettingsResponse },
};
