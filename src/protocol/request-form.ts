// What both wires make of a request for inference, in two steps. The form can be read without a model. All else needs the
// one model that the request then runs on: the request is completed for it.

import { invalidArg } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest } from '../model/exchange.js';
import type { PacedWork } from '../model/paced-work.js';
import type { SharedMemoryAccess } from '../model/shared-memory.js';
import { type Datatype, DATATYPE_BYTE_SIZE, isDatatype } from '../tensor/dtype.js';

export interface CompleteRequest {
  readonly request: ModelInferRequest;
  /** How many classes are wanted of an output; undefined when none is to be classified. */
  readonly classes?: ReadonlyMap<string, number | bigint> | undefined;
}

export interface RequestForm<Complete extends CompleteRequest = CompleteRequest> {
  /**
   * Reads what depends on the model. Each call does so anew, since another model may have taken the place of the first.
   * Tensors may be views of the message or of shared memory. Throws INVALID_ARG, and what `sharedMemory` throws.
   */
  complete(config: CompleteModelConfig, sharedMemory: SharedMemoryAccess): PacedWork<Complete>;
}

/** The name under which the core refuses a datatype that is none, in its own order of checks. No model declares it. */
const UNKNOWN_DATATYPE = '<invalid>' as Datatype;

/** The datatype of that name, or Triton's name for what is none. */
export function inputDatatype(name: string): Datatype {
  return isDatatype(name) ? name : UNKNOWN_DATATYPE;
}

const MAX_INT64 = 9223372036854775807n;

/** Throws INVALID_ARG when the elements or the bytes of a shape do not fit int64. Negative dimensions are refused by the core. */
export function checkTensorSize(name: string, dims: readonly (number | bigint)[], datatype: string): void {
  if (dims.some((dim) => dim < 0)) return;
  const shape = `invalid shape for input '${name}': shape [${dims.join(',')}]`;
  if (dims.some((dim) => dim > MAX_INT64)) throw invalidArg(`${shape} contains one or more invalid dimensions`);
  const count = dims.reduce<bigint>((product, dim) => product * BigInt(dim), 1n);
  if (count > MAX_INT64) {
    throw invalidArg(`${shape} causes total element count to exceed maximum size of ${MAX_INT64}`);
  }
  const size = isDatatype(datatype) ? DATATYPE_BYTE_SIZE[datatype] : 0;
  if (count * BigInt(size) > MAX_INT64) {
    throw invalidArg(
      `byte size overflow for input '${name}': element count (${count}) * data type size (${size}) exceeds maximum allowed size (${MAX_INT64})`,
    );
  }
}
