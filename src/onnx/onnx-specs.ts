// Turns what an ONNX file says of its inputs and outputs into a model's declaration: dtypes, shapes, and whether
// the first dimension is a batch axis.

import { invalidArg } from '../errors.js';
import { textOf } from '../checks/check.js';
import { nearest } from '../checks/nearest.js';
import type { TensorSpec } from '../model/tensor-spec.js';
import type { Dtype } from '../tensor/dtype.js';
import { formatShape } from '../tensor/shape.js';
import { withArticle } from '../tensor/tag-of.js';
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
  /** Inputs and outputs that clients do not see. Default: none. */
  readonly inner?: InnerTensors;
}

export interface InnerTensors {
  /** The inputs that hold states, and the outputs that give them. */
  readonly states: Readonly<Record<string, string>>;
  /** Inputs that the server makes for each request. */
  readonly controls: readonly string[];
  /** Inputs that are the same in every run. */
  readonly constants: readonly string[];
}

export interface OnnxSpecs {
  readonly inputs: readonly TensorSpec[];
  readonly outputs: readonly TensorSpec[];
  readonly batching: boolean;
  readonly states: readonly StateSpec[];
  readonly controls: readonly InnerSpec[];
  readonly constants: readonly InnerSpec[];
}

export interface InnerSpec {
  readonly name: string;
  readonly dtype: Dtype;
  /** Without the batch axis. */
  readonly shape: readonly number[];
  /** The dimension of the file's shape that is the batch axis; undefined: all rows of a batch share the tensor. */
  readonly batchAxis: number | undefined;
}

export interface StateSpec extends InnerSpec {
  readonly output: string;
}

interface FullSpec {
  readonly name: string;
  readonly dtype: Dtype;
  /** First dimension included; -1 for any size. */
  readonly shape: readonly number[];
  readonly what: string;
}

const NO_INNER: InnerTensors = { states: {}, controls: [], constants: [] };

/** Throws INVALID_ARG for what cannot be served, naming the tensor and the reason. */
export function onnxSpecs(signature: OnnxSignature, options: OnnxSpecOptions): OnnxSpecs {
  const { inner = NO_INNER, batching: wanted } = options;
  checkShapes(signature, options);
  checkInner(signature, inner, options.path);
  const hidden = [...Object.keys(inner.states), ...inner.controls, ...inner.constants];
  const given = signature.inputs.filter(({ name }) => !hidden.includes(name));
  const inputs = given.map((value) => fullSpec(value, 'input', options));
  const chosen = chosenOutputs(signature.outputs, options);
  const outputs = chosen.map((value) => fullSpec(value, 'output', options));
  const innerSpec = (name: string) => fullSpec(find(signature.inputs, name), 'input', options);
  const controls = inner.controls.map(innerSpec);
  const constants = inner.constants.map(innerSpec);
  const states = Object.entries(inner.states).map(([name, output]) => ({ ...innerSpec(name), output }));
  for (const state of states) checkStateOutput(state, find(signature.outputs, state.output), options.path);
  const all = [...inputs, ...controls, ...outputs];
  const canBatch = all.every(({ shape }) => shape[0] === -1) && states.every(({ shape }) => shape.includes(-1));
  const named = [...given, ...chosen].filter(({ name }) => !Object.hasOwn(options.shapes, name));
  const batching = wanted ?? (inputs.length > 0 && canBatch && mayShareBatchAxis(named));
  const innerOf = ({ name, dtype, shape }: FullSpec, batchAxis: number | undefined): InnerSpec => ({
    name,
    dtype,
    shape: shape.filter((_, dimension) => dimension !== batchAxis),
    batchAxis,
  });
  if (batching) for (const spec of all) checkBatchAxis(spec, options);
  const withoutBatchAxis = (spec: FullSpec) => ({ ...specOf(spec), shape: spec.shape.slice(batching ? 1 : 0) });
  return {
    inputs: inputs.map(withoutBatchAxis),
    outputs: outputs.map(withoutBatchAxis),
    batching,
    states: states.map((state) => {
      const batchAxis = batching ? stateAxis(state, options) : undefined;
      return { ...innerOf(state, batchAxis), output: state.output };
    }),
    controls: controls.map((control) => innerOf(control, batching ? 0 : undefined)),
    constants: constants.map((constant) => innerOf(constant, batching && constant.shape[0] === -1 ? 0 : undefined)),
  };
}

