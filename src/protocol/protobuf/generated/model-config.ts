// Written by scripts/generate-messages.js from proto/.

import { enumeration, type Enumeration, message, type MessageType } from '../message-type.js';

export const DataType: Enumeration = /*@__PURE__*/ enumeration('inference.DataType', 'TYPE_INVALID 0, TYPE_BOOL 1, TYPE_UINT8 2, TYPE_UINT16 3, TYPE_UINT32 4, TYPE_UINT64 5, TYPE_INT8 6, TYPE_INT16 7, TYPE_INT32 8, TYPE_INT64 9, TYPE_FP16 10, TYPE_FP32 11, TYPE_FP64 12, TYPE_STRING 13, TYPE_BF16 14');

export const ModelInstanceGroup_Kind: Enumeration = /*@__PURE__*/ enumeration('inference.ModelInstanceGroup.Kind', 'KIND_AUTO 0, KIND_GPU 1, KIND_CPU 2, KIND_MODEL 3');

export const ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind: Enumeration = /*@__PURE__*/ enumeration('inference.ModelInstanceGroup.SecondaryDevice.SecondaryDeviceKind', 'KIND_NVDLA 0');

export const ModelInput_Format: Enumeration = /*@__PURE__*/ enumeration('inference.ModelInput.Format', 'FORMAT_NONE 0, FORMAT_NHWC 1, FORMAT_NCHW 2');

export const BatchInput_Kind: Enumeration = /*@__PURE__*/ enumeration('inference.BatchInput.Kind', 'BATCH_ELEMENT_COUNT 0, BATCH_ACCUMULATED_ELEMENT_COUNT 1, BATCH_ACCUMULATED_ELEMENT_COUNT_WITH_ZERO 2, BATCH_MAX_ELEMENT_COUNT_AS_SHAPE 3, BATCH_ITEM_SHAPE 4, BATCH_ITEM_SHAPE_FLATTEN 5');

export const BatchOutput_Kind: Enumeration = /*@__PURE__*/ enumeration('inference.BatchOutput.Kind', 'BATCH_SCATTER_WITH_INPUT_SHAPE 0');

export const ModelOptimizationPolicy_ModelPriority: Enumeration = /*@__PURE__*/ enumeration('inference.ModelOptimizationPolicy.ModelPriority', 'PRIORITY_DEFAULT 0, PRIORITY_MAX 1, PRIORITY_MIN 2');

export const ModelQueuePolicy_TimeoutAction: Enumeration = /*@__PURE__*/ enumeration('inference.ModelQueuePolicy.TimeoutAction', 'REJECT 0, DELAY 1');

export const ModelSequenceBatching_Control_Kind: Enumeration = /*@__PURE__*/ enumeration('inference.ModelSequenceBatching.Control.Kind', 'CONTROL_SEQUENCE_START 0, CONTROL_SEQUENCE_READY 1, CONTROL_SEQUENCE_END 2, CONTROL_SEQUENCE_CORRID 3');

export const ModelRateLimiter_Resource: MessageType<object> = /*@__PURE__*/ message('inference.ModelRateLimiter.Resource', `
name 1 string
global 2 bool
count 3 uint32`);

export const ModelRateLimiter: MessageType<object> = /*@__PURE__*/ message('inference.ModelRateLimiter', `
resources 1 * 0
priority 2 uint32`, () => [ModelRateLimiter_Resource]);

export const ModelInstanceGroup_SecondaryDevice: MessageType<object> = /*@__PURE__*/ message('inference.ModelInstanceGroup.SecondaryDevice', `
kind 1 0
device_id 2 int64`, () => [ModelInstanceGroup_SecondaryDevice_SecondaryDeviceKind]);

export const ModelInstanceGroup: MessageType<object> = /*@__PURE__*/ message('inference.ModelInstanceGroup', `
name 1 string
kind 4 0
count 2 int32
rate_limiter 6 1
gpus 3 * int32
secondary_devices 8 * 2
profile 5 * string
passive 7 bool
host_policy 9 string`, () => [ModelInstanceGroup_Kind, ModelRateLimiter, ModelInstanceGroup_SecondaryDevice]);

export const ModelTensorReshape: MessageType<object> = /*@__PURE__*/ message('inference.ModelTensorReshape', `
shape 1 * int64`);

export interface ModelInput {
  readonly name: string;
  readonly dataType: number;
  readonly format: number;
  readonly dims: readonly bigint[];
  readonly reshape: object | undefined;
  readonly isShapeTensor: boolean;
  readonly allowRaggedBatch: boolean;
  readonly optional: boolean;
  readonly isNonLinearFormatIo: boolean;
}
export const ModelInput: MessageType<ModelInput> = /*@__PURE__*/ message('inference.ModelInput', `
name 1 string
data_type 2 0
format 3 1
dims 4 * int64
reshape 5 2
is_shape_tensor 6 bool
allow_ragged_batch 7 bool
optional 8 bool
is_non_linear_format_io 9 bool`, () => [DataType, ModelInput_Format, ModelTensorReshape]);

