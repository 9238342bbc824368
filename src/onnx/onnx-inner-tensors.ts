// The inputs and outputs of an ONNX model that clients do not see: states of sequences, controls of the sequence batcher, and
// constants.

import { readFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

import { checkMembers, expectObject, textOf } from '../checks/check.js';
import { invalidArg, TritonError } from '../errors.js';
import { type DeclaredValue, declaredTensor } from '../model/declared-tensor.js';
import type { SequenceBatching, SequenceStateSpec } from '../model/sequence-batching.js';
import { type Dtype, DTYPES, isBytesDtype, parseDtype } from '../tensor/dtype.js';
import { decodeRaw } from '../tensor/raw.js';
import { formatShape, matchesShape } from '../tensor/shape.js';
import type { Tensor } from '../tensor/tensor.js';
import type { OnnxInstanceArgs } from './onnx-session.js';
import type { InnerSpec, InnerTensors, OnnxSpecs, StateSpec } from './onnx-specs.js';

/** A state of an ONNX model, by the name of its input. Dtype and shape are the file's. */
export interface OnnxState {
  /** The output that gives the next state. */
  readonly output: string;
  /** What a sequence begins with, without the batch axis: one number for all elements, or all elements. Default: zeros. */
  readonly initial?: DeclaredValue;
  /** A file with what a sequence begins with: its elements, little-endian. The path is relative to the model's folder. */
  readonly initialFile?: string;
}

/** The options of `onnx` that are about such tensors. */
export interface InnerOptions {
  readonly state?: Readonly<Record<string, string | OnnxState>> | undefined;
  readonly constants?: Readonly<Record<string, DeclaredValue>> | undefined;
  readonly sequenceBatching?: SequenceBatching | undefined;
}

/** Defaults of a model with states. No sequence waits for another to end, and the oldest requests run first. */
const DEFAULT_BATCHING = { strategy: 'oldest', maxCandidateSequences: 200_000 } as const;

/** The names of such tensors. Throws INVALID_ARG for options of wrong types. */
export function innerTensors({ state, constants = {}, sequenceBatching }: InnerOptions, what: string): InnerTensors {
  expectObject(constants, `constants of ${what}`);
  for (const [name, value] of Object.entries(constants)) {
    // Without a value it would be filled with zeros.
    if ((value as unknown) === undefined || (value as unknown) === null)
      throw invalidArg(`constants.${name} of ${what} must be a value or all elements, got ${textOf(value)}`);
  }
  const declared = sequenceBatching?.state ?? {};
  if (typeof declared === 'function') {
    throw invalidArg(
      `config.sequenceBatching.state of ${what} is a function, but an ONNX model keeps tensors: name its inputs and outputs, as in state: { h: 'hn' }`,
    );
  }
  if (state !== undefined && sequenceBatching?.state !== undefined)
    throw invalidArg(`${what} has both state and config.sequenceBatching.state; give one of them`);
  const states = Object.entries(state === undefined ? declared : statesOf(state, what));
  const outputs = states.map(([name, { output }]): [string, string] => [name, output ?? name]);
  return {
    states: Object.fromEntries(outputs),
    controls: Object.keys(sequenceBatching?.controls ?? {}),
    constants: Object.keys(constants),
  };
}

function statesOf(state: NonNullable<InnerOptions['state']>, what: string): Readonly<Record<string, OnnxState>> {
  expectObject(state, `state of ${what}`);
  if (Object.keys(state).length === 0)
    throw invalidArg(`state of ${what} must name inputs and outputs, such as { h: 'hn' }, got {}`);
  return Object.fromEntries(
    Object.entries(state).map(([name, given]): [string, OnnxState] => {
      if (typeof given === 'string') return [name, { output: given }];
      checkMembers(given, ['output', 'initial', 'initialFile'], `state.${name} of ${what}`);
      if (typeof given.output === 'string') return [name, given];
      throw invalidArg(`state.${name} of ${what} must name an output, got ${textOf(given.output)}`);
    }),
  );
}

/** The sequence batcher with the states as the file has them; undefined for a model without one. Throws INVALID_ARG. */
export function completeSequences(
  { state, sequenceBatching }: InnerOptions,
  { states, controls, batching }: OnnxSpecs,
  path: string,
): SequenceBatching | undefined {
  for (const control of controls) checkControl(control, sequenceBatching!, { path, batching });
  if (state === undefined) {
    const declared = (sequenceBatching?.state ?? {}) as Readonly<Record<string, SequenceStateSpec>>;
    for (const spec of states) checkDeclared(spec, declared[spec.name]!, path);
    return sequenceBatching;
  }
  const given = statesOf(state, path);
  const defaults = (sequenceBatching?.strategy ?? 'oldest') === 'oldest' ? DEFAULT_BATCHING : {};
  return {
    ...defaults,
    ...sequenceBatching,
    state: Object.fromEntries(states.map((spec) => [spec.name, completeState(spec, given[spec.name]!, path)])),
  };
}

function completeState(
  { name, dtype, shape, output }: StateSpec,
  { initial, initialFile }: OnnxState,
  path: string,
): SequenceStateSpec {
  const what = `state '${name}' of ${path}`;
  if (initialFile === undefined) return { dtype, shape, output, ...(initial === undefined ? {} : { initial }) };
  if (initial !== undefined) throw invalidArg(`${what} has both initial and initialFile; give one of them`);
  return { dtype, shape, output, initial: readInitial(resolve(dirname(path), initialFile), { dtype, shape, what }) };
}

function readInitial(
  file: string,
  { dtype, shape, what }: { readonly dtype: Dtype; readonly shape: readonly number[]; readonly what: string },
): Tensor {
  try {
    const bytes = new Uint8Array(readFileSync(file));
    const elementSize = isBytesDtype(dtype) ? 1 : DTYPES[dtype].byteSize;
    if (bytes.length % elementSize !== 0)
      throw new RangeError(`it has ${bytes.length} bytes, expected a multiple of ${elementSize}`);
    return declaredTensor(decodeRaw(dtype, bytes), { dtype, shape, what: 'it' });
  } catch (error) {
    throw invalidArg(`${file} is no initial value for ${what}: ${TritonError.from(error).message}`, { cause: error });
  }
}

/** A state that the configuration declares itself must be the file's. */
function checkDeclared({ name, dtype, shape }: StateSpec, declared: SequenceStateSpec, path: string): void {
  const isText = isBytesDtype(dtype) && isBytesDtype(parseDtype(declared.dtype));
  const isSame = isText || parseDtype(declared.dtype) === dtype;
  if (isSame && matchesShape(shape, declared.shape)) return;
  throw invalidArg(
    `state '${name}' of ${path} is ${dtype} of shape ${formatShape(shape)} without a batch axis, but is declared as ${declared.dtype} of shape ${formatShape(declared.shape)}`,
  );
}

/** The server makes one value for each row. */
function checkControl(
  { name, dtype, shape }: InnerSpec,
  { controls }: SequenceBatching,
  { path, batching }: { readonly path: string; readonly batching: boolean },
): void {
  const { control, dtype: declared = control === 'CORRID' ? 'uint64' : 'int32' } = controls![name]!;
  if (dtype === declared && matchesShape(shape, [1])) return;
  const rows = batching ? [-1] : [];
  throw invalidArg(
    `control '${name}' is made as ${declared} of shape ${formatShape([...rows, 1])}, but the input of ${path} is ${dtype} of shape ${formatShape([...rows, ...shape])}`,
  );
}

/** What the instances need of it. */
export function innerArgs(
  { constants: values = {} }: InnerOptions,
  { states, constants }: OnnxSpecs,
  path: string,
): Pick<OnnxInstanceArgs, 'batchAxes' | 'constants'> {
  const axes = states.flatMap(({ name, output, batchAxis = 0 }) => [
    [name, batchAxis] as const,
    [output, batchAxis] as const,
  ]);
  return {
    batchAxes: Object.fromEntries(axes.filter(([, axis]) => axis > 0)),
    constants: Object.fromEntries(
      constants.map(({ name, dtype, shape, batchAxis }) => {
        const tensor = declaredTensor(values[name], { dtype, shape, what: `constants.${name} of ${path}` });
        const { data, shape: own } = tensor;
        return [name, { dtype, data, shape: own, isRow: batchAxis !== undefined }];
      }),
    ),
  };
}
