// Values that a model of any signature takes, to show how it is called and to put load on it. Values are 1, 2, 3 and so on;
// dimensions are 1 where any size will do.

import type { CompleteTensorSpec } from '../model/complete-model-config.js';
import { DTYPES, type Dtype } from '../tensor/dtype.js';
import { Tensor } from '../tensor/tensor.js';

type Plain = number | string | boolean;

/** Without the batch axis. */
export function sampleShape({ shape }: CompleteTensorSpec): readonly number[] {
  return shape.map((dim) => (dim === -1 ? 1 : dim));
}

export function elementsOf(shape: readonly number[]): number {
  return shape.reduce((product, dim) => product * dim, 1);
}

/** The elements in their order, as JSON has them. */
export function samplePlain(spec: CompleteTensorSpec): readonly Plain[] {
  const { kind } = DTYPES[spec.dtype];
  return Array.from({ length: elementsOf(sampleShape(spec)) }, (_, index) => {
    if (kind === 'bytes') return 'text';
    return kind === 'bool' ? index % 2 === 0 : (index % 10) + 1;
  });
}

/** With `rows` rows, or without a batch axis. */
export function sampleTensor(spec: CompleteTensorSpec, rows: number | undefined): Tensor {
  const shape = [...(rows === undefined ? [] : [rows]), ...sampleShape(spec)];
  const row = samplePlain(spec);
  const values = Array.from({ length: rows ?? 1 }, () => row).flat();
  if (DTYPES[spec.dtype].kind === 'half') {
    return Tensor.fromFloat32(spec.dtype as 'float16' | 'bfloat16', Float32Array.from(values as number[]), shape);
  }
  if (spec.dtype === 'bytes') return new Tensor('string' as Dtype, values as string[], shape) as Tensor;
  return Tensor.from(spec.dtype, values, shape);
}
