// A version of a model whose callable is a JavaScript or TypeScript module: `backend: "tstriton"`. Where the module declares its
// model, the configuration completes that or says the same; where it exports a callable alone, the configuration says all.

import { pathToFileURL } from 'node:url';

import { invalidArg } from '../errors.js';
import type { CompleteTensorSpec } from '../model/complete-model-config.js';
import { instanceGroup } from '../model/instance-group.js';
import type { ModelConfig } from '../model/model-config.js';
import type { TensorSpec } from '../model/tensor-spec.js';
import type { TensorJson } from '../protocol/config-message.js';
import { configTypeOf, dtypeOfConfig } from '../protocol/model-signature.js';
import type { Dtype } from '../tensor/dtype.js';
import { refused } from './check-config.js';
import type { Declaration } from './declaration.js';
import type { VersionFiles, VersionModel } from './version-model.js';
import { readDeclaration } from './read-declaration.js';
import { optionsOf, type WrittenConfig } from './written-config.js';

export async function moduleModel(
  written: WrittenConfig,
  { version, path, findInputFile, labels, signal }: VersionFiles,
): Promise<VersionModel> {
  const { name, json, instanceCount } = written;
  const reshaped = [...json.input, ...json.output].find(({ reshape }) => reshape !== undefined);
  if (reshaped !== undefined)
    throw refused(
      `reshape of '${reshaped.name}'`,
      name,
      'the callable gets tensors as clients send them, and can `reshape` them',
    );
  const url = pathToFileURL(path).href;
  const declaration = await readDeclaration({ url, name, version }, signal);
  const common = { modelName: name, modelVersion: version, inferFunc: instanceGroup(url, { count: instanceCount }) };
  if (declaration === undefined) {
    if (json.input.length === 0 || json.output.length === 0) {
      throw invalidArg(
        `model '${name}' must specify inputs and outputs: neither config.pbtxt nor the module ${path} declares them`,
      );
    }
    return {
      ...common,
      inputs: json.input.map(specOf),
      outputs: json.output.map((tensor) => ({ ...specOf(tensor), ...labelled(tensor.name, labels) })),
      config: {
        ...optionsOf(written, json.max_batch_size, findInputFile),
        decoupled: json.model_transaction_policy?.decoupled ?? false,
      },
    };
  }
  checkTensors('input', json.input, declaration.inputs, name);
  checkTensors('output', json.output, declaration.outputs, name);
  const inputs = declaration.inputs.map(plainSpec);
  return {
    ...common,
    inputs: declaration.listsInputs ? inputs : Object.fromEntries(inputs.map((input) => [input.name, input])),
    outputs: declaration.outputs.map((output) => ({ ...plainSpec(output), ...labelled(output.name, labels) })),
    strict: declaration.strict,
    ...declaration.shown,
    config: merged(written, declaration, findInputFile),
  };
}

/** What the module declares, with what the configuration says beside it or otherwise. */
function merged(
  written: WrittenConfig,
  { config, batching, maxBatchSize, decoupled }: Declaration,
  findInputFile: VersionFiles['findInputFile'],
): ModelConfig {
  const { json, name } = written;
  if (json.max_batch_size > 0 && !batching) {
    throw invalidArg(
      `autofill failed for model '${name}': model does not support batching while non-zero max_batch_size is specified`,
    );
  }
  const streams = json.model_transaction_policy?.decoupled ?? decoupled;
  if (streams !== decoupled) {
    throw invalidArg(
      `model_transaction_policy.decoupled of model '${name}' is ${streams}, but its module declares ${decoupled}`,
    );
  }
  const size = json.max_batch_size > 0 ? json.max_batch_size : batching ? maxBatchSize : 0;
  const { batcher, modelWarmup = [], responseCache, ...options } = optionsOf(written, size, findInputFile);
  return {
    ...config,
    ...options,
    ...(json.dynamic_batching === undefined ? {} : { batcher }),
    ...(responseCache ? { responseCache } : {}),
    ...(modelWarmup.length === 0 ? {} : { modelWarmup }),
  };
}

function specOf({ name, data_type: dataType, dims, optional = false }: TensorJson): TensorSpec {
  return { name, dtype: plainDtypeOf(dataType), shape: dims.map(Number), ...(optional ? { optional } : {}) };
}

function plainSpec(spec: CompleteTensorSpec): TensorSpec & { readonly name: string } {
  const { name, dtype, shape, optional, labels, contentEncoding, description, boxes } = spec;
  return {
    name,
    dtype,
    shape,
    ...(optional && { optional }),
    ...(labels && { labels }),
    ...(contentEncoding && { contentEncoding }),
    ...(description && { description }),
    ...(boxes && { boxes }),
  };
}

function labelled(name: string, labels: VersionFiles['labels']) {
  const own = labels.get(name);
  return own === undefined ? {} : { labels: own };
}

/** TYPE_STRING is text where a callable has no declaration that says otherwise. */
function plainDtypeOf(dataType: string): Dtype {
  const dtype = dtypeOfConfig(dataType);
  return dtype === 'bytes' ? 'string' : dtype;
}

/** Inputs or outputs in a configuration must match the model's, in any order. */
function checkTensors(
  kind: 'input' | 'output',
  given: readonly TensorJson[],
  declared: readonly CompleteTensorSpec[],
  model: string,
): void {
  if (given.length === 0) return;
  for (const { name, data_type: dataType, dims, optional = false } of given) {
    const own = declared.find((spec) => spec.name === name);
    if (own === undefined) {
      const expected = declared.map((spec) => `'${spec.name}'`).join(', ');
      throw invalidArg(
        `unexpected inference ${kind} '${name}' for model '${model}', allowed ${kind}s are: ${expected}`,
      );
    }
    const expected = configTypeOf(own.datatype);
    if (dataType !== expected) {
      throw invalidArg(
        `unable to load model '${model}', configuration expects datatype ${dataType} for ${kind} '${name}', model provides ${expected}`,
      );
    }
    if (dims.join() !== own.shape.join()) {
      throw invalidArg(
        `model '${model}', tensor '${name}': the model expects dims [${own.shape.join()}] but the model configuration specifies dims [${dims.join()}]`,
      );
    }
    if (optional && !own.optional)
      throw invalidArg(`${kind} '${name}' of model '${model}' is optional, but not for its module`);
  }
  const missing = declared.find((spec) => !given.some(({ name }) => name === spec.name));
  if (missing !== undefined)
    throw invalidArg(`the configuration of model '${model}' lacks its ${kind} '${missing.name}'`);
}
