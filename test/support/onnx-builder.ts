// Writes ONNX models for tests: the few messages of onnx.proto3 that a graph of ordinary operators needs.
import type { NumericDtype } from '../../src/tensor/dtype.js';

/** TensorProto.DataType by numpy's names, and those that are refused. */
export const ELEMENT_TYPES = {
  float32: 1,
  uint8: 2,
  int8: 3,
  uint16: 4,
  int16: 5,
  int32: 6,
  int64: 7,
  string: 8,
  bool: 9,
  float16: 10,
  float64: 11,
  uint32: 12,
  uint64: 13,
  complex64: 14,
  bfloat16: 16,
  int4: 22,
} as const;
export type ElementType = keyof typeof ELEMENT_TYPES;

/** A size, a symbolic name, or null for one that the file leaves open. */
export type Dimension = number | string | null;

export interface OnnxGraph {
  readonly nodes: readonly Buffer[];
  readonly inputs: readonly Buffer[];
  readonly outputs: readonly Buffer[];
  readonly initializers?: readonly Buffer[];
}

export function varint(value: number | bigint): Buffer {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 0x7fn);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 0x80);
  } while (rest !== 0n);
  return Buffer.from(bytes);
}

export function integer(field: number, value: number | bigint): Buffer {
  return Buffer.concat([varint(field * 8), varint(value)]);
}

/** A message, a string or bytes. */
export function delimited(field: number, content: Uint8Array | string): Buffer {
  const bytes = Buffer.from(content as string);
  return Buffer.concat([varint(field * 8 + 2), varint(bytes.length), bytes]);
}

/** A whole model file. */
export function onnxModel({ nodes, inputs, outputs, initializers = [] }: OnnxGraph): Buffer {
  const graph = Buffer.concat([
    ...nodes.map((node) => delimited(1, node)),
    delimited(2, 'graph'),
    ...initializers.map((tensor) => delimited(5, tensor)),
    ...inputs.map((value) => delimited(11, value)),
    ...outputs.map((value) => delimited(12, value)),
  ]);
  const opset = integer(2, 17);
  return Buffer.concat([integer(1, 8), delimited(2, 'tstriton tests'), delimited(8, opset), delimited(7, graph)]);
}

/** A ValueInfoProto of a tensor; without a shape its rank is unknown. */
export function tensorValue(name: string, type: ElementType, shape?: readonly Dimension[]): Buffer {
  const dimension = (size: Dimension) =>
    delimited(1, size === null ? '' : typeof size === 'string' ? delimited(2, size) : integer(1, size));
  const shapeField = shape === undefined ? Buffer.alloc(0) : delimited(2, Buffer.concat(shape.map(dimension)));
  const tensorType = Buffer.concat([integer(1, ELEMENT_TYPES[type]), shapeField]);
  return Buffer.concat([delimited(1, name), delimited(2, delimited(1, tensorType))]);
}

/** A ValueInfoProto of a sequence of tensors. */
export function sequenceValue(name: string, type: ElementType): Buffer {
  const element = delimited(1, integer(1, ELEMENT_TYPES[type]));
  return Buffer.concat([delimited(1, name), delimited(2, delimited(4, delimited(1, element)))]);
}

/** A TensorProto with its bytes as raw data. */
export function tensor(
  name: string,
  type: NumericDtype & ElementType,
  shape: readonly number[],
  values: ArrayBufferView,
): Buffer {
  const raw = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  return Buffer.concat([
    ...shape.map((size) => integer(1, size)),
    integer(2, ELEMENT_TYPES[type]),
    delimited(8, name),
    delimited(9, raw),
  ]);
}

/** The same with its values in a file beside the model. */
export function externalTensor(
  name: string,
  type: NumericDtype & ElementType,
  shape: readonly number[],
  file: string,
): Buffer {
  const entry = Buffer.concat([delimited(1, 'location'), delimited(2, file)]);
  return Buffer.concat([
    ...shape.map((size) => integer(1, size)),
    integer(2, ELEMENT_TYPES[type]),
    delimited(8, name),
    delimited(13, entry),
    integer(14, 1),
  ]);
}

/** A NodeProto; attributes are lists of integers, or integers. */
export function node(
  operator: string,
  inputs: readonly string[],
  outputs: readonly string[],
  attributes: Readonly<Record<string, number | readonly number[]>> = {},
): Buffer {
  return Buffer.concat([
    ...inputs.map((name) => delimited(1, name)),
    ...outputs.map((name) => delimited(2, name)),
    delimited(4, operator),
    ...Object.entries(attributes).map(([name, value]) => delimited(5, attribute(name, value))),
  ]);
}

function attribute(name: string, value: number | readonly number[]): Buffer {
  const [INT, INTS] = [2, 7];
  return typeof value === 'number'
    ? Buffer.concat([delimited(1, name), integer(3, value), integer(20, INT)])
    : Buffer.concat([delimited(1, name), ...value.map((one) => integer(8, one)), integer(20, INTS)]);
}

/** `c = a + b`, elementwise. */
export function addModel(shape: readonly Dimension[] = ['batch', 4], type: ElementType = 'float32'): Buffer {
  return onnxModel({
    nodes: [node('Add', ['a', 'b'], ['c'])],
    inputs: [tensorValue('a', type, shape), tensorValue('b', type, shape)],
    outputs: [tensorValue('c', type, shape)],
  });
}

/** `y = x`. */
export function identityModel(type: ElementType, shape: readonly Dimension[] = ['batch', 3]): Buffer {
  return onnxModel({
    nodes: [node('Identity', ['x'], ['y'])],
    inputs: [tensorValue('x', type, shape)],
    outputs: [tensorValue('y', type, shape)],
  });
}
