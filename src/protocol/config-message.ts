// Reads a ModelConfig message from a client's JSON or from the text of a file, into protobuf's JSON with all defaults. It also
// turns parts of the message into a model's options.

import { invalidArg } from '../errors.js';
import type { DynamicBatcher, QueuePolicy, TimeoutAction } from '../model/model-config.js';
import type { ModelWarmup, WarmupInput } from '../model/model-warmup.js';
import { EVERY_VERSION, type VersionPolicy } from '../model/version-policy.js';
import { datatypeOfConfig } from './model-signature.js';
import { ModelConfig } from './protobuf/generated/model-config.js';
import { type JsonObject, type JsonValue, messageFromJson, messageToJson } from './protobuf/message-json.js';
import { emptyMessage } from './protobuf/values.js';
import type { SequenceBatchingJson } from './sequence-batching-json.js';
import { readTextFormat } from './text-format/read-text-format.js';

/** A ModelConfig message in protobuf's JSON, defaults included. Numbers of 64 bits are texts. */
export interface ConfigJson {
  readonly name: string;
  readonly platform: string;
  readonly backend: string;
  readonly max_batch_size: number;
  readonly input: readonly TensorJson[];
  readonly output: readonly TensorJson[];
  readonly instance_group: readonly InstanceGroupJson[];
  readonly optimization?: OptimizationJson;
  readonly default_model_filename: string;
  readonly parameters: Readonly<Record<string, { readonly string_value: string }>>;
  readonly model_warmup: readonly WarmupJson[];
  readonly version_policy?: {
    readonly all?: object;
    readonly latest?: { readonly num_versions: number };
    readonly specific?: { readonly versions: readonly string[] };
  };
  readonly dynamic_batching?: BatcherJson;
  readonly sequence_batching?: SequenceBatchingJson;
  readonly model_transaction_policy?: { readonly decoupled: boolean };
  readonly response_cache?: { readonly enable: boolean };
}

/** An input or output; some members belong to only one of them. */
export interface TensorJson {
  readonly name: string;
  readonly data_type: string;
  readonly dims: readonly string[];
  readonly reshape?: { readonly shape: readonly string[] };
  readonly format?: string;
  readonly optional?: boolean;
  readonly label_filename?: string;
  readonly is_shape_tensor: boolean;
  readonly allow_ragged_batch?: boolean;
  readonly is_non_linear_format_io: boolean;
}

export interface InstanceGroupJson {
  readonly name: string;
  readonly kind: string;
  readonly count: number;
  readonly gpus: readonly number[];
  readonly secondary_devices: readonly unknown[];
  readonly profile: readonly string[];
  readonly passive: boolean;
  readonly host_policy: string;
  readonly rate_limiter?: unknown;
}

interface OptimizationJson {
  readonly graph?: { readonly level: number };
  readonly priority: string;
  readonly cuda?: unknown;
  readonly execution_accelerators?: unknown;
  readonly eager_batching: boolean;
}

interface BatcherJson {
  readonly preferred_batch_size: readonly number[];
  readonly max_queue_delay_microseconds: string;
  readonly preserve_ordering: boolean;
  readonly priority_levels: string;
  readonly default_priority_level: string;
  readonly default_queue_policy?: QueuePolicyJson;
  readonly priority_queue_policy: Readonly<Record<string, QueuePolicyJson>>;
}

interface QueuePolicyJson {
  readonly timeout_action: TimeoutAction;
  readonly default_timeout_microseconds: string;
  readonly allow_timeout_override: boolean;
  readonly max_queue_size: number;
}

interface WarmupJson {
  readonly name: string;
  readonly batch_size: number;
  readonly count: number;
  readonly inputs: Readonly<Record<string, WarmupInputJson>>;
}

interface WarmupInputJson {
  readonly data_type: string;
  readonly dims: readonly string[];
  readonly zero_data?: boolean;
  readonly random_data?: boolean;
  readonly input_data_file?: string;
}

