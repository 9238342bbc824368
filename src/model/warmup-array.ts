// The input of a warm-up request from an array of numpy's, as PyTriton takes it: repeated or cut to the rows of the request.

import { invalidArg } from '../errors.js';
import { type Dtype, isBytesDtype } from '../tensor/dtype.js';
import { encodeRaw } from '../tensor/raw.js';
import { readNpy } from '../tensor/read-npy.js';

export interface WarmupArray {
  /** The file, for messages. */
  readonly file: string;
  readonly dtype: Dtype;
  /** Without the batch axis. */
  readonly shape: readonly number[];
  /** Undefined without a batch axis. */
  readonly rows: number | undefined;
}

/**
 * The bytes of the input in wire form. An array without the batch axis is every row; one with more or fewer rows is cut or
 * repeated. Throws INVALID_ARG for other shapes, and for numbers that the dtype does not have. `what` names the input.
 */
export function warmupArray(bytes: Uint8Array, { file, dtype, shape, rows }: WarmupArray, what: string): Uint8Array {
  const array = readNpy(bytes, file);
  if (isBytesDtype(array.dtype)) {
    throw invalidArg(`${what}: ${file} has texts, expected numbers; a file in wire form may have texts`);
  }
  const given = encodeRaw(dtype, (array.dtype === dtype ? array : array.cast(dtype)).data);
  if (rows === undefined) {
    if (isSame(array.shape, shape)) return given;
    throw invalidArg(`${what} has the shape [${shape.join()}], but ${file} has an array of [${array.shape.join()}]`);
  }
  const hasRows = array.shape.length > shape.length;
  const givenRows = hasRows ? array.shape[0]! : 1;
  if (!isSame(hasRows ? array.shape.slice(1) : array.shape, shape) || givenRows === 0) {
    throw invalidArg(
      `${what} has rows of the shape [${shape.join()}], but ${file} has an array of [${array.shape.join()}], expected [${shape.join()}] or [${['rows', ...shape].join()}]`,
    );
  }
  return repeatedTo((given.length / givenRows) * rows, given);
}

function repeatedTo(size: number, part: Uint8Array): Uint8Array {
  if (size <= part.length) return part.subarray(0, size);
  const whole = new Uint8Array(size);
  for (let at = 0; at < size; at += part.length) whole.set(part.subarray(0, size - at), at);
  return whole;
}

function isSame(a: readonly number[], b: readonly number[]): boolean {
  return a.length === b.length && a.every((dim, axis) => dim === b[axis]);
}
