// Checks the part of a declaration that both sides need: the name, the tensors, the batch axis, and whether a request
// gets any number of answers. A client needs no more; `complete-model.ts` adds the part of the server.

import { invalidArg } from '../errors.js';
import type { ModelSpec } from './callable.js';
import { checkMembers, expectBoolean, expectAtLeast, expectInteger, textOf } from '../checks/check.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import type { ModelConfig } from './model-config.js';
import { BATCHER_MEMBERS } from './complete-batcher.js';
import { completeTensorSpecs } from './complete-tensor-specs.js';

export interface CompleteSignature extends Pick<
  CompleteModelConfig,
  'name' | 'version' | 'inputs' | 'outputs' | 'decoupled'
> {
  /** Whether tensors have a batch axis. */
  readonly batching: boolean;
  /** The declared or default one, also where tensors have no batch axis. */
  readonly maxBatchSize: number;
}

const MODEL_NAME = /^[a-zA-Z0-9._-]+$/;
const SPEC_MEMBERS = [
  'modelName',
  'modelVersion',
  'inputs',
  'outputs',
  'config',
  'strict',
  'route',
  'description',
  'openai',
  'inferFunc',
  'setup',
  'teardown',
];
const CONFIG_MEMBERS = [
  'batching',
  'maxBatchSize',
  'batcher',
  'sequenceBatching',
  'concurrency',
  'decoupled',
  'responseCache',
  'executionTimeoutMicroseconds',
  'isolateFailures',
  'modelWarmup',
  'versionPolicy',
] as const;
/** The list, or never where a name is missing. */
type Whole<Name, List extends readonly unknown[]> = [Exclude<Name, List[number]>] extends [never] ? List : never;

/** Largest max_batch_size of the protocol, an int32. */
const MAX_INT32 = 2_147_483_647;

/** Throws INVALID_ARG naming the model, the option, the given value and the expected one. */
export function completeSignature(spec: ModelSpec): CompleteSignature {
  const name = checkModelName((spec as ModelSpec | undefined)?.modelName);
  const where = `model '${name}'`;
  checkMembers(spec, SPEC_MEMBERS, where, placeOf);
  const config = spec.config ?? {};
  checkMembers(
    config,
    CONFIG_MEMBERS satisfies Whole<keyof ModelConfig, typeof CONFIG_MEMBERS>,
    `config of ${where}`,
    placeOf,
  );
  return {
    name,
    version: expectAtLeast(spec.modelVersion ?? 1, 1, `modelVersion of ${where}`),
    decoupled: expectBoolean(config.decoupled ?? false, `config.decoupled of ${where}`),
    batching: expectBoolean(config.batching ?? true, `config.batching of ${where}`),
    maxBatchSize: expectInteger(config.maxBatchSize ?? 4, 1, MAX_INT32, `config.maxBatchSize of ${where}`),
    inputs: completeTensorSpecs(spec.inputs, 'input', where),
    outputs: completeTensorSpecs(spec.outputs, 'output', where),
  };
}

/** The place of an option that stands at another level than its own. */
function placeOf(name: string): string | undefined {
  if (SPEC_MEMBERS.includes(name)) return `${name} beside config`;
  if (BATCHER_MEMBERS.includes(name)) return `config.batcher.${name}`;
  return CONFIG_MEMBERS.some((member) => member === name) ? `config.${name}` : undefined;
}

/** Throws INVALID_ARG for an invalid model name. */
export function checkModelName(name: unknown): string {
  if (typeof name !== 'string') throw invalidArg(`modelName must be a string, got ${textOf(name)}`);
  if (name === '') throw invalidArg('Model name cannot be empty');
  if (!MODEL_NAME.test(name)) {
    throw invalidArg(
      `Model name can only contain alphanumeric characters, dots, underscores and dashes, got ${JSON.stringify(name)}`,
    );
  }
  if (name === '.' || name === '..') throw invalidArg(`Model name ${JSON.stringify(name)} is a path, not a name`);
  return name;
}