export interface ModelOutput {
  readonly name: string;
  readonly dataType: number;
  readonly dims: readonly bigint[];
  readonly reshape: object | undefined;
  readonly labelFilename: string;
  readonly isShapeTensor: boolean;
  readonly isNonLinearFormatIo: boolean;
}
export const ModelOutput: MessageType<ModelOutput> = /*@__PURE__*/ message('inference.ModelOutput', `
name 1 string
data_type 2 0
dims 3 * int64
reshape 5 1
label_filename 4 string
is_shape_tensor 6 bool
is_non_linear_format_io 7 bool`, () => [DataType, ModelTensorReshape]);

export const BatchInput: MessageType<object> = /*@__PURE__*/ message('inference.BatchInput', `
kind 1 0
target_name 2 * string
data_type 3 1
source_input 4 * string`, () => [BatchInput_Kind, DataType]);

export const BatchOutput: MessageType<object> = /*@__PURE__*/ message('inference.BatchOutput', `
target_name 1 * string
kind 2 0
source_input 3 * string`, () => [BatchOutput_Kind]);

export const ModelVersionPolicy_Latest: MessageType<object> = /*@__PURE__*/ message('inference.ModelVersionPolicy.Latest', `
num_versions 1 uint32`);

export const ModelVersionPolicy_All: MessageType<object> = /*@__PURE__*/ message('inference.ModelVersionPolicy.All', '');

export const ModelVersionPolicy_Specific: MessageType<object> = /*@__PURE__*/ message('inference.ModelVersionPolicy.Specific', `
versions 1 * int64`);

export const ModelVersionPolicy: MessageType<object> = /*@__PURE__*/ message('inference.ModelVersionPolicy', `
oneof policy_choice
 latest 1 0
 all 2 1
 specific 3 2`, () => [ModelVersionPolicy_Latest, ModelVersionPolicy_All, ModelVersionPolicy_Specific]);

export const ModelOptimizationPolicy_Graph: MessageType<object> = /*@__PURE__*/ message('inference.ModelOptimizationPolicy.Graph', `
level 1 int32`);

export const ModelOptimizationPolicy_Cuda_GraphSpec_Shape: MessageType<object> = /*@__PURE__*/ message('inference.ModelOptimizationPolicy.Cuda.GraphSpec.Shape', `
dim 1 * int64`);

export const ModelOptimizationPolicy_Cuda_GraphSpec_LowerBound: MessageType<object> = /*@__PURE__*/ message('inference.ModelOptimizationPolicy.Cuda.GraphSpec.LowerBound', `
batch_size 1 int32
input 2 map:string 0`, () => [ModelOptimizationPolicy_Cuda_GraphSpec_Shape]);

export const ModelOptimizationPolicy_Cuda_GraphSpec: MessageType<object> = /*@__PURE__*/ message('inference.ModelOptimizationPolicy.Cuda.GraphSpec', `
batch_size 1 int32
input 2 map:string 0
graph_lower_bound 3 1`, () => [ModelOptimizationPolicy_Cuda_GraphSpec_Shape, ModelOptimizationPolicy_Cuda_GraphSpec_LowerBound]);

export const ModelOptimizationPolicy_Cuda: MessageType<object> = /*@__PURE__*/ message('inference.ModelOptimizationPolicy.Cuda', `
graphs 1 bool
busy_wait_events 2 bool
graph_spec 3 * 0
output_copy_stream 4 bool`, () => [ModelOptimizationPolicy_Cuda_GraphSpec]);

export const ModelOptimizationPolicy_ExecutionAccelerators_Accelerator: MessageType<object> = /*@__PURE__*/ message('inference.ModelOptimizationPolicy.ExecutionAccelerators.Accelerator', `
name 1 string
parameters 2 map:string string`);

export const ModelOptimizationPolicy_ExecutionAccelerators: MessageType<object> = /*@__PURE__*/ message('inference.ModelOptimizationPolicy.ExecutionAccelerators', `
gpu_execution_accelerator 1 * 0
cpu_execution_accelerator 2 * 0`, () => [ModelOptimizationPolicy_ExecutionAccelerators_Accelerator]);

export const ModelOptimizationPolicy_PinnedMemoryBuffer: MessageType<object> = /*@__PURE__*/ message('inference.ModelOptimizationPolicy.PinnedMemoryBuffer', `
enable 1 bool`);

