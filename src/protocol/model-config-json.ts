// Makes the JSON of GET …/config from a model's configuration: the ModelConfig message in proto's field names and
// declaration order, defaults included, as Triton prints it (core/src/model_config_utils.cc, ModelConfigToJson).

import { EVERY_VERSION, type VersionPolicy } from '../model/version-policy.js';
import type { CompleteDynamicBatcher, CompleteQueuePolicy } from '../model/complete-batcher.js';
import type { CompleteModelConfig, CompleteTensorSpec } from '../model/complete-model-config.js';
import { configTypeOf } from './model-signature.js';
import { sequenceBatchingJson } from './sequence-batching-json.js';

export type JsonObject = Readonly<Record<string, unknown>>;

/** The name that models of TSTriton report as their backend and platform. */
export const BACKEND = 'tstriton';

/** The parameter for `groupByShape`, because Triton's own message of a batcher has no field for it. */
export const GROUP_BY_SHAPE = 'group_by_shape';

/** The parameter that names the endpoint of the OpenAI API. */
export const OPENAI = 'openai';

/** The parameter with the model's own route, `POST /path`. */
export const ROUTE = 'route';

/** Returns plain data. gRPC's ModelConfig message is made from it too. */
export function modelConfigJson(config: CompleteModelConfig): JsonObject {
  const { file } = config;
  const { parameters, ...fromFile } = file?.shown ?? {};
  const shown = (json: JsonObject) => ({ ...json, ...file?.shownTensors[json['name'] as string] });
  return {
    name: config.name,
    platform: file?.platform ?? '',
    backend: file?.backend ?? BACKEND,
    runtime: '',
    version_policy: versionPolicyJson(config.versionPolicy ?? EVERY_VERSION),
    max_batch_size: config.maxBatchSize,
    input: config.inputs.map((input) => shown(inputJson(input))),
    output: config.outputs.map((output) => shown(outputJson(output))),
    batch_input: [],
    batch_output: [],
    optimization: {
      priority: 'PRIORITY_DEFAULT',
      input_pinned_memory: { enable: true },
      output_pinned_memory: { enable: true },
      gather_kernel_buffer_threshold: 0,
      eager_batching: false,
    },
    ...(config.dynamicBatching === undefined ? {} : { dynamic_batching: dynamicBatchingJson(config.dynamicBatching) }),
    ...(config.sequenceBatching && {
      sequence_batching: sequenceBatchingJson(config.sequenceBatching, (name) => file?.shownTensors[name]),
    }),
    instance_group: [
      {
        name: `${config.name}_0`,
        kind: 'KIND_CPU',
        count: config.instanceCount,
        gpus: [],
        secondary_devices: [],
        profile: [],
        passive: false,
        host_policy: '',
      },
    ],
    default_model_filename: '',
    cc_model_filenames: {},
    metric_tags: {},
    parameters: { ...(parameters as JsonObject | undefined), ...groupingJson(config), ...servedAtJson(config) },
    model_warmup: [],
    ...(config.decoupled ? { model_transaction_policy: { decoupled: true } } : {}),
    ...(config.responseCache ? { response_cache: { enable: true } } : {}),
    ...fromFile,
  };
}

function groupingJson({ dynamicBatching }: CompleteModelConfig): JsonObject {
  return dynamicBatching?.groupByShape ? { [GROUP_BY_SHAPE]: { string_value: 'true' } } : {};
}

/** Where the model is served beside the protocol's own paths. */
function servedAtJson({ openai, route }: CompleteModelConfig): JsonObject {
  return {
    ...(openai !== undefined && { [OPENAI]: { string_value: openai } }),
    ...(route !== undefined && { [ROUTE]: { string_value: `POST ${route}` } }),
  };
}

function inputJson({ name, datatype, shape, optional }: CompleteTensorSpec): JsonObject {
  return {
    name,
    data_type: configTypeOf(datatype),
    format: 'FORMAT_NONE',
    dims: shape,
    is_shape_tensor: false,
    allow_ragged_batch: false,
    optional,
    is_non_linear_format_io: false,
  };
}

function outputJson({ name, datatype, shape }: CompleteTensorSpec): JsonObject {
  return {
    name,
    data_type: configTypeOf(datatype),
    dims: shape,
    label_filename: '',
    is_shape_tensor: false,
    is_non_linear_format_io: false,
  };
}

function dynamicBatchingJson(batcher: CompleteDynamicBatcher): JsonObject {
  return {
    preferred_batch_size: batcher.preferredBatchSize,
    max_queue_delay_microseconds: batcher.maxQueueDelayMicroseconds,
    preserve_ordering: batcher.preserveOrdering,
    priority_levels: batcher.priorityLevels,
    default_priority_level: batcher.defaultPriorityLevel,
    ...(batcher.defaultQueuePolicy === undefined
      ? {}
      : { default_queue_policy: queuePolicyJson(batcher.defaultQueuePolicy) }),
    priority_queue_policy: Object.fromEntries(
      Object.entries(batcher.priorityQueuePolicy).map(([level, policy]) => [level, queuePolicyJson(policy)]),
    ),
  };
}

function queuePolicyJson(policy: CompleteQueuePolicy): JsonObject {
  return {
    timeout_action: policy.timeoutAction,
    default_timeout_microseconds: policy.defaultTimeoutMicroseconds,
    allow_timeout_override: policy.allowTimeoutOverride,
    max_queue_size: policy.maxQueueSize,
  };
}

function versionPolicyJson(policy: VersionPolicy) {
  if ('latest' in policy) return { latest: { num_versions: policy.latest.numVersions } };
  if ('specific' in policy) return { specific: { versions: policy.specific.versions } };
  return { all: {} };
}
