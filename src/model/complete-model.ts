// Checks a model's declaration and fills all defaults in. Every mistake that can be known without running the
// callable is refused here, at bind.

import { invalidArg } from '../errors.js';
import type { ModelSpec } from './callable.js';
import { checkMembers, expectBoolean, expectInteger } from './check.js';
import { completeBatcher } from './complete-batcher.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import { completeTensorSpecs } from './complete-tensor-specs.js';
import { completeWarmups } from './model-warmup.js';
import { completeVersionPolicy, EVERY_VERSION } from './version-policy.js';

const MODEL_NAME = /^[a-zA-Z0-9._-]+$/;
const SPEC_MEMBERS = [
  'modelName',
  'modelVersion',
  'inputs',
  'outputs',
  'config',
  'strict',
  'inferFunc',
  'setup',
  'teardown',
];
const CONFIG_MEMBERS = [
  'batching',
  'maxBatchSize',
  'batcher',
  'concurrency',
  'decoupled',
  'responseCache',
  'executionTimeoutMicroseconds',
  'modelWarmup',
  'versionPolicy',
];

/** Largest max_batch_size of the protocol, an int32. */
const MAX_INT32 = 2_147_483_647;

/**
 * Checks a declaration and fills in the defaults.
 * Throws INVALID_ARG naming the model, the option, what was got and what was expected.
 */
export function completeModelConfig(spec: ModelSpec, instanceCount: number): CompleteModelConfig {
  const name = checkModelName(spec.modelName);
  const where = `model '${name}'`;
  checkMembers(spec, SPEC_MEMBERS, where);
  const version = expectInteger(spec.modelVersion ?? 1, 1, Number.MAX_SAFE_INTEGER, `modelVersion of ${where}`);
  const config = spec.config ?? {};
  checkMembers(config, CONFIG_MEMBERS, `config of ${where}`);
  const decoupled = expectBoolean(config.decoupled ?? false, `config.decoupled of ${where}`);
  const responseCache = expectBoolean(config.responseCache ?? false, `config.responseCache of ${where}`);
  if (decoupled && responseCache) {
    throw invalidArg(
      `Response Cache does not currently support ${where} with 'decoupled' transaction policy. Please disable the response cache.`,
    );
  }
  const batching = expectBoolean(config.batching ?? true, `config.batching of ${where}`);
  const maxBatchSize = expectInteger(config.maxBatchSize ?? 4, 1, MAX_INT32, `config.maxBatchSize of ${where}`);
  const batcher = config.batcher === null ? undefined : completeBatcher(config.batcher ?? {}, maxBatchSize, where);
  const setting = batching ? undefined : firstSetting(config.batcher ?? {});
  if (setting !== undefined) {
    throw invalidArg(
      `config.batcher of ${where} needs batching: without a batch axis each request runs alone, got batcher.${setting} with batching: false`,
    );
  }
  const inputs = completeTensorSpecs(spec.inputs, 'input', where);
  return {
    name,
    version,
    inputs,
    outputs: completeTensorSpecs(spec.outputs, 'output', where),
    ...(Array.isArray(spec.inputs) && { listsInputs: true }),
    maxBatchSize: batching ? maxBatchSize : 0,
    dynamicBatching: batching ? batcher : undefined,
    instanceCount,
    // The streams of a decoupled model overlap, as Triton's do.
    concurrency: expectInteger(
      config.concurrency ?? (decoupled ? MAX_INT32 : 1),
      1,
      MAX_INT32,
      `config.concurrency of ${where}`,
    ),
    decoupled,
    responseCache,
    executionTimeoutMicroseconds: expectInteger(
      config.executionTimeoutMicroseconds ?? 0,
      0,
      Number.MAX_SAFE_INTEGER,
      `config.executionTimeoutMicroseconds of ${where}`,
    ),
    strict: expectBoolean(spec.strict ?? false, `strict of ${where}`),
    versionPolicy: completeVersionPolicy(config.versionPolicy ?? EVERY_VERSION, `config.versionPolicy of ${where}`),
    modelWarmup: completeWarmups(config.modelWarmup ?? [], {
      inputs,
      maxBatchSize: batching ? maxBatchSize : 0,
      where,
    }),
  };
}

function firstSetting(batcher: object): string | undefined {
  const isEmpty = (value: unknown) => value === null || (typeof value === 'object' && Object.keys(value).length === 0);
  return Object.entries(batcher).find(([, value]) => value !== undefined && !isEmpty(value))?.[0];
}

function checkModelName(name: unknown): string {
  if (typeof name !== 'string') throw invalidArg(`modelName must be a string, got ${typeof name}`);
  if (name === '') throw invalidArg('Model name cannot be empty');
  if (!MODEL_NAME.test(name)) {
    throw invalidArg(
      `Model name can only contain alphanumeric characters, dots, underscores and dashes, got ${JSON.stringify(name)}`,
    );
  }
  if (name === '.' || name === '..') throw invalidArg(`Model name ${JSON.stringify(name)} is a path, not a name`);
  return name;
}