export const ModelOptimizationPolicy: MessageType<object> = /*@__PURE__*/ message('inference.ModelOptimizationPolicy', `
graph 1 0
priority 2 1
cuda 3 2
execution_accelerators 4 3
input_pinned_memory 5 4
output_pinned_memory 6 4
gather_kernel_buffer_threshold 7 uint32
eager_batching 8 bool`, () => [ModelOptimizationPolicy_Graph, ModelOptimizationPolicy_ModelPriority, ModelOptimizationPolicy_Cuda, ModelOptimizationPolicy_ExecutionAccelerators, ModelOptimizationPolicy_PinnedMemoryBuffer]);

export const ModelQueuePolicy: MessageType<object> = /*@__PURE__*/ message('inference.ModelQueuePolicy', `
timeout_action 1 0
default_timeout_microseconds 2 uint64
allow_timeout_override 3 bool
max_queue_size 4 uint32`, () => [ModelQueuePolicy_TimeoutAction]);

export const ModelDynamicBatching: MessageType<object> = /*@__PURE__*/ message('inference.ModelDynamicBatching', `
preferred_batch_size 1 * int32
max_queue_delay_microseconds 2 uint64
preserve_ordering 3 bool
priority_levels 4 uint64
default_priority_level 5 uint64
default_queue_policy 6 0
priority_queue_policy 7 map:uint64 0`, () => [ModelQueuePolicy]);

export const ModelSequenceBatching_Control: MessageType<object> = /*@__PURE__*/ message('inference.ModelSequenceBatching.Control', `
kind 1 0
int32_false_true 2 * int32
fp32_false_true 3 * float
bool_false_true 5 * bool
data_type 4 1`, () => [ModelSequenceBatching_Control_Kind, DataType]);

export const ModelSequenceBatching_ControlInput: MessageType<object> = /*@__PURE__*/ message('inference.ModelSequenceBatching.ControlInput', `
name 1 string
control 2 * 0`, () => [ModelSequenceBatching_Control]);

export const ModelSequenceBatching_InitialState: MessageType<object> = /*@__PURE__*/ message('inference.ModelSequenceBatching.InitialState', `
data_type 1 0
dims 2 * int64
oneof state_data
 zero_data 3 bool
 data_file 4 string
name 5 string`, () => [DataType]);

export const ModelSequenceBatching_State: MessageType<object> = /*@__PURE__*/ message('inference.ModelSequenceBatching.State', `
input_name 1 string
output_name 2 string
data_type 3 0
dims 4 * int64
initial_state 5 * 1
use_same_buffer_for_input_output 6 bool
use_growable_memory 7 bool`, () => [DataType, ModelSequenceBatching_InitialState]);

export const ModelSequenceBatching_StrategyDirect: MessageType<object> = /*@__PURE__*/ message('inference.ModelSequenceBatching.StrategyDirect', `
max_queue_delay_microseconds 1 uint64
minimum_slot_utilization 2 float`);

export const ModelSequenceBatching_StrategyOldest: MessageType<object> = /*@__PURE__*/ message('inference.ModelSequenceBatching.StrategyOldest', `
max_candidate_sequences 1 int32
preferred_batch_size 2 * int32
max_queue_delay_microseconds 3 uint64
preserve_ordering 4 bool`);

export const ModelSequenceBatching: MessageType<object> = /*@__PURE__*/ message('inference.ModelSequenceBatching', `
oneof strategy_choice
 direct 3 0
 oldest 4 1
max_sequence_idle_microseconds 1 uint64
control_input 2 * 2
state 5 * 3
iterative_sequence 6 bool`, () => [ModelSequenceBatching_StrategyDirect, ModelSequenceBatching_StrategyOldest, ModelSequenceBatching_ControlInput, ModelSequenceBatching_State]);

export const ModelEnsembling_Step: MessageType<object> = /*@__PURE__*/ message('inference.ModelEnsembling.Step', `
model_name 1 string
model_version 2 int64
input_map 3 map:string string
output_map 4 map:string string
model_namespace 5 string`);

export const ModelEnsembling: MessageType<object> = /*@__PURE__*/ message('inference.ModelEnsembling', `
step 1 * 0
max_inflight_requests 2 uint32`, () => [ModelEnsembling_Step]);

export const ModelParameter: MessageType<object> = /*@__PURE__*/ message('inference.ModelParameter', `
string_value 1 string`);

export const ModelWarmup_Input: MessageType<object> = /*@__PURE__*/ message('inference.ModelWarmup.Input', `
data_type 1 0
dims 2 * int64
oneof input_data_type
 zero_data 3 bool
 random_data 4 bool
 input_data_file 5 string`, () => [DataType]);

