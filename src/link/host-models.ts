// What a callable has of the server's other models: `context.models.Name.infer(…)`.

import { TritonError } from '../errors.js';
import type { CallableModel, CallableModels, ModelCaller, ModelCallOptions } from '../model/model-calls.js';
import { DTYPES, dtypeOf } from '../tensor/dtype.js';
import { decodeRaw, encodeRaw } from '../tensor/raw.js';
import { Tensor } from '../tensor/tensor.js';

export interface CallingBatch {
  readonly caller: ModelCaller;
  /** The models on whose behalf the batch runs, itself last. */
  readonly callers: readonly string[];
  /** Aborts when the batch's clients are gone. */
  readonly signal: AbortSignal;
}

/** Any name is there: whether the model exists is for the server to say. */
export function hostModels(batch: CallingBatch): CallableModels {
  return new Proxy<Record<string, CallableModel>>(Object.create(null) as Record<string, CallableModel>, {
    get: (_target, name) => (typeof name === 'string' ? hostModel(name, batch) : undefined),
  });
}

function hostModel(modelName: string, { caller, callers, signal }: CallingBatch): CallableModel {
  return {
    async infer(inputs, options: ModelCallOptions = {}) {
      const tensors = Object.entries(inputs).map(([name, tensor]) => {
        if (!Tensor.is(tensor))
          throw new TritonError(
            'INVALID_ARG',
            `input '${name}' for model '${modelName}' must be a Tensor, got ${typeof tensor}`,
          );
        const { dtype, data, shape } = tensor;
        // A copy: the caller may go on changing its tensor.
        return { name, datatype: DTYPES[dtype].datatype, shape: [...shape], bytes: encodeRaw(dtype, data) };
      });
      const outputs = await caller(
        {
          modelName,
          modelVersion: options.modelVersion === undefined ? '' : String(options.modelVersion),
          parameters: options.parameters,
          inputs: tensors,
          outputs: options.outputs ?? [],
          callers,
        },
        options.signal ?? signal,
      );
      return Object.fromEntries(
        outputs.map(({ name, datatype, shape, bytes }) => {
          const dtype = dtypeOf(datatype);
          return [name, new Tensor(dtype, decodeRaw(dtype, bytes), shape)];
        }),
      );
    },
  };
}
