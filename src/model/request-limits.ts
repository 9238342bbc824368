// How much of each kind one request may have. A byte or two of a message can ask for an object of a hundred, so that what
// becomes an object, or is looked up by name, is counted: far beyond what any model has, and far below where it would
// slow a server down. What only takes time in proportion to its bytes is not limited here, but paced.

import { invalidArg, type TritonError } from '../errors.js';

export const REQUEST_LIMITS = {
  /** Inputs. */
  inputs: 4096,
  /** Requested outputs. */
  outputs: 4096,
  /** Dimensions of a tensor; numpy and PyTorch have at most 64. */
  rank: 64,
  /** Parameters of a request, and as many members of a generate request. */
  parameters: 1024,
  /** Parameters of one tensor. */
  tensorParameters: 64,
  /** Bytes of a name, an id, a datatype or a version. */
  nameBytes: 64 * 1024,
  /** Bytes of the names and texts of a request's parameters together. */
  parameterBytes: 4 * 1024 * 1024,
  /** Elements of BYTES tensors: each becomes an object of the callable's. */
  bytesElements: 1024 * 1024,
  /** Fields of a protobuf message at all its levels, but for the elements of typed tensor contents. */
  fields: 200_000,
  /** Bytes of a request that is no inference. */
  controlBytes: 1024 * 1024,
  /** Fields of such a request as a protobuf message, and members of it as JSON. */
  controlFields: 4096,
  /** Bytes of a tensor that is given as protobuf numbers. */
  contentsBytes: 2 ** 31 - 1,
} as const;

/** Refuses a request that has more of something than a request may have: `got` as far as it was counted. */
export function beyondLimit(what: string, limit: number): TritonError {
  return invalidArg(`expected a request with at most ${limit} ${what}, got more`);
}
