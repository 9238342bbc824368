// The arguments of `inferSample` and `inferBatch`: inputs by name, as a list, or one by one in declaration order. Options come last.

import { Tensor } from '../../tensor/tensor.js';
import { isForeignTensor } from '../../tensor/foreign-tensor.js';

export interface InferArguments {
  /** A record by name, or a list in declaration order; still to be checked. */
  readonly inputs: unknown;
  readonly options: unknown;
}

/**
 * A single array is the list of all inputs, as it always was. If the second of two arguments is a value, both are inputs,
 * whatever the first is.
 */
export function inferArguments(args: readonly unknown[]): InferArguments {
  const given = withoutTrailingUndefined(args);
  const [first, second] = given;
  const last = given.at(-1);
  const options = given.length > 1 && isPlainObject(last) ? last : undefined;
  const values = options === undefined ? given : given.slice(0, -1);
  const isWhole = values.length === 1 && (Array.isArray(first) || isPlainObject(first));
  if (isWhole) return { inputs: first, options };
  // A record, and something in the place of options: the check of options reports it.
  if (isPlainObject(first)) return { inputs: first, options: second };
  return { inputs: values, options };
}

function withoutTrailingUndefined(args: readonly unknown[]): readonly unknown[] {
  let length = args.length;
  while (length > 0 && args[length - 1] === undefined) length--;
  return args.slice(0, length);
}

/** Whether this is an object, but not an input's value: a record of inputs, or options. */
function isPlainObject(value: unknown): boolean {
  if (typeof value !== 'object' || value === null || Array.isArray(value) || ArrayBuffer.isView(value)) return false;
  return !Tensor.is(value) && !isForeignTensor(value);
}
