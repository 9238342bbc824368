// Turns a callable's result for one request, or for a whole batch, into one tensor per declared output. It always
// checks names, count and rows, and with `strict` also dtype, rank and dimensions. Without `strict` it converts a
// tensor of another dtype if values only change by rounding to the declared float type.

import { TritonError } from '../errors.js';
import { numbersOf } from '../tensor/cast.js';
import { isBytesDtype } from '../tensor/dtype.js';
import { isForeignTensor } from '../tensor/foreign-tensor.js';
import { convertElements } from '../tensor/nested.js';
import { formatShape, matchesShape } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';
import { disownPromises, isPromiseLike } from './awaitable.js';
import { describeValue } from '../checks/check.js';
import { oddElementOf } from '../checks/odd-element.js';
import type { CompleteModelConfig, CompleteTensorSpec } from './complete-model-config.js';
import { InferenceResponse } from './inference-response.js';
import { isInputList } from './input-list.js';
import { nearest } from '../checks/nearest.js';
import { requestedNames } from './requested-outputs.js';
import { foreignTensor, tensorFromValue } from './tensor-from-value.js';

/** One place per declared output, in declaration order; undefined where the callable gave none. */
export type ResolvedOutputs = readonly (Tensor | undefined)[];

/** The parts of a context that concern the rows. */
export interface ResolvedRows {
  /** Names of the requested outputs. Default: all. */
  readonly requestedOutputs?: readonly string[] | undefined;
  /** Called with each error in a row's place. */
  readonly failRow?: ((row: number, error: Error) => void) | undefined;
}

/**
 * `rows` is the number of rows that the outputs must have when the model batches. Throws INTERNAL naming the model, the
 * output, the given value and the expected one. It throws an error that is the result itself unchanged.
 */
export function resolveOutputs(
  result: unknown,
  config: CompleteModelConfig,
  rows: number,
  { requestedOutputs, failRow }: ResolvedRows = {},
): ResolvedOutputs {
  const known = resolvedBefore(result, config, rows);
  if (known !== undefined) return known;
  const { outputs, name } = config;
  try {
    if (isError(result)) throw result;
    const values = Array.isArray(result) ? listedValues(result, config) : namedValues(result, config);
    const resolved: (Tensor | undefined)[] = [];
    for (let index = 0; index < outputs.length; index++) {
      const spec = outputs[index]!;
      const given = values[index];
      const value = failRow !== undefined && hasFailedRows(given, config, rows) ? withoutErrors(given, failRow) : given;
      if (value === undefined) {
        // Where every row has failed, the callable need not give an output.
        if (!config.strict || given !== undefined || requestedOutputs?.includes(spec.name) === false) {
          resolved.push(undefined);
          continue;
        }
        throw fail(
          `model '${name}' returned no output '${spec.name}', and strict: true wants every declared output that is asked for`,
        );
      }
      resolved.push(resolveOutput(value, spec, config, rows));
    }
    return resolved;
  } catch (error) {
    disownPromises(result, 2);
    throw error;
  }
}

class Given {
  constructor(given: object) {
    return given;
  }
}

/**
 * Puts the resolved outputs of a request on the record that holds them, where nobody sees them and no copy has them. A WeakMap takes
 * ten times as long.
 */
class ResolvedRecord extends Given {
  readonly #tensors: ResolvedOutputs;
  readonly #specs: readonly CompleteTensorSpec[];

  constructor(record: object, tensors: ResolvedOutputs, specs: readonly CompleteTensorSpec[]) {
    super(record);
    this.#tensors = tensors;
    this.#specs = specs;
  }

