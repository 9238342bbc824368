// A model's declaration as it crosses to another server: plain data that the server completes and checks anew. Files of
// warm-up requests were read where the model was bound, and functions stay there.

import { expectAtLeast, expectInteger, expectObject, textOf } from '../../checks/check.js';
import { invalidArg } from '../../errors.js';
import type { ModelSpec } from '../../model/callable.js';
import type {
  CompleteModelConfig,
  CompleteSequenceBatching,
  CompleteSequenceState,
  CompleteTensorSpec,
} from '../../model/complete-model-config.js';
import { completeModelConfig } from '../../model/complete-model.js';
import type { ModelConfig } from '../../model/model-config.js';
import type { CompleteWarmup } from '../../model/model-warmup.js';
import { REQUEST_LIMITS } from '../../model/request-limits.js';
import type { SequenceBatching } from '../../model/sequence-batching.js';
import type { Datatype } from '../../tensor/dtype.js';
import { decodeRaw } from '../../tensor/raw.js';
import { Tensor } from '../../tensor/tensor.js';

export interface DeclaredModel {
  /** In the form that `bind` takes, without functions, states and warm-up requests. */
  readonly spec: Omit<ModelSpec, 'config'> & { readonly config: Omit<ModelConfig, 'modelWarmup'> };
  /** Whether each request executes alone, though there is a batch axis. */
  readonly isUnbatched: boolean;
  readonly keepsObjects: boolean;
  readonly states: readonly CompleteSequenceState[];
  readonly warmups: readonly CompleteWarmup[];
}

export function declaredModel(config: CompleteModelConfig): DeclaredModel {
  const { name, version, inputs, outputs, listsInputs = false, maxBatchSize, dynamicBatching, decoupled } = config;
  const { sequenceBatching: sequences, versionPolicy, route, description, openai } = config;
  const batching = maxBatchSize > 0;
  const listed = inputs.map((input) => ({ name: input.name, ...specOf(input) }));
  const spec = {
    modelName: name,
    modelVersion: version,
    inputs: listsInputs ? listed : Object.fromEntries(inputs.map((input) => [input.name, specOf(input)])),
    outputs: outputs.map((output) => ({ name: output.name, ...specOf(output) })),
    strict: config.strict,
    ...(route !== undefined && { route: `POST ${route}` }),
    ...(description !== undefined && { description }),
    ...(openai !== undefined && { openai }),
    config: {
      batching,
      ...(batching && { maxBatchSize }),
      ...(batching && dynamicBatching !== undefined && { batcher: dynamicBatching }),
      ...(sequences !== undefined && { sequenceBatching: declaredSequences(sequences) }),
      concurrency: config.concurrency,
      decoupled,
      responseCache: config.responseCache,
      executionTimeoutMicroseconds: config.executionTimeoutMicroseconds ?? 0,
      isolateFailures: config.isolateFailures ?? false,
      ...(versionPolicy !== undefined && { versionPolicy }),
    },
  };
  return {
    spec: spec as unknown as DeclaredModel['spec'],
    isUnbatched: batching && sequences === undefined && dynamicBatching === undefined,
    keepsObjects: sequences?.keepsObjects ?? false,
    states: sequences?.states ?? [],
    warmups: config.modelWarmup ?? [],
  };
}

function specOf({ dtype, shape, optional, labels, contentEncoding, description, boxes }: CompleteTensorSpec): object {
  return {
    dtype,
    shape,
    ...(optional && { optional }),
    ...(labels !== undefined && { labels }),
    ...(contentEncoding !== undefined && { contentEncoding }),
    ...(description !== undefined && { description }),
    ...(boxes !== undefined && { boxes }),
  };
}

function declaredSequences(sequences: CompleteSequenceBatching): SequenceBatching {
  const { strategy, controls, maxSequenceIdleMicroseconds, iterative, maxQueueDelayMicroseconds } = sequences;
  return {
    ...(strategy !== undefined && { strategy }),
    maxSequenceIdleMicroseconds,
    controls: Object.fromEntries(
      controls.map(({ name, control, dtype, falseTrue }) => [
        name,
        { control, dtype, ...(control !== 'CORRID' && { falseTrue }) },
      ]),
    ) as NonNullable<SequenceBatching['controls']>,
    iterative,
    maxQueueDelayMicroseconds,
    maxLiveSequences: sequences.maxLiveSequences,
    ...(strategy === 'oldest'
      ? {
          maxCandidateSequences: sequences.maxCandidateSequences,
          preferredBatchSize: sequences.preferredBatchSize,
          preserveOrdering: sequences.preserveOrdering,
        }
      : { minimumSlotUtilization: sequences.minimumSlotUtilization, emptySlots: sequences.emptySlots }),
  };
}

