// Inputs of a request whose values do not matter.

import type { ModelSignature } from '../../protocol/model-signature.js';
import { DTYPES, dtypeOf, type Dtype } from '../../tensor/dtype.js';
import { elementCount } from '../../tensor/shape.js';
import { Tensor } from '../../tensor/tensor.js';
import { encodeInputs } from './encode-inputs.js';

const EMPTY = new Uint8Array(0);

/** Zeros and empty strings, in the shapes of the inputs of one sample. Throws INVALID_ARG if these do not fit. */
export function zeroInputs(like: unknown, model: ModelSignature): Readonly<Record<string, Tensor>> {
  const zeros = encodeInputs(like, model, 'sample').map(({ name, datatype, shape }) => {
    const dtype: Dtype = dtypeOf(datatype);
    const { array: Data } = DTYPES[dtype];
    const count = elementCount(shape);
    const data = Data === undefined ? Array.from({ length: count }, () => EMPTY) : new Data(count);
    return [name, new Tensor(dtype, data as never, model.maxBatchSize > 0 ? shape.slice(1) : shape)] as const;
  });
  return Object.fromEntries(zeros);
}
