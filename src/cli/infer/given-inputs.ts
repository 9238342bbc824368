// The inputs of `tstriton infer` and `tstriton bench`, from what the user gives: JSON by name, JSON as the protocol has it, values and
// files of single inputs.

import { readFileSync } from 'node:fs';

import type { InferOptions } from '../../client/infer-options.js';
import type { AnyInputValue } from '../../client/tensors/input-values.js';
import { invalidArg, TritonError } from '../../errors.js';
import type { CompleteTensorSpec } from '../../model/complete-model-config.js';
import { nearest } from '../../checks/nearest.js';
import { DATATYPE_BYTE_SIZE, type Dtype, DTYPES, dtypeOf, isDatatype } from '../../tensor/dtype.js';
import { decodeRaw } from '../../tensor/raw.js';
import { Tensor } from '../../tensor/tensor.js';
import { recordOf } from '../arguments.js';
import { isRecord, readJson, type Plain, type PlainRecord } from './exact-json.js';
import { readNpy } from '../../tensor/read-npy.js';

export interface GivenInputs {
  readonly inputs: Readonly<Record<string, AnyInputValue>>;
  /** Whether shapes have the batch axis: the protocol's own form has it. */
  readonly hasBatchAxis: boolean;
  readonly parameters: PlainRecord;
  /** What the protocol's own form says beside them. */
  readonly options: Pick<InferOptions, 'requestId' | 'outputs'>;
}

/** `name=value` and `name=@file`, as they were given. */
export type InputArguments = readonly string[];

/** Throws INVALID_ARG naming the argument. */
export function inputsFromJson(bytes: Uint8Array, what: string): GivenInputs {
  const given = readJson(bytes, what);
  if (!isRecord(given)) throw invalidArg(`${what} must be an object with the inputs by name, got ${kindOf(given)}`);
  const { inputs, parameters = {}, id, outputs } = given;
  if (!isProtocolForm(inputs)) {
    return { inputs: given as GivenInputs['inputs'], hasBatchAxis: false, parameters: {}, options: {} };
  }
  if (!isRecord(parameters)) throw invalidArg(`parameters of ${what} must be an object, got ${kindOf(parameters)}`);
  if (id !== undefined && typeof id !== 'string') throw invalidArg(`id of ${what} must be a text, got ${kindOf(id)}`);
  const tensors = inputs.map((input, index) => tensorOf(input, `inputs[${index}] of ${what}`));
  const options = {
    ...(id !== undefined && { requestId: id }),
    ...(outputs !== undefined && { outputs: outputNames(outputs, what) }),
  };
  return { inputs: recordOf(tensors, `input of ${what}`), hasBatchAxis: true, parameters, options };
}

/** An input may be called `inputs` as well: only the protocol has objects in it. */
function isProtocolForm(inputs: Plain | undefined): inputs is readonly PlainRecord[] {
  return Array.isArray(inputs) && inputs.length > 0 && inputs.every(isRecord);
}

function outputNames(outputs: Plain, what: string): readonly string[] {
  if (!Array.isArray(outputs)) throw invalidArg(`outputs of ${what} must be a list, got ${kindOf(outputs)}`);
  return outputs.map((output: Plain, index) => {
    const { name, parameters } = isRecord(output) ? output : {};
    if (typeof name !== 'string') throw invalidArg(`outputs[${index}] of ${what} needs a name`);
    if (isRecord(parameters) && parameters['classification'] !== undefined)
      throw invalidArg(`outputs[${index}] of ${what} asks for a classification, which this command does not`);
    return name;
  });
}

function tensorOf({ name, datatype, shape, data }: PlainRecord, what: string): readonly [string, Tensor] {
  if (typeof name !== 'string') throw invalidArg(`${what} needs a name`);
  if (typeof datatype !== 'string' || !isDatatype(datatype)) {
    throw invalidArg(`datatype of ${what} must be one of the protocol's, as FP32, got ${JSON.stringify(datatype)}`);
  }
  if (!Array.isArray(shape)) throw invalidArg(`shape of ${what} must be a list`);
  if (!Array.isArray(data)) throw invalidArg(`data of ${what} must be a list; binary data is given as a file`);
  const dtype = datatype === 'BYTES' ? 'string' : dtypeOf(datatype);
  try {
    return [name, Tensor.from(dtype, data.flat(Infinity) as never, shape as readonly number[])];
  } catch (error) {
    throw invalidArg(`${what}: ${TritonError.from(error).message}`, { cause: error });
  }
}