/**
 * Whether the first dimensions may be one batch axis by their names. In the scores `[images, texts]` each row has an element for
 * every text, and a batch would have the texts of other requests too.
 */
export function mayShareBatchAxis(values: readonly OnnxValue[]): boolean {
  const firsts = new Set(values.map(({ shape }) => shape?.[0]));
  return values.every(({ shape = [] }) =>
    shape.every((dim) => typeof dim !== 'string' || dim === shape[0] || !firsts.has(dim)),
  );
}

function checkInner({ inputs, outputs }: OnnxSignature, { states, controls, constants }: InnerTensors, path: string) {
  const namesOf = (values: readonly OnnxValue[]) => values.map(({ name }) => name).join(', ');
  const check = (option: string, name: string, side: 'input' | 'output') => {
    if ((side === 'input' ? inputs : outputs).some((value) => value.name === name)) return;
    throw invalidArg(
      `${option} names the ${side} '${name}', which ${path} does not have; its inputs are ${namesOf(inputs)}, its outputs are ${namesOf(outputs)}`,
    );
  };
  for (const [input, output] of Object.entries(states)) {
    check('state', input, 'input');
    check('state', output, 'output');
  }
  for (const name of controls) check('config.sequenceBatching.controls', name, 'input');
  for (const name of constants) {
    check('constants', name, 'input');
    if (Object.hasOwn(states, name) || controls.includes(name))
      throw invalidArg(`constants names '${name}' of ${path}, which is a state or a control`);
  }
}

function find(values: readonly OnnxValue[], name: string): OnnxValue {
  return values.find((value) => value.name === name)!;
}

/** A state is given back as it came: its output must be of its dtype, and may have its shape. */
function checkStateOutput(state: FullSpec, output: OnnxValue, path: string): void {
  const given = output.shape?.map((dim) => (typeof dim === 'number' ? dim : -1));
  const fits =
    output.kind === 'tensor' &&
    DTYPES[output.elementType] === state.dtype &&
    (given === undefined ||
      (given.length === state.shape.length &&
        given.every((dim, index) => dim === -1 || state.shape[index] === -1 || dim === state.shape[index])));
  if (fits) return;
  const type = output.kind === 'tensor' ? (DTYPES[output.elementType] ?? 'another type') : output.kind;
  throw invalidArg(
    `state '${state.name}' of ${path} is ${state.dtype} of shape ${formatShape(state.shape)}, but output '${output.name}', which gives the next one, is ${type} of shape ${given === undefined ? 'any rank' : formatShape(given)}`,
  );
}

/** Recurrent operators have the batch axis behind that of layers or directions: it is the first open dimension. */
function stateAxis({ shape, what }: FullSpec, { maxBatchSize }: OnnxSpecOptions): number {
  const open = shape.indexOf(-1);
  if (open >= 0) return open;
  if (maxBatchSize === 1 && shape[0] === 1) return 0;
  throw invalidArg(
    `${what} of shape ${formatShape(shape)} is a state without a batch axis: mark it with -1 in \`shapes\`, or set config.batching to false`,
  );
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

function chosenOutputs(values: readonly OnnxValue[], { outputs, path, inner }: OnnxSpecOptions): readonly OnnxValue[] {
  const states = Object.values(inner?.states ?? {});
  if (outputs === undefined) return values.filter(({ name }) => !states.includes(name));
  if (!Array.isArray(outputs) || outputs.length + states.length === 0)
    throw invalidArg(
      `outputs of ${path} must be a list of one or more names, got ${Array.isArray(outputs) ? '[]' : textOf(outputs)}`,
    );
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
  const way =
    side === 'output' ? '; leave it out by naming the others in `outputs`, or in `output` of config.pbtxt' : '';
  if (value.kind !== 'tensor')
    throw invalidArg(`${what} is ${withArticle(value.kind)}, only tensors can be served${way}`);
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
    throw invalidArg(
      `${what} has no shape in the file; say it: shapes: { ${JSON.stringify(value.name)}: [-1, …] }, or dims in config.pbtxt`,
    );
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
