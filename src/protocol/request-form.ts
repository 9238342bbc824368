// Both protocols decode a request for inference in two steps. The first step reads its form, without a model. The second step
// completes the request for the model that it runs on.

import { invalidArg } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { ModelInferRequest } from '../model/exchange.js';
import type { PacedWork } from '../pacing/paced-work.js';
import type { SharedMemoryAccess } from '../model/shared-memory.js';
import { type Datatype, DATATYPE_BYTE_SIZE, isDatatype } from '../tensor/dtype.js';

export interface CompleteRequest {
  readonly request: ModelInferRequest;
  /** The number of classes for each classified output; undefined without such an output. */
  readonly classes?: ReadonlyMap<string, number | bigint> | undefined;
}

export interface RequestForm<Complete extends CompleteRequest = CompleteRequest> {
  /**
   * Reads the parts that depend on the model. Each call reads them anew, because another model may have replaced the
   * first. Tensors may be views of the message or of shared memory. Throws INVALID_ARG, and the errors of
   * `sharedMemory`.
   */
  complete(config: CompleteModelConfig, sharedMemory: SharedMemoryAccess): PacedWork<Complete>;
}

/** The core refuses an unknown datatype under this name, in its own order of checks. No model declares it. */
const UNKNOWN_DATATYPE = '<invalid>' as Datatype;

/** The datatype of that name, or a name for unknown ones, which Triton uses too. */
export function inputDatatype(name: string): Datatype {
  return isDatatype(name) ? name : UNKNOWN_DATATYPE;
}

const MAX_INT64 = 9223372036854775807n;

/**
 * Throws INVALID_ARG when the elements or the bytes of a shape do not fit int64. The core refuses negative dimensions.
 */
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