/** Throws INVALID_ARG naming the argument. */
export function inputsFromArguments(
  given: InputArguments,
  specs: readonly CompleteTensorSpec[],
): Readonly<Record<string, AnyInputValue>> {
  return recordOf(
    given.map((argument) => {
      const at = argument.indexOf('=');
      if (at <= 0) throw invalidArg(`--input ${argument} must be name=value or name=@file`);
      const name = argument.slice(0, at);
      const spec = specs.find((each) => each.name === name);
      if (spec === undefined) throw unknownTensor('input', name, specs);
      const text = argument.slice(at + 1);
      return [name, text.startsWith('@') ? valueOfFile(text.slice(1), spec) : valueOfText(text, spec)] as const;
    }),
    'input',
  );
}

/** INVALID_ARG with the nearest name, or with all of them. */
export function unknownTensor(
  kind: 'input' | 'output',
  name: string,
  specs: readonly CompleteTensorSpec[],
): TritonError {
  const names = specs.map((spec) => spec.name);
  const hint = nearest(name, names);
  const known = hint === undefined ? `it has ${names.join(', ') || 'none'}` : `did you mean '${hint}'?`;
  return invalidArg(`the model has no ${kind} '${name}'; ${known}`);
}

/** A text that stands for itself need not be quoted. */
function valueOfText(text: string, { name, datatype, dtype }: CompleteTensorSpec): AnyInputValue {
  if (datatype === 'BYTES' && !/^\s*["[]/.test(text)) return text;
  try {
    return readJson(Buffer.from(text), `--input ${name}`) as AnyInputValue;
  } catch (error) {
    const example = EXAMPLES[DTYPES[dtype].kind];
    throw invalidArg(
      `--input ${name} takes ${datatype} values as JSON, such as ${name}=${example} or '${name}=[${example}]', got ${shortened(text)}`,
      { cause: error },
    );
  }
}

const EXAMPLES = { bool: 'true', float: '0.5', half: '0.5', integer: '1', wide: '1', bytes: '"a"' } as const;

function shortened(text: string): string {
  return text.length > 40 ? `${text.slice(0, 40)}…` : text;
}

function valueOfFile(path: string, spec: CompleteTensorSpec): AnyInputValue {
  const bytes = readBytes(path, `--input ${spec.name}`);
  if (path.endsWith('.npy')) return asInput(readNpy(bytes, path), path, spec);
  if (path.endsWith('.json')) return readJson(bytes, path) as AnyInputValue;
  if (spec.datatype === 'BYTES')
    return new Tensor(
      'bytes',
      [bytes],
      spec.shape.map(() => 1),
    );
  const size = DATATYPE_BYTE_SIZE[spec.datatype];
  if (bytes.length % size !== 0) {
    throw invalidArg(`${path} has ${bytes.length} bytes, expected elements of ${size} bytes for ${spec.datatype}`);
  }
  // The declared shape says how they lie.
  return decodeRaw(spec.dtype, Uint8Array.from(bytes)) as AnyInputValue;
}

/** numpy makes 64-bit numbers where nobody asks for others, and few models take these. */
function asInput(tensor: Tensor<Dtype>, path: string, { name, dtype, datatype }: CompleteTensorSpec): Tensor<Dtype> {
  const given = DTYPES[tensor.dtype].datatype;
  if (given === 'BYTES' && datatype === 'BYTES') return tensor;
  try {
    return tensor.cast(dtype);
  } catch (error) {
    throw invalidArg(
      `${path} has elements of ${given}, which do not all become ${datatype} for input '${name}': ${TritonError.from(error).message}`,
      { cause: error },
    );
  }
}

/** Throws INVALID_ARG for a file that cannot be read. */
export function readBytes(path: string, what: string): Uint8Array {
  try {
    return readFileSync(path);
  } catch (error) {
    throw invalidArg(`${what}: ${TritonError.from(error).message}`, { cause: error });
  }
}

function kindOf(value: Plain): string {
  if (value === null) return 'null';
  return Array.isArray(value) ? 'a list' : typeof value;
}