/** Checks a declaration from another process, and fills in the defaults. Throws INVALID_ARG. */
export function completeDeclared(given: unknown, instances: number): CompleteModelConfig {
  expectObject(given, 'the declaration of a remote model');
  const { spec, isUnbatched, keepsObjects, states, warmups } = given as DeclaredModel;
  expectObject(spec, 'the declaration of a remote model');
  expectObject(spec.config, 'config of a remote model');
  // It could name files of this machine.
  if ('modelWarmup' in spec.config) throw invalidArg('config.modelWarmup of a remote model is not among its warm-ups');
  expectFewTensors(spec.inputs, 'inputs', REQUEST_LIMITS.inputs);
  expectFewTensors(spec.outputs, 'outputs', REQUEST_LIMITS.outputs);
  const { sequenceBatching: sequences } = spec.config;
  if (sequences !== undefined) expectObject(sequences, 'config.sequenceBatching of a remote model');
  const state = () => (keepsObjects ? () => undefined : statesOf(states));
  const config = {
    ...spec.config,
    ...(isUnbatched && { batcher: null }),
    ...(sequences !== undefined && { sequenceBatching: { ...sequences, state: state() } }),
  };
  const complete = completeModelConfig(
    { ...spec, config } as ModelSpec,
    expectInteger(instances, 1, 100_000, 'instances'),
  );
  return { ...complete, modelWarmup: checkedWarmups(warmups, complete) };
}

/** No request could name more. */
function expectFewTensors(specs: unknown, what: string, most: number): void {
  const count = typeof specs === 'object' && specs !== null ? Object.keys(specs).length : 0;
  if (count > most) throw invalidArg(`a remote model has ${count} ${what}, expected at most ${most}`);
}

function statesOf(given: unknown): NonNullable<SequenceBatching['state']> {
  const states = expectList(given, 'the states of a remote model') as readonly CompleteSequenceState[];
  return Object.fromEntries(
    states.map(({ name, dtype, shape, output, initial }) => {
      expectObject(initial, `initial of state '${name}'`);
      if (!(initial.bytes instanceof Uint8Array)) throw invalidArg(`initial of state '${name}' has no bytes`);
      const tensor = new Tensor(dtype, decodeRaw(dtype, initial.bytes), initial.shape);
      return [name, { dtype, shape, output, initial: tensor }];
    }),
  );
}

/** The requests themselves are checked when they are sent. */
function checkedWarmups(given: unknown, { name: model, inputs }: CompleteModelConfig): readonly CompleteWarmup[] {
  return (expectList(given, `the warm-up of model '${model}'`) as readonly CompleteWarmup[]).map((warmup) => {
    expectObject(warmup, `a warm-up of model '${model}'`);
    const what = `warm-up ${textOf(warmup.name)} of model '${model}'`;
    const { name, count } = warmup;
    if (typeof name !== 'string') throw invalidArg(`${what} has no name`);
    expectInteger(count, 1, 1_000_000, `count of ${what}`);
    const tensors = expectList(warmup.inputs, `inputs of ${what}`) as CompleteWarmup['inputs'];
    return {
      name,
      count,
      inputs: tensors.map((tensor) => {
        expectObject(tensor, `an input of ${what}`);
        const declared = inputs.find((input) => input.name === tensor.name);
        const shape = expectList(tensor.shape, `shape of an input of ${what}`);
        if (declared === undefined || declared.datatype !== (tensor.datatype as Datatype | undefined))
          throw invalidArg(`${what} has an input that the model has not: ${textOf(tensor.name)}`);
        for (const dim of shape) expectAtLeast(dim, 0, `a dimension of ${what}`);
        if (!(tensor.bytes instanceof Uint8Array)) throw invalidArg(`input '${declared.name}' of ${what} has no bytes`);
        return { name: declared.name, datatype: declared.datatype, shape: shape as number[], bytes: tensor.bytes };
      }),
    };
  });
}

function expectList(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw invalidArg(`${what} must be a list, got ${textOf(value)}`);
  return value;
}
