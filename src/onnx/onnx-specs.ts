// Turns what an ONNX file says of its inputs and outputs into a model's declaration: dtypes, shapes, and whether
// the first dimension is a batch axis.

import { invalidArg } from '../errors.js';
import { nearest } from '../model/nearest.js';
import type { TensorSpec } from '../model/tensor-spec.js';
import type { Dtype } from '../tensor/dtype.js';
import { formatShape } from '../tensor/shape.js';
import type { OnnxSignature, OnnxValue } from './onnx-signature.js';

/** TensorProto.DataType as onnxruntime-node takes it. */
const DTYPES: Readonly<Record<number, Dtype>> = {
  1: 'float32',
  2: 'uint8',
  3: 'int8',
  4: 'uint16',
  5: 'int16',
  6: 'int32',
  7: 'int64',
  8: 'string',
  9: 'bool',
  10: 'float16',
  11: 'float64',
  12: 'uint32',
  13: 'uint64',
};
/** The others, by their names in ONNX, for messages. */
const REFUSED: Readonly<Record<number, string>> = {
  14: 'complex64',
  15: 'complex128',
  16: 'bfloat16',
  17: 'float8e4m3fn',
  18: 'float8e4m3fnuz',
  19: 'float8e5m2',
  20: 'float8e5m2fnuz',
  21: 'uint4',
  22: 'int4',
  23: 'float4e2m1',
};

export interface OnnxSpecOptions {
  /** Names the file in messages. */
  readonly path: string;
  /** The outputs to serve, in this order; undefined for all. */
  readonly outputs: readonly string[] | undefined;
  /** Shapes in place of the file's, first dimension included. */
  readonly shapes: Readonly<Record<string, readonly number[]>>;
  /** Undefined: as the file has it. */
  readonly batching: boolean | undefined;
  /** Undefined: bind's default. */
  readonly maxBatchSize: number | undefined;
}

export interface OnnxSpecs {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  readonly batching: boolean;
}

interface FullSpec {
  readonly name: string;
  readonly dtype: Dtype;
  /** First dimension included; -1 for any size. */
  readonly shape: readonly number[];
  readonly what: string;
}

/** Throws INVALID_ARG for what cannot be served, naming the tensor and the reason. */
export function onnxSpecs(signature: OnnxSignature, options: OnnxSpecOptions): OnnxSpecs {
  checkShapes(signature, options);
  const inputs = signature.inputs.map((value) => fullSpec(value, 'input', options));
  const outputs = chosenOutputs(signature.outputs, options).map((value) => fullSpec(value, 'output', options));
  const all = [...inputs, ...outputs];
  const batching = options.batching ?? (inputs.length > 0 && all.every(({ shape }) => shape[0] === -1));
  if (!batching) return { inputs: inputs.map(specOf), outputs: outputs.map(specOf), batching };
  for (const spec of all) checkBatchAxis(spec, options);
  const withoutBatchAxis = (spec: FullSpec) => ({ ...specOf(spec), shape: spec.shape.slice(1) });
  return { inputs: inputs.map(withoutBatchAxis), outputs: outputs.map(withoutBatchAxis), batching };
}

function specOf({ name, dtype, shape }: FullSpec): TensorSpec {
  return { name, dtype, shape };
}

function checkShapes({ inputs, outputs }: OnnxSignature, { shapes, path }: OnnxSpecOptions): void {
  const names = [...inputs, ...outputs].map(({ name }) => name);
  for (const [name, shape] of Object.entries(shapes)) {
    if (!names.includes(name)) throw unknownName('shapes', name, { names, path });
    if (!Array.isArray(shape))
      throw invalidArg(`shapes of ${path} must hold lists of integers, got ${typeof shape} for '${name}'`);
  }
}

function chosenOutputs(values: readonly OnnxValue[], { outputs, path }: OnnxSpecOptions): readonly OnnxValue[] {
  if (outputs === undefined) return values;
  const names = values.map(({ name }) => name);
  return outputs.map((name) => {
    const value = values[names.indexOf(name)];
    if (value === undefined) throw unknownName('outputs', name, { names, path });
    return value;
  });
}

function unknownName(
  option: string,
  name: string,
  { names, path }: { readonly names: readonly string[]; readonly path: string },
) {
  const hint = nearest(name, names);
  const known = hint === undefined ? `it has ${names.join(', ')}` : `did you mean '${hint}'?`;
  return invalidArg(`${option} names '${name}', which ${path} does not have; ${known}`);
}

function fullSpec(value: OnnxValue, side: 'input' | 'output', { path, shapes }: OnnxSpecOptions): FullSpec {
  const what = `${side} '${value.name}' of ${path}`;
  const way = side === 'output' ? '; leave it out by naming the others in `outputs`' : '';
  if (value.kind !== 'tensor') throw invalidArg(`${what} is a ${value.kind}, only tensors can be served${way}`);
  const dtype = DTYPES[value.elementType];
  if (dtype === undefined) {
    const type = REFUSED[value.elementType] ?? `of the unknown type ${value.elementType}`;
    throw invalidArg(
      `${what} is ${type}, which onnxruntime-node does not take; it takes ${Object.values(DTYPES).join(', ')}: put a Cast into the model${way}`,
    );
  }
  const given = Object.hasOwn(shapes, value.name) ? shapes[value.name] : undefined;
  const shape = given ?? value.shape?.map((dimension) => (typeof dimension === 'number' ? dimension : -1));
  if (shape === undefined)
    throw invalidArg(`${what} has no shape in the file; say it: shapes: { ${JSON.stringify(value.name)}: [-1, …] }`);
  return { name: value.name, dtype, shape, what };
}

function checkBatchAxis({ shape, what }: FullSpec, { maxBatchSize }: OnnxSpecOptions): void {
  const first = shape[0];
  if (first === -1) return;
  if (first === 1 && maxBatchSize === 1) return;
  const reason =
    first === 1
      ? 'takes one row at a time: set maxBatchSize: 1, or batching: false'
      : 'takes no batches of any size: leave config.batching out, or set it to false';
  throw invalidArg(`config.batching is true, but ${what} of shape ${formatShape(shape)} ${reason}`);
}
