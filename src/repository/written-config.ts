// The configuration of a model in a repository as somebody wrote it: config.pbtxt, or what a client gave for a load in its
// place. Checked, and with what of it means the same for every backend.

import { invalidArg } from '../errors.js';
import type { FileConfig } from '../model/complete-model-config.js';
import type { DynamicBatcher, ModelConfig } from '../model/model-config.js';
import type { SequenceBatching } from '../model/sequence-batching.js';
import { servedVersions, type VersionPolicy } from '../model/version-policy.js';
import {
  batcherOf,
  type ConfigJson,
  emptyConfig,
  type FindInputFile,
  readConfigText,
  type TensorJson,
  versionPolicyOf,
  warmupOf,
} from '../protocol/config-message.js';
import { readGiven } from '../protocol/config-override.js';
import { GROUP_BY_SHAPE } from '../protocol/model-config-json.js';
import { shownState } from '../protocol/sequence-batching-json.js';
import { TextFormatError } from '../protocol/text-format/tokens.js';
import { checkConfig } from './check-config.js';
import { failedText } from './model-folder.js';

/** Triton's, where a configuration has none. */
const LATEST: VersionPolicy = { latest: { numVersions: 1 } };

export interface WrittenConfig {
  /** The model's folder's. */
  readonly name: string;
  readonly json: ConfigJson;
  readonly versionPolicy: VersionPolicy;
  readonly instanceCount: number;
  readonly parameters: Readonly<Record<string, string>>;
  /** Includes the contents of files beside the configuration; undefined before they are read. */
  readonly sequenceBatching?: SequenceBatching | undefined;
}

/** The configuration that a file says; undefined: there is none. Throws INVALID_ARG with the place in the file. */
export function readWrittenConfig(
  text: string | undefined,
  { name, path }: { readonly name: string; readonly path: string },
): WrittenConfig {
  if (text === undefined) return written(emptyConfig(), name);
  try {
    return written(readConfigText(text), name);
  } catch (error) {
    if (error instanceof TextFormatError) throw failedText(path, error.message);
    throw error;
  }
}

/** The configuration that a client gives. Throws INVALID_ARG. */
export function readGivenConfig(text: string, name: string): WrittenConfig {
  return readGiven(text, (json) => written(json, name));
}

function written(json: ConfigJson, name: string): WrittenConfig {
  checkConfig(json, name);
  return {
    name,
    json,
    versionPolicy: versionPolicyOf(json) ?? LATEST,
    instanceCount: json.instance_group.reduce((sum, { count }) => sum + Math.max(1, count), 0) || 1,
    parameters: Object.fromEntries(Object.entries(json.parameters).map(([key, value]) => [key, value.string_value])),
  };
}

/** The versions in a folder that are served. Throws INVALID_ARG when there is none. */
export function chosenVersions({ name, versionPolicy }: WrittenConfig, versions: readonly number[]): readonly number[] {
  const served = servedVersions(versionPolicy, versions);
  if (served.size > 0) return versions.filter((version) => served.has(version));
  const found =
    versions.length === 0 ? `expected a folder for each, such as ${name}/1` : `it has ${versions.join(', ')}`;
  throw invalidArg(`at least one version must be available under the version policy of model '${name}': ${found}`);
}

/**
 * The options that a configuration gives a model, which its backend adds its own to. `maxBatchSize` is the final value; 0 for no
 * batch axis.
 */
export function optionsOf(
  { json, versionPolicy, sequenceBatching }: WrittenConfig,
  maxBatchSize: number,
  findFile: FindInputFile,
): ModelConfig {
  const { dynamic_batching: batching, response_cache: cache } = json;
  if (batching !== undefined && maxBatchSize === 0)
    throw invalidArg(`dynamic_batching needs a batch axis: max_batch_size must be above 0`);
  return {
    batching: maxBatchSize > 0,
    ...(maxBatchSize > 0 ? { maxBatchSize } : {}),
    batcher: batching === undefined ? null : { ...batcherOf(batching), ...groupingOf(json) },
    ...(sequenceBatching && { sequenceBatching }),
    responseCache: cache?.enable ?? false,
    versionPolicy,
    modelWarmup: json.model_warmup.map((warmup) => warmupOf(warmup, findFile)),
  };
}

function groupingOf({ parameters }: ConfigJson): Pick<DynamicBatcher, 'groupByShape'> {
  const text = parameters[GROUP_BY_SHAPE]?.string_value;
  if (text === undefined) return {};
  if (text !== 'true' && text !== 'false')
    throw invalidArg(`parameter '${GROUP_BY_SHAPE}' must be 'true' or 'false', got ${JSON.stringify(text)}`);
  return { groupByShape: text === 'true' };
}

const DEFAULT_GROUP = {
  name: '',
  kind: 'KIND_CPU',
  count: 1,
  gpus: [],
  secondary_devices: [],
  profile: [],
  passive: false,
  host_policy: '',
};

/** What a backend adds to what the model configuration shows. */
interface ShownBackend {
  readonly platform: string;
  readonly backend: string;
  readonly filename: string;
  readonly reshapedScalars: readonly string[];
}

/** What the model configuration shows of it. */
export function fileConfigOf(
  { name, json }: WrittenConfig,
  { platform, backend, filename, reshapedScalars }: ShownBackend,
): FileConfig {
  const groups = json.instance_group.map((group, index) => ({
    ...group,
    name: group.name || `${name}_${index}`,
    kind: 'KIND_CPU',
    count: Math.max(1, group.count),
  }));
  const warmups = json.model_warmup.map((warmup) => ({
    ...warmup,
    count: Math.max(1, warmup.count),
    inputs: Object.fromEntries(
      Object.entries(warmup.inputs).map(([input, source]) => [input, { ...source, dims: source.dims.map(Number) }]),
    ),
  }));
  return {
    platform,
    backend,
    shown: {
      ...(json.optimization === undefined ? {} : { optimization: json.optimization }),
      // As Triton completes it.
      instance_group: groups.length > 0 ? groups : [{ ...DEFAULT_GROUP, name }],
      default_model_filename: json.default_model_filename || filename,
      parameters: json.parameters,
      model_warmup: warmups,
    },
    shownTensors: {
      ...Object.fromEntries(reshapedScalars.map((tensor) => [tensor, { reshape: { shape: [] } }])),
      ...Object.fromEntries([...json.input, ...json.output].map((tensor) => [tensor.name, shownOf(tensor)])),
      ...Object.fromEntries(
        (json.sequence_batching?.state ?? []).map((state) => [state.input_name, shownState(state)]),
      ),
    },
  };
}

function shownOf({ format, label_filename: labels, reshape }: TensorJson): Readonly<Record<string, unknown>> {
  return {
    ...(format === undefined ? {} : { format }),
    ...(labels === undefined ? {} : { label_filename: labels }),
    ...(reshape === undefined ? {} : { reshape: { shape: reshape.shape.map(Number) } }),
  };
}
