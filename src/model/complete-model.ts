// Checks a model's declaration and fills all defaults in. Every mistake that can be known without running the
// callable is refused here, at bind.

import { invalidArg } from '../errors.js';
import type { ModelSpec } from './callable.js';
import { expectBoolean, expectInteger } from './check.js';
import { completeBatcher } from './complete-batcher.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import { completeSignature } from './complete-signature.js';
import { completeWarmups } from './model-warmup.js';
import { completeVersionPolicy, EVERY_VERSION } from './version-policy.js';

/** The most that may run at the same time. */
const MAX_INT32 = 2_147_483_647;

/**
 * Checks a declaration and fills in the defaults.
 * Throws INVALID_ARG naming the model, the option, what was got and what was expected.
 */
export function completeModelConfig(spec: ModelSpec, instanceCount: number): CompleteModelConfig {
  const { name, version, inputs, outputs, decoupled, batching, maxBatchSize } = completeSignature(spec);
  const where = `model '${name}'`;
  const config = spec.config ?? {};
  const responseCache = expectBoolean(config.responseCache ?? false, `config.responseCache of ${where}`);
  if (decoupled && responseCache) {
    throw invalidArg(
      `Response Cache does not currently support ${where} with 'decoupled' transaction policy. Please disable the response cache.`,
    );
  }
  const isolateFailures = expectBoolean(config.isolateFailures ?? false, `config.isolateFailures of ${where}`);
  if (decoupled && isolateFailures) {
    throw invalidArg(
      `config.isolateFailures of ${where} needs one response per request: responses of a decoupled model cannot be taken back; use stream`,
    );
  }
  const batcher = config.batcher === null ? undefined : completeBatcher(config.batcher ?? {}, maxBatchSize, where);
  const setting = batching ? undefined : firstSetting(config.batcher ?? {});
  if (setting !== undefined) {
    throw invalidArg(
      `config.batcher of ${where} needs batching: without a batch axis each request runs alone, got batcher.${setting} with batching: false`,
    );
  }
  return {
    name,
    version,
    inputs,
    outputs,
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
    ...(isolateFailures && { isolateFailures }),
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
