// The configuration that a client gives for a load: the JSON of a ModelConfig message, which counts instead of the one that the
// model was bound with. Scheduling, cache, sizes and warm-up are its own. What belongs to the callable (tensors, instances,
// whether it streams) may be left out, as where Triton completes a configuration from the model, and cannot be changed.

import { invalidArg, TritonError } from '../errors.js';
import { completeBatcher } from '../model/complete-batcher.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { completeWarmups } from '../model/model-warmup.js';
import { completeVersionPolicy, EVERY_VERSION } from '../model/version-policy.js';
import { batcherOf, canonical, type ConfigJson, versionPolicyOf, warmupOf } from './config-message.js';
import { BACKEND, modelConfigJson } from './model-config-json.js';
import type { JsonObject, JsonValue } from './protobuf/message-json.js';

/** Longer ones are no configurations, and would keep the event loop. */
const LONGEST_TEXT = 256 * 1024;

/** Names that change nothing: none, ours, and that of PyTriton's models. */
const BACKENDS = ['', BACKEND, 'python'];

/** Fields with rules of their own. All others are to be what the server says of the model, or left out. */
const OWN_FIELDS: readonly string[] = [
  'name',
  'backend',
  'max_batch_size',
  'input',
  'output',
  'instance_group',
  'model_warmup',
  'version_policy',
  'dynamic_batching',
  'model_transaction_policy',
  'response_cache',
] satisfies (keyof ConfigJson)[];

/**
 * What a version of a model is loaded with, made from what it was bound with. Throws INVALID_ARG when the text is no
 * configuration; the function that it gives, when it is none for that model.
 */
export function readConfigOverride(text: string): (bound: CompleteModelConfig) => CompleteModelConfig {
  const given = refusing(() => {
    if (text.length > LONGEST_TEXT) throw invalidArg(`got ${text.length} characters, expected at most ${LONGEST_TEXT}`);
    return canonical(parse(text));
  });
  return (bound) => refusing(() => override(given as unknown as ConfigJson, bound));
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    // Each version of Node has words of its own for it.
    throw invalidArg('it is no JSON', { cause: error });
  }
}

function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalidArg(`Invalid config override: ${TritonError.from(error).message}`, {
      cause: error,
    });
  }
}

function override(given: ConfigJson, bound: CompleteModelConfig): CompleteModelConfig {
  const where = `model '${bound.name}'`;
  checkFixed(given, bound);
  const maxBatchSize = given.max_batch_size === 0 ? bound.maxBatchSize : given.max_batch_size;
  const responseCache = given.response_cache?.enable ?? false;
  if (responseCache && bound.decoupled) {
    throw invalidArg(
      `Response Cache does not currently support ${where} with 'decoupled' transaction policy. Please disable the response cache.`,
    );
  }
  const batcher = given.dynamic_batching && batcherOf(given.dynamic_batching);
  if (batcher !== undefined && maxBatchSize === 0)
    throw invalidArg(`dynamic_batching needs a batch axis, which ${where} has not`);
  const warmups = given.model_warmup.map((warmup) => warmupOf(warmup, noFile));
  const surroundings = { inputs: bound.inputs, maxBatchSize, where };
  return {
    ...bound,
    maxBatchSize,
    dynamicBatching: batcher && completeBatcher(batcher, maxBatchSize, where),
    responseCache,
    versionPolicy: completeVersionPolicy(versionPolicyOf(given) ?? EVERY_VERSION, `version_policy of ${where}`),
    // What the server says of a model does not tell its warm-up: who gives that back does not mean to drop it.
    ...(warmups.length === 0 ? {} : { modelWarmup: completeWarmups(warmups, surroundings) }),
  };
}

/** What is the callable's is as it was bound. */
function checkFixed(given: ConfigJson, bound: CompleteModelConfig): void {
  const { name, maxBatchSize, decoupled, instanceCount } = bound;
  const told = canonical(modelConfigJson(bound) as JsonValue) as unknown as ConfigJson;
  if (given.name !== '' && given.name !== name) throw invalidArg(`it is for model '${given.name}', expected '${name}'`);
  if (!BACKENDS.includes(given.backend))
    throw invalidArg(`unable to find backend library for backend '${given.backend}'`);
  if (given.max_batch_size < 0) throw invalidArg(`max_batch_size must be >= 0, got ${given.max_batch_size}`);
  if (maxBatchSize === 0 && given.max_batch_size > 0)
    throw fixed('max_batch_size', given.max_batch_size, `0: model '${name}' has no batch axis`);
  const streams = given.model_transaction_policy?.decoupled ?? decoupled;
  if (streams !== decoupled) throw fixed('model_transaction_policy.decoupled', streams, decoupled);
  const count = given.instance_group.reduce((sum, group) => sum + Math.max(1, group.count), 0);
  if (given.instance_group.length > 0 && count !== instanceCount) throw fixed('instance_group', count, instanceCount);
  const kind = given.instance_group.find((group) => group.kind !== 'KIND_CPU' && group.kind !== 'KIND_AUTO')?.kind;
  if (kind !== undefined) throw fixed('instance_group', kind, 'KIND_CPU');
  checkTensors('input', given, told);
  checkTensors('output', given, told);
  const empty = canonical({});
  for (const [field, value] of Object.entries(given as unknown as JsonObject)) {
    if (OWN_FIELDS.includes(field) || sameJson(value, empty[field])) continue;
    if (field === 'sequence_batching' || field === 'ensemble_scheduling') throw invalidArg(`${field} is not supported`);
    const expected = (told as unknown as JsonObject)[field];
    if (!sameJson(value, expected)) throw fixed(field, JSON.stringify(value), JSON.stringify(expected) ?? 'nothing');
  }
}

/** Tensors may be left out altogether, and stand in any order. */
function checkTensors(kind: 'input' | 'output', given: ConfigJson, told: ConfigJson): void {
  if (given[kind].length === 0) return;
  for (const tensor of given[kind]) {
    const own = told[kind].find(({ name }) => name === tensor.name);
    if (own === undefined) throw fixed(kind, tensor.name, told[kind].map(({ name }) => name).join(', '));
    if (sameJson(tensor, own)) continue;
    const what = `${kind} '${tensor.name}'`;
    if (tensor.data_type !== own.data_type)
      throw invalidArg(
        `configuration expects datatype ${tensor.data_type} for ${what}, model provides ${own.data_type}`,
      );
    if (!sameJson(tensor.dims, own.dims))
      throw invalidArg(
        `tensor '${tensor.name}': the model expects dims [${own.dims.join()}] but the model configuration specifies dims [${tensor.dims.join()}]`,
      );
    throw fixed(what, JSON.stringify(tensor), JSON.stringify(own));
  }
  const missing = told[kind].find(({ name }) => !given[kind].some((tensor) => tensor.name === name));
  if (missing !== undefined) throw invalidArg(`it lacks ${kind} '${missing.name}' of the model`);
}

// A client names no file of the server's.
function noFile(_file: string, input: string): string {
  throw invalidArg(`input_data_file of warm-up input '${input}' is not supported`);
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function fixed(field: string, got: string | number | boolean, expected: string | number | boolean): TritonError {
  return invalidArg(`${field} cannot be changed by a load: expected ${expected}, got ${got}`);
}
