// Makes the warm-up requests that the server sends to a model before it is ready, with Triton's and PyTriton's options.

import { readFileSync } from 'node:fs';

import { invalidArg, TritonError } from '../errors.js';
import { type Datatype, type Dtype, type DtypeLike, DTYPES, parseDtype } from '../tensor/dtype.js';
import { convertElements } from '../tensor/nested.js';
import { encodeRaw } from '../tensor/raw.js';
import { isNpy } from '../tensor/read-npy.js';
import { elementCount } from '../tensor/shape.js';
import { checkMembers, expectBoolean, expectAtLeast, expectInteger, textOf } from '../checks/check.js';
import type { InferTensor } from './exchange.js';
import { warmupArray, type WarmupArray } from './warmup-array.js';

/** One input of a warm-up request; exactly one of the three sources of data is to be given. */
export interface WarmupInput {
  readonly dtype: DtypeLike;
  /** Without the batch axis; all dimensions given. */
  readonly shape: readonly number[];
  /** All zeros; empty strings. */
  readonly zeroData?: boolean;
  /** Random values, the same at every start: integers of all sizes, floats from 0 up to 1, short strings. */
  readonly randomData?: boolean;
  /**
   * A file with the input's bytes in wire form, of all rows; or numpy's file (`.npy`) of an array, which is repeated or cut to
   * `batchSize` rows.
   */
  readonly inputDataFile?: string;
}

/** Requests of one kind to warm a model up with. */
export interface ModelWarmup {
  readonly name: string;
  /** Rows of each request. Default 1; tensors without batching have no batch axis. */
  readonly batchSize?: number;
  /** By name. The callable gets the named ones only. */
  readonly inputs: Readonly<Record<string, WarmupInput>>;
  /** How often each instance gets the request. Default 1. */
  readonly count?: number;
}

/** A checked warm-up request with its data. */
export interface CompleteWarmup {
  readonly name: string;
  readonly count: number;
  readonly inputs: readonly InferTensor[];
}

const WARMUP_MEMBERS = ['name', 'batchSize', 'inputs', 'count'];
const INPUT_MEMBERS = ['dtype', 'shape', 'zeroData', 'randomData', 'inputDataFile'];

/** The parts of a declared input that a warm-up needs. */
export interface WarmedInput {
  readonly name: string;
  readonly dtype: Dtype;
  readonly datatype: Datatype;
}

export interface WarmupSurroundings {
  readonly inputs: readonly WarmedInput[];
  /** 0 for models without a batch axis. */
  readonly maxBatchSize: number;
  /** Names the model in messages. */
  readonly where: string;
}

/** Throws INVALID_ARG for inputs that do not fit the model, or for a file that cannot be read. */
export function completeWarmups(
  warmups: readonly ModelWarmup[],
  surroundings: WarmupSurroundings,
): readonly CompleteWarmup[] {
  const { where } = surroundings;
  if (!Array.isArray(warmups)) throw invalidArg(`config.modelWarmup of ${where} must be a list, got ${typeof warmups}`);
  return (warmups as readonly ModelWarmup[]).map((warmup, index) => {
    const what = `config.modelWarmup[${index}] of ${where}`;
    checkMembers(warmup, WARMUP_MEMBERS, what);
    const { name } = warmup;
    if (typeof name !== 'string' || name === '')
      throw invalidArg(`name of ${what} must be a text that is not empty, got ${textOf(name)}`);
    checkMembers(
      warmup.inputs,
      surroundings.inputs.map(({ name }) => name),
      `inputs of ${what}`,
    );
    const { maxBatchSize } = surroundings;
    const batchSize = expectInteger(warmup.batchSize ?? 1, 1, Math.max(1, maxBatchSize), `batchSize of ${what}`);
    return {
      name,
      count: expectInteger(warmup.count ?? 1, 1, 1_000_000, `count of ${what}`),
      inputs: Object.entries(warmup.inputs).map(([input, source]) => {
        const spec = surroundings.inputs.find((candidate) => candidate.name === input)!;
        return completeInput(source, spec, maxBatchSize > 0 ? [batchSize] : [], `input '${input}' of ${what}`);
      }),
    };
  });
}

function completeInput(input: WarmupInput, spec: WarmedInput, rows: readonly number[], what: string): InferTensor {
  checkMembers(input, INPUT_MEMBERS, what);
  if (!Array.isArray(input.shape))
    throw invalidArg(`shape of ${what} must be a list of dimensions, got ${textOf(input.shape)}`);
  const { datatype } = DTYPES[parseDtype(input.dtype)];
  if (datatype !== spec.datatype) throw invalidArg(`${what} is ${datatype}, but the model expects ${spec.datatype}`);
  const shape = [...rows, ...(input.shape as readonly number[])];
  for (const dim of shape) expectAtLeast(dim, 0, `a dimension of ${what}`);
  const zero = expectBoolean(input.zeroData ?? false, `zeroData of ${what}`);
  const random = expectBoolean(input.randomData ?? false, `randomData of ${what}`);
  if (Number(zero) + Number(random) + Number(input.inputDataFile !== undefined) !== 1) {
    throw invalidArg(`exactly one of zeroData, randomData and inputDataFile must be given for ${what}`);
  }
  const count = elementCount(shape);
  const bytes =
    input.inputDataFile !== undefined
      ? readFile(input.inputDataFile, { dtype: spec.dtype, shape: input.shape, rows: rows[0] }, what)
      : zero
        ? Buffer.alloc(count * (DTYPES[spec.dtype].byteSize || 4))
        : randomBytes(spec, count);
  return { name: spec.name, datatype, shape, bytes };
}

function readFile(file: string, input: Omit<WarmupArray, 'file'>, what: string): Uint8Array {
  let bytes: Uint8Array;
  try {
    bytes = new Uint8Array(readFileSync(file));
  } catch (error) {
    throw invalidArg(`cannot read the inputDataFile of ${what}: ${TritonError.from(error).message}`, { cause: error });
  }
  return isNpy(bytes) ? warmupArray(bytes, { ...input, file }, what) : bytes;
}

function randomBytes({ dtype }: WarmedInput, count: number): Uint8Array {
  const next = randomNumbers();
  const { kind, byteSize } = DTYPES[dtype];
  switch (kind) {
    case 'bytes':
      return encodeRaw(
        'string',
        Array.from({ length: count }, () => next().toString(36).slice(2)),
      );
    case 'bool':
      return Uint8Array.from({ length: count }, () => Math.round(next()));
    case 'float':
    case 'half':
      return encodeRaw(dtype, convertElements(dtype, Array.from({ length: count }, next)));
    case 'integer':
    case 'wide':
      return Uint8Array.from({ length: count * byteSize }, () => next() * 256);
  }
}

// A linear congruential generator gives the same numbers at every start, so that a failing warm-up fails again.
function randomNumbers(): () => number {
  let state = 12_345;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
