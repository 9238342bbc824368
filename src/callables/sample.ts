// The decorator for models that take one sample at a time.

import { TritonError } from '../errors.js';
import type { InferenceContext, InferenceRequest, InferFunc, TensorFunc } from '../model/callable.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { markDecorated } from '../model/decorated.js';
import { finishResult } from '../model/map-outputs.js';
import { resolveOutputs } from '../model/resolve-outputs.js';
import type { TensorSpecs } from '../model/tensor-spec.js';
import type { Tensor } from '../tensor/tensor.js';

type Tensors = Readonly<Record<string, Tensor>>;

/**
 * `fn` gets the tensors of one sample and returns its outputs, all of the declared shapes without a batch axis.
 * For models with `batching: false`, or with `maxBatchSize: 1`. PyTriton's `@sample`.
 *
 * @example
 * sample(({ image }) => ({ label: [classify(image)] }))
 */
export function sample<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean>(
  fn: TensorFunc<I, O, Decoupled>,
): InferFunc<I, O, Decoupled> {
  const sampled = (requests: readonly InferenceRequest<I>[], context: InferenceContext<I>): unknown => {
    const [request] = requests;
    if (request === undefined || requests.length > 1) {
      throw new TritonError('INTERNAL', `sample takes one request at a time, got ${requests.length}`);
    }
    const batching = context.modelConfig.maxBatchSize > 0;
    const inputs = request.inputs as Tensors;
    const result = (fn as (inputs: Tensors, context: InferenceContext<I>) => unknown)(
      batching ? withoutBatchAxis(inputs) : inputs,
      context,
    );
    const { modelConfig } = context;
    return finishResult(result, modelConfig, (outputs) => [batching ? withBatchAxis(outputs, modelConfig) : outputs]);
  };
  return markDecorated(sampled as unknown as InferFunc<I, O, Decoupled>, 'sample', fn);
}

function withoutBatchAxis(inputs: Tensors): Tensors {
  return Object.fromEntries(
    Object.entries(inputs).map(([name, tensor]) => {
      if (tensor.rowCount !== 1)
        throw new TritonError('INTERNAL', `sample takes one row, got ${tensor.rowCount} rows of input '${name}'`);
      return [name, tensor.row(0)];
    }),
  );
}

function withBatchAxis(result: unknown, modelConfig: CompleteModelConfig): Tensors {
  // Resolved as if the model did not batch: the callable knows nothing of a batch axis.
  const outputs = resolveOutputs(result, { ...modelConfig, maxBatchSize: 0 }, 1);
  const record: Record<string, Tensor> = {};
  outputs.forEach((tensor, index) => {
    if (tensor !== undefined) record[modelConfig.outputs[index]!.name] = tensor.reshape([1, ...tensor.shape]);
  });
  return record;
}
