// Limits the parts of one request. A byte or two of a message can create an object of a hundred bytes. So parts that
// become objects or are looked up by name are counted. The limits are far beyond the needs of any model, and far below
// the point where a server slows down. Work in proportion to the bytes is not limited here, but paced.

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
  /** Elements of BYTES tensors. Each becomes an object in an array, which has no room for many more. */
  bytesElements: 64 * 1024 * 1024,
  /** Fields of a protobuf message at all its levels, but for the elements of typed tensor contents. */
  fields: 200_000,
  /** Bytes of a request other than inference. */
  controlBytes: 1024 * 1024,
  /** Fields of such a request as a protobuf message, and members of it as JSON. */
  controlFields: 4096,
  /** Bytes of a tensor that is given as protobuf numbers. */
  contentsBytes: 2 ** 31 - 1,
} as const;

/** The refusal of a request beyond a limit; it says `more`, because nothing counts beyond the limit. */
export function beyondLimit(what: string, limit: number): TritonError {
  return invalidArg(`expected a request with at most ${limit} ${what}, got more`);
}