export const ModelWarmup: MessageType<object> = /*@__PURE__*/ message('inference.ModelWarmup', `
name 1 string
batch_size 2 uint32
inputs 3 map:string 0
count 4 uint32`, () => [ModelWarmup_Input]);

export const ModelOperations: MessageType<object> = /*@__PURE__*/ message('inference.ModelOperations', `
op_library_filename 1 * string`);

export interface ModelTransactionPolicy {
  readonly decoupled: boolean;
}
export const ModelTransactionPolicy: MessageType<ModelTransactionPolicy> = /*@__PURE__*/ message('inference.ModelTransactionPolicy', `
decoupled 1 bool`);

export const ModelRepositoryAgents_Agent: MessageType<object> = /*@__PURE__*/ message('inference.ModelRepositoryAgents.Agent', `
name 1 string
parameters 2 map:string string`);

export const ModelRepositoryAgents: MessageType<object> = /*@__PURE__*/ message('inference.ModelRepositoryAgents', `
agents 1 * 0`, () => [ModelRepositoryAgents_Agent]);

export const ModelResponseCache: MessageType<object> = /*@__PURE__*/ message('inference.ModelResponseCache', `
enable 1 bool`);

export const ModelMetrics_MetricControl_MetricIdentifier: MessageType<object> = /*@__PURE__*/ message('inference.ModelMetrics.MetricControl.MetricIdentifier', `
family 1 string`);

export const ModelMetrics_MetricControl_HistogramOptions: MessageType<object> = /*@__PURE__*/ message('inference.ModelMetrics.MetricControl.HistogramOptions', `
buckets 1 * double`);

export const ModelMetrics_MetricControl: MessageType<object> = /*@__PURE__*/ message('inference.ModelMetrics.MetricControl', `
metric_identifier 1 0
oneof metric_options
 histogram_options 2 1`, () => [ModelMetrics_MetricControl_MetricIdentifier, ModelMetrics_MetricControl_HistogramOptions]);

export const ModelMetrics: MessageType<object> = /*@__PURE__*/ message('inference.ModelMetrics', `
metric_control 1 * 0`, () => [ModelMetrics_MetricControl]);

export interface ModelConfig {
  readonly name: string;
  readonly platform: string;
  readonly backend: string;
  readonly runtime: string;
  readonly versionPolicy: object | undefined;
  readonly maxBatchSize: number;
  readonly input: readonly ModelInput[];
  readonly output: readonly ModelOutput[];
  readonly batchInput: readonly object[];
  readonly batchOutput: readonly object[];
  readonly optimization: object | undefined;
  readonly schedulingChoice:
    | { readonly case: 'dynamicBatching'; readonly value: object }
    | { readonly case: 'sequenceBatching'; readonly value: object }
    | { readonly case: 'ensembleScheduling'; readonly value: object }
    | { readonly case: undefined; readonly value?: undefined };
  readonly instanceGroup: readonly object[];
  readonly defaultModelFilename: string;
  readonly ccModelFilenames: Readonly<Record<string, string>>;
  readonly metricTags: Readonly<Record<string, string>>;
  readonly parameters: Readonly<Record<string, object>>;
  readonly modelWarmup: readonly object[];
  readonly modelOperations: object | undefined;
  readonly modelTransactionPolicy: ModelTransactionPolicy | undefined;
  readonly modelRepositoryAgents: object | undefined;
  readonly responseCache: object | undefined;
  readonly modelMetrics: object | undefined;
}
export const ModelConfig: MessageType<ModelConfig> = /*@__PURE__*/ message('inference.ModelConfig', `
name 1 string
platform 2 string
backend 17 string
runtime 25 string
version_policy 3 0
max_batch_size 4 int32
input 5 * 1
output 6 * 2
batch_input 20 * 3
batch_output 21 * 4
optimization 12 5
oneof scheduling_choice
 dynamic_batching 11 6
 sequence_batching 13 7
 ensemble_scheduling 15 8
instance_group 7 * 9
default_model_filename 8 string
cc_model_filenames 9 map:string string
metric_tags 10 map:string string
parameters 14 map:string 10
model_warmup 16 * 11
model_operations 18 12
model_transaction_policy 19 13
model_repository_agents 23 14
response_cache 24 15
model_metrics 26 16`, () => [ModelVersionPolicy, ModelInput, ModelOutput, BatchInput, BatchOutput, ModelOptimizationPolicy, ModelDynamicBatching, ModelSequenceBatching, ModelEnsembling, ModelInstanceGroup, ModelParameter, ModelWarmup, ModelOperations, ModelTransactionPolicy, ModelRepositoryAgents, ModelResponseCache, ModelMetrics]);
