// Gives another model of the server the types of its declaration. Strings and bytes are the same over the wire; the
// declaration tells them apart.

import { invalidArg, TritonError } from '../errors.js';
import { type Dtype, DTYPES } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';
import type { ModelSpec } from './callable.js';
import { completeTensorSpecs } from './complete-tensor-specs.js';
import type { CallableModel, CallableModels, ModelCallOptions, TypedModel } from './model-calls.js';
import type { TensorSpecs } from './tensor-spec.js';

type Tensors = Readonly<Record<string, Tensor>>;

/** The model of `spec` among `models`. Its version is the declared one, or else the latest ready one. */
export function typedModel<I extends TensorSpecs, O extends TensorSpecs, Strict extends boolean>(
  models: CallableModels,
  spec: ModelSpec<I, O, boolean, Strict>,
): TypedModel<I, O, Strict> {
  const { modelName, modelVersion } = spec;
  const declared = outputDtypes(spec);
  const typed = (tensors: Tensors) =>
    Object.fromEntries(
      Object.entries(tensors).map(([name, tensor]) => [
        name,
        asDeclared(tensor, declared.get(name), { name, modelName }),
      ]),
    );
  const versioned = (options: ModelCallOptions) =>
    modelVersion === undefined ? options : { modelVersion, ...options };
  const model: CallableModel = {
    infer: async (inputs, options = {}) => {
      return typed(await models[modelName]!.infer(named(inputs, spec), versioned(options)));
    },
    async *stream(inputs, options = {}) {
      const given = named(inputs, spec);
      for await (const tensors of models[modelName]!.stream(given, versioned(options))) yield typed(tensors);
    },
  };
  return model as unknown as TypedModel<I, O, Strict>;
}

/** Kept per declaration, because a callable asks for its models with every batch. */
const known = { dtypes: new WeakMap<object, ReadonlyMap<string, Dtype>>(), names: new WeakMap<object, string[]>() };

function outputDtypes({ modelName, outputs }: Pick<ModelSpec, 'modelName' | 'outputs'>): ReadonlyMap<string, Dtype> {
  let dtypes = known.dtypes.get(outputs);
  if (dtypes === undefined) {
    const specs = completeTensorSpecs(outputs, 'output', `model '${modelName}'`);
    dtypes = new Map(specs.map(({ name, dtype }) => [name, dtype]));
    known.dtypes.set(outputs, dtypes);
  }
  return dtypes;
}

function inputNames({ modelName, inputs }: Pick<ModelSpec, 'modelName' | 'inputs'>): readonly string[] {
  let names = known.names.get(inputs);
  if (names === undefined) {
    names = completeTensorSpecs(inputs, 'input', `model '${modelName}'`).map(({ name }) => name);
    known.names.set(inputs, names);
  }
  return names;
}

/** A list of tensors as a record, by their positions. */
function named(inputs: Tensors, spec: Pick<ModelSpec, 'modelName' | 'inputs'>): Tensors {
  if (!Array.isArray(inputs)) return inputs;
  const list = inputs as readonly (Tensor | undefined)[];
  const names = inputNames(spec);
  if (list.length > names.length) {
    throw invalidArg(
      `model '${spec.modelName}' has ${names.length} inputs (${names.join(', ')}), got a list of ${list.length}`,
    );
  }
  const entries = names.map((name, position) => [name, list[position]] as const);
  return Object.fromEntries(entries.filter((entry): entry is [string, Tensor] => entry[1] !== undefined));
}

function asDeclared(
  tensor: Tensor<Dtype>,
  dtype: Dtype | undefined,
  { name, modelName }: { readonly name: string; readonly modelName: string },
): Tensor {
  if (dtype === undefined || dtype === tensor.dtype) return tensor;
  if (dtype === 'string' && tensor.dtype === 'bytes') return new Tensor('string', tensor.strings(), tensor.shape);
  const [got, expected] = [DTYPES[tensor.dtype].datatype, DTYPES[dtype].datatype];
  throw new TritonError('INTERNAL', `output '${name}' of model '${modelName}' is ${got}, expected ${expected}`);
}
