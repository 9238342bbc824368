// Checks a model's declaration and fills all defaults in. Every mistake that can be known without running the
// callable is refused here, at bind.

import { TritonError } from '../errors.js';
import type { ModelSpec } from './callable.js';
import { checkMembers, expectBoolean, expectInteger } from './check.js';
import { completeBatcher } from './complete-batcher.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import { completeWarmups } from './model-warmup.js';
import { completeVersionPolicy, EVERY_VERSION } from './version-policy.js';
import { completeTensorSpecs } from './complete-tensor-specs.js';

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
  'modelWarmup',
  'versionPolicy',
];
// Options that are known but not served yet: refused by name rather than ignored.
const COMING_MEMBERS = ['executionTimeoutMicroseconds'];

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
  const coming = COMING_MEMBERS.find((member) => Object.hasOwn(config, member));
  if (coming !== undefined) {
    throw new TritonError('UNSUPPORTED', `config.${coming} of ${where} is not supported by this version of TSTriton`);
  }
  checkMembers(config, CONFIG_MEMBERS, `config of ${where}`);
  const decoupled = expectBoolean(config.decoupled ?? false, `config.decoupled of ${where}`);
  const responseCache = expectBoolean(config.responseCache ?? false, `config.responseCache of ${where}`);
  if (decoupled && responseCache) {
    throw new TritonError(
      'INVALID_ARG',
      `Response Cache does not currently support ${where} with 'decoupled' transaction policy. Please disable the response cache.`,
    );
  }
  const batching = expectBoolean(config.batching ?? true, `config.batching of ${where}`);
  const maxBatchSize = expectInteger(config.maxBatchSize ?? 4, 1, MAX_INT32, `config.maxBatchSize of ${where}`);
  // Checked even where batching: false leaves it without effect.
  const batcher = config.batcher === null ? undefined : completeBatcher(config.batcher ?? {}, maxBatchSize, where);
  const inputs = completeTensorSpecs(spec.inputs, 'input', where);
  return {
    name,
    version,
    inputs,
    outputs: completeTensorSpecs(spec.outputs, 'output', where),
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
    strict: expectBoolean(spec.strict ?? false, `strict of ${where}`),
    versionPolicy: completeVersionPolicy(config.versionPolicy ?? EVERY_VERSION, `config.versionPolicy of ${where}`),
    modelWarmup: completeWarmups(config.modelWarmup ?? [], {
      inputs,
      maxBatchSize: batching ? maxBatchSize : 0,
      where,
    }),
  };
}

function checkModelName(name: unknown): string {
  if (typeof name !== 'string') throw new TritonError('INVALID_ARG', `modelName must be a string, got ${typeof name}`);
  if (name === '') throw new TritonError('INVALID_ARG', 'Model name cannot be empty');
  if (!MODEL_NAME.test(name)) {
    throw new TritonError(
      'INVALID_ARG',
      `Model name can only contain alphanumeric characters, dots, underscores and dashes, got ${JSON.stringify(name)}`,
    );
  }
  if (name === '.' || name === '..')
    throw new TritonError('INVALID_ARG', `Model name ${JSON.stringify(name)} is a path, not a name`);
  return name;
}
