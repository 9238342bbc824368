// Reads the configuration that a client gives for a load: the JSON of a ModelConfig message. It replaces the bound configuration:
// scheduling, cache, sizes and warm-up. It may leave out the fields of the callable (tensors, instances, whether it streams), as
// where Triton completes a configuration from the model. It cannot change these fields.

import { invalidArg, TritonError } from '../errors.js';
import { completeBatcher } from '../model/complete-batcher.js';
import type { CompleteModelConfig, CompleteSequenceBatching } from '../model/complete-model-config.js';
import { completeSequenceBatching } from '../model/complete-sequence-batching.js';
import { completeWarmups } from '../model/model-warmup.js';
import { completeVersionPolicy, EVERY_VERSION } from '../model/version-policy.js';
import { batcherOf, canonical, type ConfigJson, versionPolicyOf, warmupOf } from './config-message.js';
import { BACKEND, modelConfigJson } from './model-config-json.js';
import type { JsonObject, JsonValue } from './protobuf/message-json.js';
import { type SequenceBatchingJson, sequenceBatchingJson, sequenceBatchingOf } from './sequence-batching-json.js';

/** A longer text cannot be a configuration, and parsing it would block the event loop. */
const LONGEST_TEXT = 256 * 1024;

/** Names that change nothing: the empty name, our own, and the backend of PyTriton's models. */
const BACKENDS = ['', BACKEND, 'python'];

/** Fields with rules of their own. All others must equal the server's configuration of the model, or be left out. */
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
  'sequence_batching',
  'model_transaction_policy',
  'response_cache',
] satisfies (keyof ConfigJson)[];

/**
 * Returns a function from a version's bound configuration to its new one. Throws INVALID_ARG when the text is not a
 * configuration; the returned function does when it does not fit the model.
 */
export function readConfigOverride(text: string): (bound: CompleteModelConfig) => CompleteModelConfig {
  const given = readGiven(text, (json) => json);
  return (bound) => refusing(() => override(given, bound));
}

/** What `read` makes of the configuration that a client gives. Throws INVALID_ARG. */
export function readGiven<T>(text: string, read: (json: ConfigJson) => T): T {
  return refusing(() => {
    if (text.length > LONGEST_TEXT) throw invalidArg(`got ${text.length} characters, expected at most ${LONGEST_TEXT}`);
    return read(canonical(parse(text)) as unknown as ConfigJson);
  });
}

function parse(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    // We use our own message, because each version of Node has another.
    throw invalidArg('it is no JSON', { cause: error });
  }
}

function refusing<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw invalidArg(`Invalid config override: ${TritonError.from(error).message}`, { cause: error });
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
  if (batcher !== undefined && bound.sequenceBatching !== undefined)
    throw invalidArg(`dynamic_batching excludes sequence_batching, which ${where} was bound with`);
  const warmups = given.model_warmup.map((warmup) => warmupOf(warmup, noFile));
  const surroundings = { inputs: bound.inputs, maxBatchSize, where };
  return {
    ...bound,
    maxBatchSize,
    // A configuration gives groupByShape as a parameter, and parameters are fixed.
    dynamicBatching:
      batcher &&
      completeBatcher({ ...batcher, groupByShape: bound.dynamicBatching?.groupByShape ?? false }, maxBatchSize, where),
    sequenceBatching: sequenceBatchingFor(given, bound, maxBatchSize),
    responseCache,
    versionPolicy: completeVersionPolicy(versionPolicyOf(given) ?? EVERY_VERSION, `version_policy of ${where}`),
    // The server's configuration does not show the warm-up. A client that sends that configuration back does not mean to drop the
    // warm-up.
    ...(warmups.length === 0 ? {} : { modelWarmup: completeWarmups(warmups, surroundings) }),
  };
}

/** A client cannot change the callable's controls and states. A configuration without sequence batching keeps the bound one. */
function sequenceBatchingFor(
  { sequence_batching: given }: ConfigJson,
  bound: CompleteModelConfig,
  maxBatchSize: number,
): CompleteSequenceBatching | undefined {
  const { sequenceBatching: own, inputs, outputs, name } = bound;
  if (given === undefined) return own;
  const where = `model '${name}'`;
  const told = own && sequenceBatchingJson(own, (state) => bound.file?.shownTensors[state]);
  const expected = (told ?? {}) as {
    readonly control_input?: readonly JsonValue[];
    readonly state?: readonly JsonValue[];
  };
  for (const field of ['control_input', 'state'] as const) {
    const mine = canonicalSequences({ [field]: expected[field] ?? [] })[field];
    if (!sameJson(given[field], mine))
      throw fixed(`sequence_batching.${field}`, JSON.stringify(given[field]), JSON.stringify(mine));
  }
  const plain = sequenceBatchingOf({ ...given, control_input: [], state: [] }, where, () => 0);
  const complete = completeSequenceBatching(plain, { inputs, outputs, maxBatchSize, where });
  if (own === undefined) return complete;
  const { controls, states, keepsObjects, maxLiveSequences, emptySlots } = own;
  return { ...complete, controls, states, keepsObjects, maxLiveSequences, emptySlots };
}

/** A part of the message, in the same form as a client's configuration. */
function canonicalSequences(part: JsonObject): SequenceBatchingJson {
  return (canonical({ sequence_batching: part }) as unknown as ConfigJson).sequence_batching!;
}

/** Refuses changes to the fields of the callable. */
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
    if (field === 'ensemble_scheduling') throw invalidArg(`${field} is not supported`);
    const expected = (told as unknown as JsonObject)[field];
    if (!sameJson(value, expected)) throw fixed(field, JSON.stringify(value), JSON.stringify(expected) ?? 'nothing');
  }
}

/** A configuration may leave out all tensors, and list them in any order. */
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

// A client may not name files of the server.
function noFile(_file: string, input: string): string {
  throw invalidArg(`input_data_file of warm-up input '${input}' is not supported`);
}

function sameJson(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

function fixed(field: string, got: string | number | boolean, expected: string | number | boolean): TritonError {
  return invalidArg(`${field} cannot be changed by a load: expected ${expected}, got ${got}`);
}
