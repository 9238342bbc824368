// Makes the outputs of different groups of rows equal in shape, for `groupByValues`.

import { textOf } from '../checks/check.js';
import { invalidArg, TritonError } from '../errors.js';
import { DTYPES, isBytesDtype, type DataOf, type Dtype } from '../tensor/dtype.js';
import { convertElements } from '../tensor/nested.js';
import { elementCount, formatShape, sameShape } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';

/** The outputs of one group of rows, by name, the rows in the first dimension. */
export type GroupOutputs = Readonly<Record<string, Tensor>>;

/** Gets the outputs of all groups, and returns them with equal dimensions after the first. */
export type PadFunc = (groups: readonly GroupOutputs[]) => readonly GroupOutputs[];

/**
 * Pads the outputs of all groups to the largest of their shapes, each dimension at its end: numbers with `value`,
 * strings and bytes with empty elements. PyTriton's `ConstantPadder`.
 *
 * @example
 * batch(groupByValues(['language'], generate, { padFn: constantPadder(0) }))
 */
export function constantPadder(value: number | bigint | boolean = 0): PadFunc {
  if (!['number', 'bigint', 'boolean'].includes(typeof value))
    throw invalidArg(`constantPadder takes a number, a bigint or a boolean, got ${textOf(value)}`);
  return (groups) => {
    const largest = new Map<string, number[]>();
    for (const outputs of groups) {
      for (const [name, { shape }] of Object.entries(outputs))
        largest.set(name, enlarge(largest.get(name), shape, name));
    }
    return groups.map((outputs) =>
      Object.fromEntries(
        Object.entries(outputs).map(([name, tensor]) => {
          const shape = [tensor.rowCount, ...largest.get(name)!];
          return [name, sameShape(tensor.shape, shape) ? tensor : padded(tensor, shape, { name, value })];
        }),
      ),
    );
  };
}

function enlarge(largest: readonly number[] | undefined, shape: readonly number[], name: string): number[] {
  const row = shape.slice(1);
  if (largest === undefined) return row;
  if (largest.length !== row.length) {
    throw new TritonError(
      'INTERNAL',
      `constantPadder cannot pad output '${name}': its groups have rows of shape ${formatShape(largest)} and ${formatShape(row)}, expected as many dimensions in all`,
    );
  }
  return row.map((dim, axis) => Math.max(dim, largest[axis]!));
}

interface Padding {
  readonly name: string;
  readonly value: number | bigint | boolean;
}

function padded(tensor: Tensor, shape: readonly number[], padding: Padding): Tensor {
  const data = filled(tensor.dtype, elementCount(shape), padding) as unknown[];
  const source = tensor.data as readonly unknown[];
  // Offsets of the source's elements in the larger shape: all but the last axis step by step, the last as a run.
  const run = tensor.shape.at(-1)!;
  const runs = run === 0 ? 0 : source.length / run;
  const at = tensor.shape.map(() => 0);
  for (let index = 0; index < runs; index++) {
    let offset = 0;
    for (let axis = 0; axis < shape.length; axis++) offset = offset * shape[axis]! + at[axis]!;
    for (let i = 0; i < run; i++) data[offset + i] = source[index * run + i];
    for (let axis = shape.length - 2; axis >= 0; axis--) {
      at[axis]!++;
      if (at[axis]! < tensor.shape[axis]!) break;
      at[axis] = 0;
    }
  }
  return new Tensor(tensor.dtype, data as never, shape);
}

function filled(dtype: Dtype, length: number, { name, value }: Padding): DataOf[Dtype] {
  if (isBytesDtype(dtype)) {
    const empty = dtype === 'string' ? '' : new Uint8Array(0);
    return Array.from({ length }, () => empty) as DataOf[Dtype];
  }
  let element: number;
  try {
    element = convertElements(dtype, [value])[0] as number;
  } catch {
    throw new TritonError(
      'INTERNAL',
      `constantPadder cannot pad output '${name}' with ${value}, which does not fit ${dtype}`,
    );
  }
  return new (DTYPES[dtype].array as Float32ArrayConstructor)(length).fill(element) as never;
}
