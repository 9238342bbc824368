// The models that both recorded servers served, in TypeScript: identities of every datatype, sums and differences.
import { Tensor, TritonError, type ErrorCode, type Triton } from 'tstriton';

const IDENTITY_DTYPES = {
  id_bool: 'bool',
  id_uint8: 'uint8',
  id_uint16: 'uint16',
  id_uint32: 'uint32',
  id_uint64: 'uint64',
  id_int8: 'int8',
  id_int16: 'int16',
  id_int32: 'int32',
  id_int64: 'int64',
  id_fp16: 'float16',
  id_bf16: 'bfloat16',
  id_fp32: 'float32',
  id_fp64: 'float64',
  id_bytes: 'bytes',
} as const;

export const IDENTITIES: readonly string[] = Object.keys(IDENTITY_DTYPES);

export function bindIdentities(triton: Triton): void {
  for (const [modelName, dtype] of Object.entries(IDENTITY_DTYPES)) {
    triton.bind({
      modelName,
      inferFunc: (requests) => requests,
      inputs: { x: { dtype, shape: [-1] } },
      outputs: { y: { dtype, shape: [-1] } },
      config: { maxBatchSize: 8 },
    });
  }
}

export function bindAddSub(triton: Triton): void {
  triton.bind({
    modelName: 'addsub',
    inferFunc: (requests) =>
      requests.map(({ inputs: { a, b } }) => ({
        add: broadcast(a, b, (x, y) => x + y),
        sub: broadcast(a, b, (x, y) => x - y),
      })),
    inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
    outputs: { add: { dtype: 'float32', shape: [-1] }, sub: { dtype: 'float32', shape: [-1] } },
    config: { maxBatchSize: 16 },
  });
}

export function bindNobatch(triton: Triton): void {
  triton.bind({
    modelName: 'nobatch',
    inferFunc: (requests) =>
      requests.map(({ inputs: { m } }) => ({
        sum: BigInt64Array.of(m.data.reduce((sum, value) => sum + BigInt(value), 0n)),
      })),
    inputs: { m: { dtype: 'int32', shape: [2, -1] } },
    outputs: { sum: { dtype: 'int64', shape: [1] } },
    config: { batching: false },
  });
}

export function bindOptional(triton: Triton): void {
  triton.bind({
    modelName: 'optional',
    inferFunc: (requests) =>
      requests.map(({ inputs: { x, y } }) => ({
        z: y === undefined ? x : broadcast(x, y, (left, right) => left + right),
      })),
    inputs: { x: { dtype: 'float32', shape: [-1] }, y: { dtype: 'float32', shape: [-1], optional: true } },
    outputs: { z: { dtype: 'float32', shape: [-1] } },
    config: { maxBatchSize: 4, batcher: null },
  });
}

/** numpy's rule for matrices of as many rows: a row of one element goes with every element of the other's row. */
function broadcast(
  a: Tensor<'float32'>,
  b: Tensor<'float32'>,
  op: (x: number, y: number) => number,
): Tensor<'float32'> {
  const [rows = 0, widthA = 0] = a.shape;
  const [, widthB = 0] = b.shape;
  if (widthA !== widthB && widthA !== 1 && widthB !== 1) {
    throw new TritonError(
      'INTERNAL',
      `operands could not be broadcast together with shapes (${rows},${widthA}) (${rows},${widthB})`,
    );
  }
  const width = widthA === 1 ? widthB : widthA;
  const data = new Float32Array(rows * width);
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < width; column++) {
      const x = a.data[row * widthA + (widthA === 1 ? 0 : column)]!;
      const y = b.data[row * widthB + (widthB === 1 ? 0 : column)]!;
      data[row * width + column] = op(x, y);
    }
  }
  return new Tensor('float32', data, [rows, width]);
}

/** The codes that the failing models can be asked for, in the order of their numbers. */
export const CODES: readonly ErrorCode[] = [
  'UNKNOWN',
  'INTERNAL',
  'NOT_FOUND',
  'INVALID_ARG',
  'UNAVAILABLE',
  'UNSUPPORTED',
  'ALREADY_EXISTS',
  'CANCELLED',
];
