// Checks a model's declaration and fills in all defaults. It refuses, at `bind`, every mistake that shows without
// running the callable.

import { invalidArg } from '../errors.js';
import type { ModelSpec } from './callable.js';
import { expectBoolean, expectAtLeast, expectInteger, expectString } from '../checks/check.js';
import { checkOpenAi } from './check-openai.js';
import { completeBatcher } from './complete-batcher.js';
import type { CompleteModelConfig } from './complete-model-config.js';
import { completeSignature } from './complete-signature.js';
import { servedSpecs } from './served-specs.js';
import { completeSequenceBatching } from './complete-sequence-batching.js';
import { parseRoute } from './model-route.js';
import { completeWarmups } from './model-warmup.js';
import { completeVersionPolicy, EVERY_VERSION } from './version-policy.js';

/** The most that may run at the same time. */
const MAX_INT32 = 2_147_483_647;
/** The concurrency of a decoupled model whose declaration says nothing of it. */
export const UNLIMITED_CONCURRENCY = MAX_INT32;

/**
 * Checks a declaration and fills in the defaults. Throws INVALID_ARG naming the model, the option, the given value and
 * the expected one.
 */
export function completeModelConfig(spec: ModelSpec, instanceCount: number): CompleteModelConfig {
  const { name, version, decoupled, batching, maxBatchSize, ...signature } = completeSignature(spec);
  const where = `model '${name}'`;
  const inputs = servedSpecs(spec.inputs, signature.inputs, 'input', where);
  const outputs = servedSpecs(spec.outputs, signature.outputs, 'output', where);
  const config = spec.config ?? {};
  const responseCache = expectBoolean(config.responseCache ?? false, `config.responseCache of ${where}`);
  if (decoupled && responseCache) {
    throw invalidArg(
      `Response Cache does not currently support ${where} with 'decoupled' transaction policy. Please disable the response cache.`,
    );
  }
  const sequences = config.sequenceBatching && {
    sequenceBatching: completeSequenceBatching(config.sequenceBatching, {
      inputs,
      outputs,
      maxBatchSize: batching ? maxBatchSize : 0,
      where,
    }),
  };
  if (sequences !== undefined && responseCache) {
    throw invalidArg(
      `Response Cache does not currently support ${where} with sequence batching scheduler. Please disable the response cache.`,
    );
  }
  if (sequences !== undefined && (config.batcher ?? undefined) !== undefined)
    throw invalidArg(`config.batcher of ${where} excludes config.sequenceBatching: a model has one scheduler`);
  const isolateFailures = expectBoolean(config.isolateFailures ?? false, `config.isolateFailures of ${where}`);
  if (decoupled && isolateFailures) {
    throw invalidArg(
      `config.isolateFailures of ${where} needs one response per request: responses of a decoupled model cannot be taken back; use stream`,
    );
  }
  const { keepsObjects, iterative } = sequences?.sequenceBatching ?? {};
  // Tensors are kept from the answer alone, so a second run does no harm.
  if (isolateFailures && (keepsObjects === true || iterative === true)) {
    throw invalidArg(
      `config.isolateFailures of ${where} excludes a config.sequenceBatching that is iterative, or whose state is a function: a request would change its state twice`,
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
    dynamicBatching: batching && sequences === undefined ? batcher : undefined,
    ...sequences,
    instanceCount,
    // The streams of a decoupled model overlap, as Triton's do.
    concurrency: expectInteger(
      config.concurrency ?? (decoupled ? UNLIMITED_CONCURRENCY : 1),
      1,
      MAX_INT32,
      `config.concurrency of ${where}`,
    ),
    decoupled,
    responseCache,
    executionTimeoutMicroseconds: expectAtLeast(
      config.executionTimeoutMicroseconds ?? 0,
      0,
      `config.executionTimeoutMicroseconds of ${where}`,
    ),
    ...(isolateFailures && { isolateFailures }),
    ...(spec.openai !== undefined && {
      openai: checkOpenAi(spec.openai, { inputs, outputs, decoupled, ...sequences }, where),
    }),
    strict: expectBoolean(spec.strict ?? false, `strict of ${where}`),
    ...(spec.route !== undefined && { route: parseRoute(spec.route, `route of ${where}`) }),
    ...(spec.description !== undefined && {
      description: expectString(spec.description, `description of ${where}`),
    }),
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
