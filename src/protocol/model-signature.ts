// Reads the part of a model that a client needs before its first request: the tensors, and whether they have a batch
// axis. A server gives both in the model's configuration.

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import { type Datatype, type Dtype, dtypeOf, isDatatype } from '../tensor/dtype.js';

export type ModelSignature = Pick<CompleteModelConfig, 'name' | 'inputs' | 'outputs' | 'maxBatchSize' | 'decoupled'>;

/** The `data_type` that a configuration gives a datatype. */
export function configTypeOf(datatype: Datatype): string {
  return datatype === 'BYTES' ? 'TYPE_STRING' : `TYPE_${datatype}`;
}

/** The datatype of a configuration's `data_type`: `TYPE_FP32` is FP32, `TYPE_STRING` is BYTES. Throws INTERNAL. */
export function datatypeOfConfig(dataType: string): Datatype {
  const name = dataType === 'TYPE_STRING' ? 'BYTES' : dataType.replace(/^TYPE_/, '');
  if (name !== dataType && isDatatype(name)) return name;
  throw new TritonError('INTERNAL', `unknown data_type '${dataType}' in the model configuration`);
}

/** The dtype of a configuration's `data_type`; BYTES become `bytes`. Throws INTERNAL. */
export function dtypeOfConfig(dataType: string): Dtype {
  return dtypeOf(datatypeOfConfig(dataType));
}