/** Throws an error with the reason when the JSON is not a ModelConfig message. */
export function canonical(json: JsonValue): JsonObject {
  return messageToJson(ModelConfig, messageFromJson(ModelConfig, json));
}

/** Throws a TextFormatError when the text is not a ModelConfig message. */
export function readConfigText(text: string): ConfigJson {
  return messageToJson(ModelConfig, readTextFormat(ModelConfig, text)) as unknown as ConfigJson;
}

/** A configuration with defaults only. */
export function emptyConfig(): ConfigJson {
  return messageToJson(ModelConfig, emptyMessage(ModelConfig)) as unknown as ConfigJson;
}

/** A 64-bit number from its text. Throws INVALID_ARG, naming the field, when JavaScript cannot hold it exactly. */
function wide(text: string, field: string): number {
  const value = Number(text);
  if (Number.isSafeInteger(value)) return value;
  const { MAX_SAFE_INTEGER: most, MIN_SAFE_INTEGER: least } = Number;
  throw invalidArg(`${field} must be ${value > 0 ? `at most ${most}` : `at least ${least}`}, got ${text}`);
}

export function batcherOf(json: BatcherJson): DynamicBatcher {
  const { default_queue_policy: policy } = json;
  return {
    preferredBatchSize: json.preferred_batch_size,
    maxQueueDelayMicroseconds: wide(json.max_queue_delay_microseconds, 'dynamic_batching.max_queue_delay_microseconds'),
    preserveOrdering: json.preserve_ordering,
    priorityLevels: wide(json.priority_levels, 'dynamic_batching.priority_levels'),
    defaultPriorityLevel: wide(json.default_priority_level, 'dynamic_batching.default_priority_level'),
    ...(policy && { defaultQueuePolicy: policyOf(policy, 'default_queue_policy') }),
    priorityQueuePolicy: Object.fromEntries(
      Object.entries(json.priority_queue_policy).map(([level, own]) => [
        level,
        policyOf(own, `priority_queue_policy[${level}]`),
      ]),
    ),
  };
}

function policyOf(json: QueuePolicyJson, name: string): QueuePolicy {
  return {
    timeoutAction: json.timeout_action,
    defaultTimeoutMicroseconds: wide(
      json.default_timeout_microseconds,
      `dynamic_batching.${name}.default_timeout_microseconds`,
    ),
    allowTimeoutOverride: json.allow_timeout_override,
    maxQueueSize: json.max_queue_size,
  };
}

/** Finds the file of an input by its name in the message. It may refuse every file. */
export type FindInputFile = (file: string, input: string) => string;

export function warmupOf(
  { name, batch_size: batchSize, count, inputs }: WarmupJson,
  findFile: FindInputFile,
): ModelWarmup {
  return {
    name,
    batchSize: Math.max(1, batchSize),
    count: Math.max(1, count),
    inputs: Object.fromEntries(
      Object.entries(inputs).map(([input, source]) => [input, warmupInputOf(source, input, findFile)]),
    ),
  };
}

function warmupInputOf(json: WarmupInputJson, input: string, findFile: FindInputFile): WarmupInput {
  return {
    dtype: datatypeOfConfig(json.data_type),
    shape: json.dims.map((dim) => wide(dim, `dims of input '${input}' of a model_warmup`)),
    zeroData: json.zero_data ?? false,
    randomData: json.random_data ?? false,
    ...(json.input_data_file === undefined ? {} : { inputDataFile: findFile(json.input_data_file, input) }),
  };
}

/** Undefined where the message has no policy. */
export function versionPolicyOf({ version_policy: policy }: ConfigJson): VersionPolicy | undefined {
  if (policy?.latest !== undefined) return { latest: { numVersions: policy.latest.num_versions } };
  if (policy?.specific !== undefined) return { specific: { versions: versionsOf(policy.specific) } };
  return policy?.all === undefined ? undefined : EVERY_VERSION;
}

function versionsOf({ versions }: { readonly versions: readonly string[] }): readonly number[] {
  return versions.map((version) => wide(version, 'a version of version_policy.specific'));
}
