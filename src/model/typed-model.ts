// Another model of the server by its declaration: its tensors have the declared types. Over the wire strings and
// bytes are the same; here a declaration tells them apart.

import { TritonError } from '../errors.js';
import { DTYPES, type Dtype } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';
import type { ModelSpec } from './callable.js';
import { completeTensorSpecs } from './complete-tensor-specs.js';
import type { CallableModel, CallableModels, ModelCallOptions, TypedModel } from './model-calls.js';
import type { TensorSpecs } from './tensor-spec.js';

type Tensors = Readonly<Record<string, Tensor>>;

/** The model that `spec` declares, of these. Its version is the declared one, or else the latest that is ready. */
export function typedModel<I extends TensorSpecs, O extends TensorSpecs>(
  models: CallableModels,
  spec: ModelSpec<I, O>,
): TypedModel<I, O> {
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
    infer: async (inputs, options = {}) => typed(await models[modelName]!.infer(inputs, versioned(options))),
    async *stream(inputs, options = {}) {
      for await (const tensors of models[modelName]!.stream(inputs, versioned(options))) yield typed(tensors);
    },
  };
  return model as unknown as TypedModel<I, O>;
}

/** Looked up once per declaration: a callable asks for its models with every batch. */
const known = new WeakMap<object, ReadonlyMap<string, Dtype>>();

function outputDtypes({ modelName, outputs }: Pick<ModelSpec, 'modelName' | 'outputs'>): ReadonlyMap<string, Dtype> {
  let dtypes = known.get(outputs);
  if (dtypes === undefined) {
    const specs = completeTensorSpecs(outputs, 'output', `model '${modelName}'`);
    dtypes = new Map(specs.map(({ name, dtype }) => [name, dtype]));
    known.set(outputs, dtypes);
  }
  return dtypes;
}

function asDeclared(
  tensor: Tensor,
  dtype: Dtype | undefined,
  { name, modelName }: { readonly name: string; readonly modelName: string },
): Tensor {
  if (dtype === undefined || dtype === tensor.dtype) return tensor;
  if (dtype === 'string' && tensor.dtype === 'bytes') return new Tensor('string', tensor.strings(), tensor.shape);
  const [got, expected] = [DTYPES[tensor.dtype].datatype, DTYPES[dtype].datatype];
  throw new TritonError('INTERNAL', `output '${name}' of model '${modelName}' is ${got}, expected ${expected}`);
}
