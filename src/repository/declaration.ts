// What a module in a model repository declares of its model, as plain data that crosses from the thread that imported it.

import { invalidArg } from '../errors.js';
import type { ExportedBinding } from '../host/load-callable-module.js';
import { checkMembers } from '../checks/check.js';
import type { ModelSpec } from '../model/callable.js';
import type { CompleteTensorSpec } from '../model/complete-model-config.js';
import { completeSignature } from '../model/complete-signature.js';
import type { ModelConfig } from '../model/model-config.js';
import { servedSpecs } from '../model/served-specs.js';
import type { ModelWarmup } from '../model/model-warmup.js';
import { DTYPES, parseDtype } from '../tensor/dtype.js';

export interface Declaration {
  readonly inputs: readonly CompleteTensorSpec[];
  readonly outputs: readonly CompleteTensorSpec[];
  /** Whether callables get the inputs by position too. */
  readonly listsInputs: boolean;
  readonly strict: boolean;
  /** The model's route, and its purpose for clients. */
  readonly shown: Pick<ModelSpec, 'route' | 'description' | 'openai'>;
  readonly config: ModelConfig;
  readonly decoupled: boolean;
  readonly batching: boolean;
  /** The declared or default one. */
  readonly maxBatchSize: number;
}

/** Throws INVALID_ARG for what `bind` would refuse, and for what the repository says instead. */
export function declarationOf(
  binding: ExportedBinding,
  folder: { readonly name: string; readonly version: number },
): Declaration {
  const { name, version } = folder;
  const spec = { modelName: name, ...binding } as unknown as ModelSpec;
  const { decoupled, batching, maxBatchSize, ...signature } = completeSignature(spec);
  if (spec.modelName !== name) {
    throw invalidArg(
      `unexpected directory name '${name}' for model '${spec.modelName}', directory name must equal model name`,
    );
  }
  if (spec.modelVersion !== undefined && spec.modelVersion !== version)
    throw invalidArg(
      `the module declares version ${spec.modelVersion} of model '${name}', but lies in the folder of version ${version}`,
    );
  const config = spec.config ?? {};
  if (config.versionPolicy !== undefined)
    throw invalidArg(
      `the module of model '${name}' declares a versionPolicy; in a model repository it belongs into config.pbtxt`,
    );
  const where = `model '${name}'`;
  return {
    inputs: servedSpecs(spec.inputs, signature.inputs, 'input', where),
    outputs: servedSpecs(spec.outputs, signature.outputs, 'output', where),
    listsInputs: Array.isArray(spec.inputs),
    strict: spec.strict ?? false,
    shown: {
      ...(spec.route !== undefined && { route: spec.route }),
      ...(spec.description !== undefined && { description: spec.description }),
      ...(spec.openai !== undefined && { openai: spec.openai }),
    },
    config: { ...config, ...(config.modelWarmup && { modelWarmup: config.modelWarmup.map(plainWarmup) }) },
    decoupled,
    batching,
    maxBatchSize,
  };
}

/** A dtype may be declared by a class, which no thread takes. */
function plainWarmup(warmup: ModelWarmup): ModelWarmup {
  checkMembers(warmup.inputs, Object.keys(warmup.inputs ?? {}), 'inputs of a warm-up');
  return {
    ...warmup,
    inputs: Object.fromEntries(
      Object.entries(warmup.inputs).map(([name, input]) => [
        name,
        { ...input, dtype: DTYPES[parseDtype(input.dtype)].datatype },
      ]),
    ),
  };
}