  /** The outputs of a record, when they were resolved for these declarations. */
  static tensorsOf(record: unknown, specs: readonly CompleteTensorSpec[]): ResolvedOutputs | undefined {
    if (typeof record !== 'object' || record === null || !(#tensors in record)) return undefined;
    return record.#specs === specs ? record.#tensors : undefined;
  }
}

/** The outputs as a record by name, which {@link resolveOutputs} need not look at again. They must be resolved. */
export function recordOf(outputs: ResolvedOutputs, config: CompleteModelConfig): Record<string, Tensor> {
  const record: Record<string, Tensor> = {};
  let isFixed = true;
  for (let index = 0; index < outputs.length; index++) {
    const tensor = outputs[index];
    const { name, dtype } = config.outputs[index]!;
    if (tensor !== undefined) record[name] = tensor;
    // Elements that are objects may be replaced by others.
    if (isBytesDtype(dtype)) isFixed = false;
  }
  if (isFixed) new ResolvedRecord(record, outputs, config.outputs);
  return record;
}

/** What {@link recordOf} made a record of, unless somebody has changed it, or uses it for another request. */
function resolvedBefore(
  result: unknown,
  { outputs, maxBatchSize }: CompleteModelConfig,
  rows: number,
): ResolvedOutputs | undefined {
  const tensors = ResolvedRecord.tensorsOf(result, outputs);
  if (tensors === undefined) return undefined;
  const record = result as Readonly<Record<string, unknown>>;
  let count = 0;
  for (let index = 0; index < outputs.length; index++) {
    const tensor = tensors[index];
    if (record[outputs[index]!.name] !== tensor) return undefined;
    if (tensor === undefined) continue;
    if (maxBatchSize > 0 && tensor.shape[0] !== rows) return undefined;
    count++;
  }
  return Object.keys(record).length === count ? tensors : undefined;
}

/** Whether a list has an error in a row's place. */
function hasFailedRows(value: unknown, { maxBatchSize }: CompleteModelConfig, rows: number): value is unknown[] {
  return maxBatchSize > 0 && Array.isArray(value) && value.length === rows && value.some(isError);
}

/** The list with a good row in the places of errors, so that it keeps its shape; undefined without a good row. */
function withoutErrors(rows: readonly unknown[], failRow: NonNullable<ResolvedRows['failRow']>): unknown {
  const good = rows.find((value) => !isError(value));
  const filled = rows.map((value, row) => {
    if (!isError(value)) return value;
    failRow(row, value);
    return good;
  });
  return good === undefined ? undefined : filled;
}

function fail(message: string): TritonError {
  return new TritonError('INTERNAL', message);
}

function listedValues(list: readonly unknown[], { name, outputs }: CompleteModelConfig): readonly unknown[] {
  if (list.length !== outputs.length) {
    throw fail(
      `model '${name}' returned a list of ${list.length} outputs, expected ${outputs.length}: ${outputs.map((spec) => spec.name).join(', ')}`,
    );
  }
  return list;
}

function namedValues(record: unknown, config: CompleteModelConfig): readonly unknown[] {
  const { name } = config;
  if (!isRecord(record)) {
    throw fail(
      `model '${name}' returned ${describeValue(record)}, expected a record of its outputs by name or a list in declaration order${hintFor(record)}`,
    );
  }
  if (isForeignTensor(record)) {
    throw fail(
      `model '${name}' returned a tensor for its outputs, expected a record of them by name or a list in declaration order`,
    );
  }
  const names = requestedNames([], config);
  for (const key of Object.keys(record)) {
    if (names.includes(key)) continue;
    const hint = nearest(key, names);
    throw fail(
      `model '${name}' returned an output '${key}' that is not declared; ` +
        (hint === undefined ? `declared are ${names.join(', ') || 'none'}` : `did you mean '${hint}'?`),
    );
  }
  const values: unknown[] = [];
  for (const key of names) values.push(Object.hasOwn(record, key) ? record[key] : undefined);
  return values;
}

// Maps, dates, generators and promises have no members of their own: as records they would be answers without outputs.
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Tensor.is(value)) return false;
  if (isInputList(value)) return true;
  if (isPromiseLike(value) || Symbol.iterator in value || Symbol.asyncIterator in value) return false;
  if (InferenceResponse.is(value)) return false;
  return isPlain(value) || Object.keys(value).length > 0;
}

/** Made by a literal, here or in another realm. */
function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}

/** True for errors, also of another realm. */
function isError(value: unknown): value is Error {
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) === Object.prototype) return false;
  return value instanceof Error || Object.prototype.toString.call(value) === '[object Error]';
}

function hintFor(result: unknown): string {
  if (isPromiseLike(result)) return '; await it, or use Promise.all for a list of promises';
  if (InferenceResponse.is(result)) return '; it is the result for one request, of a function of requests or of a step';
  const isGenerator = typeof result === 'object' && result !== null && 'next' in result;
  return isGenerator ? '; only decoupled models may return generators' : '';
}

function resolveOutput(value: unknown, spec: CompleteTensorSpec, config: CompleteModelConfig, rows: number): Tensor {
  const tensor = toTensor(value, spec, config, rows);
  const what = `output '${spec.name}' of model '${config.name}'`;
  if (config.maxBatchSize > 0 && tensor.shape[0] !== rows) {
    throw fail(
      `${what} has shape ${formatShape(tensor.shape)}, expected ${rows} row${rows === 1 ? '' : 's'} in the first dimension, one per row of the input`,
    );
  }
  if (config.strict) {
    const expected = config.maxBatchSize > 0 ? [-1, ...spec.shape] : spec.shape;
    if (!matchesShape(expected, tensor.shape)) {
      throw fail(`${what} has shape ${formatShape(tensor.shape)}, expected ${formatShape(expected)} (strict: true)`);
    }
  }
  return tensor;
}

function toTensor(value: unknown, spec: CompleteTensorSpec, config: CompleteModelConfig, rows: number): Tensor {
  if (Tensor.is(value)) return castTensor(value, spec, config);
  const what = `output '${spec.name}' of model '${config.name}'`;
  const foreign = foreignTensor(value, what);
  if (foreign !== undefined) return castTensor(foreign, spec, config);
  const shape = config.maxBatchSize > 0 ? [rows, ...spec.shape] : spec.shape;
  return tensorFromValue(value, {
    what,
    dtype: spec.dtype,
    shape,
    declared: spec.shape,
    converts: true,
  });
}

function castTensor(tensor: Tensor, spec: CompleteTensorSpec, config: CompleteModelConfig): Tensor {
  const what = `output '${spec.name}' of model '${config.name}'`;
  // Both are BYTES on the wire.
  if (isBytesDtype(tensor.dtype) && isBytesDtype(spec.dtype)) {
    const fault = oddElementOf(tensor);
    if (fault !== undefined) throw fail(`${what} ${fault}`);
    return tensor;
  }
  if (tensor.dtype === spec.dtype) return tensor;
  if (config.strict) throw fail(`${what} has dtype ${tensor.dtype}, expected ${spec.dtype} (strict: true)`);
  if (isBytesDtype(tensor.dtype) || isBytesDtype(spec.dtype)) {
    throw fail(`${what} has dtype ${tensor.dtype}, which does not convert to ${spec.dtype}`);
  }
  try {
    return new Tensor(spec.dtype, convertElements(spec.dtype, numbersOf(tensor)), tensor.shape);
  } catch (error) {
    throw fail(`${what} has dtype ${tensor.dtype}, expected ${spec.dtype}: ${TritonError.from(error).message}`);
  }
}
