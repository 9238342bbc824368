// `sample` is for models that take one sample at a time.

import { TritonError } from '../errors.js';
import type { LooseTensorFunc } from '../model/bound-model.js';
import type { AnyInferFunc } from '../model/callable-function.js';
import type { InferenceContext, InferenceRequest, InferFunc, TensorFunc } from '../model/callable.js';
import { markDecorated } from '../model/decorated.js';
import { outputsOf, withOutputs } from '../model/response-outputs.js';
import { inFormOf } from '../model/input-list.js';
import { finishResult } from '../model/map-outputs.js';
import type { InputsOrAny, TakenInputs, TensorSpecs, Unchecked } from '../model/tensor-spec.js';
import { type AnyMethod, type AnyTensorFunc, expectContext, outputsByName, type Tensors } from './decorator-parts.js';

/**
 * `fn` gets the tensors of one sample and returns its outputs, all of the declared shapes without a batch axis.
 * For models with `batching: false`, or with `maxBatchSize: 1`. PyTriton's `@sample`.
 *
 * @example
 * sample(({ image }) => ({ label: [classify(image)] }))
 */
export function sample<
  I extends TensorSpecs = TensorSpecs,
  O extends TensorSpecs = TensorSpecs,
  Decoupled extends boolean = Unchecked,
  T = InputsOrAny<I>,
  Loose = never,
>(
  fn: TensorFunc<I, O, Decoupled, T> | LooseTensorFunc<Loose, T, O, Decoupled>,
  decorated?: undefined,
): InferFunc<I, O, Decoupled, TakenInputs<T>>;
/** As a decorator of a method: `@sample infer(inputs, context) {…}`. */
export function sample<Method extends AnyMethod>(method: Method, decorated: ClassMethodDecoratorContext): Method;
export function sample(fn: AnyMethod, decorated?: ClassMethodDecoratorContext): AnyInferFunc {
  const infer = fn as AnyTensorFunc;
  function sampled(this: unknown, requests: readonly InferenceRequest[], context: InferenceContext): unknown {
    const { modelConfig } = expectContext(context, 'sample');
    const [request] = requests;
    if (request === undefined || requests.length > 1) {
      throw new TritonError('INTERNAL', `sample takes one request at a time, got ${requests.length}`);
    }
    const batching = modelConfig.maxBatchSize > 0;
    const inputs = request.inputs as Tensors;
    const result = infer.call(this, batching ? withoutBatchAxis(inputs) : inputs, context);
    return finishResult(result, modelConfig, (step) => [
      batching ? withOutputs(step, withBatchAxis(outputsOf(step), context)) : step,
    ]);
  }
  return markDecorated(sampled, 'sample', fn, { decorated });
}

function withoutBatchAxis(inputs: Tensors): Tensors {
  const rows = Object.fromEntries(
    Object.entries(inputs).map(([name, tensor]) => {
      if (tensor.rowCount !== 1)
        throw new TritonError('INTERNAL', `sample takes one row, got ${tensor.rowCount} rows of input '${name}'`);
      return [name, tensor.row(0)];
    }),
  );
  return inFormOf(inputs, rows);
}

function withBatchAxis(result: unknown, context: InferenceContext): Tensors {
  // The outputs are resolved as if the model did not batch, because the callable sees no batch axis.
  const outputs = outputsByName(result, 1, context, { ...context.modelConfig, maxBatchSize: 0 });
  return Object.fromEntries(
    Object.entries(outputs).map(([name, tensor]) => [name, tensor.reshape([1, ...tensor.shape])]),
  );
}
