// What of a ModelConfig message this server has no part for: refused by name, with the reason. Nothing that a configuration asks
// for is passed over, but for the memory of GPUs, which means nothing where there is none.

import { invalidArg } from '../errors.js';
import type { ConfigJson, InstanceGroupJson, TensorJson } from '../protocol/config-message.js';

/** Fields that are refused when they say anything, and why. */
const REFUSED: Readonly<Record<string, string>> = {
  runtime: 'there is one runtime for each backend',
  batch_input: 'the server makes no inputs of its own; the callable can read `requests`',
  batch_output: 'the server scatters no outputs by their batch; the callable can return a result for each request',
  ensemble_scheduling: "there are no ensembles: a callable calls other models by its context's `models`",
  cc_model_filenames: 'there is no GPU to choose a file by',
  metric_tags: 'the metrics of a model have no further labels',
  model_operations: 'there are no libraries of operations to load',
  model_repository_agents: 'there are no repository agents',
  model_metrics: 'the histograms of a model have the buckets of the server',
};

const MAPS: readonly string[] = ['cc_model_filenames', 'metric_tags'];

/** Throws INVALID_ARG for the first thing that is not supported. */
export function checkConfig(config: ConfigJson, name: string): void {
  if (config.name !== '' && config.name !== name) {
    throw invalidArg(
      `unexpected directory name '${name}' for model '${config.name}', directory name must equal model name`,
    );
  }
  for (const [field, reason] of Object.entries(REFUSED)) {
    if (says((config as unknown as Readonly<Record<string, unknown>>)[field], MAPS.includes(field)))
      throw refused(field, name, reason);
  }
  if (config.max_batch_size < 0) {
    throw invalidArg(`'max_batch_size' must be non-negative value for model '${name}', got ${config.max_batch_size}`);
  }
  for (const [index, tensor] of config.input.entries()) checkTensor(tensor, `input[${index}]`, name);
  for (const [index, tensor] of config.output.entries()) checkTensor(tensor, `output[${index}]`, name);
  for (const [index, group] of config.instance_group.entries()) checkGroup(group, `instance_group[${index}]`, name);
  const { optimization } = config;
  if (optimization === undefined) return;
  if (optimization.priority !== 'PRIORITY_DEFAULT')
    throw refused('optimization.priority', name, 'no model comes before another');
  if (optimization.cuda !== undefined) throw refused('optimization.cuda', name, 'there is no GPU');
  if (optimization.execution_accelerators !== undefined)
    throw refused('optimization.execution_accelerators', name, 'models run on the CPU as they are');
  if (optimization.eager_batching)
    throw refused('optimization.eager_batching', name, 'batches are formed when an instance is free');
}

function checkTensor(tensor: TensorJson, field: string, name: string): void {
  if (tensor.name === '') throw invalidArg(`${field} of model '${name}' must have a name`);
  if (tensor.data_type === 'TYPE_INVALID')
    throw invalidArg(
      `model ${field.replace(/\[.*/, '')} '${tensor.name}' must specify 'data_type' for model '${name}'`,
    );
  if (tensor.is_shape_tensor) throw refused(`${field}.is_shape_tensor`, name, "it is TensorRT's");
  if (tensor.is_non_linear_format_io) throw refused(`${field}.is_non_linear_format_io`, name, "it is TensorRT's");
  if (tensor.allow_ragged_batch === true)
    throw refused(`${field}.allow_ragged_batch`, name, 'requests of one batch have one shape');
  for (const dim of tensor.dims) {
    if (Number(dim) >= 1 || dim === '-1') continue;
    throw invalidArg(
      `model ${field.replace(/\[.*/, '')} '${tensor.name}' of model '${name}': dims must be integers >= 1, or -1 for any size, got ${dim}`,
    );
  }
}

function checkGroup(group: InstanceGroupJson, field: string, name: string): void {
  if (group.kind === 'KIND_GPU') {
    throw invalidArg(
      `instance group ${group.name || `${name}_0`} of model ${name} has kind KIND_GPU but server does not support GPUs; expected KIND_CPU, or no kind`,
    );
  }
  if (group.kind === 'KIND_MODEL')
    throw refused(
      `${field}.kind`,
      name,
      'KIND_MODEL lets a model choose its devices, of which there is one: say KIND_CPU',
    );
  if (group.count < 0) throw invalidArg(`${field}.count of model '${name}' must be >= 0, got ${group.count}`);
  const others = { gpus: group.gpus, secondary_devices: group.secondary_devices, profile: group.profile };
  for (const [member, value] of Object.entries(others))
    if (says(value)) throw refused(`${field}.${member}`, name, 'there is no GPU');
  if (group.passive) throw refused(`${field}.passive`, name, 'an instance that takes no requests is none');
  if (group.host_policy !== '') throw refused(`${field}.host_policy`, name, 'there are no host policies');
  if (group.rate_limiter !== undefined) throw refused(`${field}.rate_limiter`, name, 'there is no rate limiter');
}

export function refused(field: string, name: string, reason: string): Error {
  return invalidArg(`${field} of model '${name}' is not supported: ${reason}`);
}

/** Lists and maps are in a message's JSON though nobody has written them; a message is there when somebody has. */
function says(value: unknown, isMap = false): boolean {
  if (value === undefined || value === '') return false;
  if (Array.isArray(value)) return value.length > 0;
  return !isMap || Object.keys(value as object).length > 0;
}
