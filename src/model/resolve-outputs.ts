// Turns what a callable returned for one request, or for a whole batch, into one tensor per declared output:
// checked always for names, count and rows, and with `strict` for dtype, rank and dimensions too. Not strict,
// a tensor of another dtype is converted if no value changes but by rounding to the declared float type.

import { TritonError } from '../errors.js';
import { numbersOf } from '../tensor/cast.js';
import { isBytesDtype } from '../tensor/dtype.js';
import { isForeignTensor } from '../tensor/foreign-tensor.js';
import { convertElements } from '../tensor/nested.js';
import { formatShape, matchesShape } from '../tensor/shape.js';
import { Tensor } from '../tensor/tensor.js';
import { isPromiseLike } from './awaitable.js';
import { describeValue } from './check.js';
import type { CompleteModelConfig, CompleteTensorSpec } from './complete-model-config.js';
import { isInputList } from './input-list.js';
import { nearest } from './nearest.js';
import { foreignTensor, tensorFromValue } from './tensor-from-value.js';

/** One place per declared output, in declaration order; undefined where the callable gave none. */
export type ResolvedOutputs = readonly (Tensor | undefined)[];

/** What a context says of the rows whose outputs are resolved. */
export interface ResolvedRows {
  /** Names of the outputs that somebody asked for. Default: all. */
  readonly requestedOutputs?: readonly string[] | undefined;
  /** Is called with each error that stands in a row's place. */
  readonly failRow?: ((row: number, error: Error) => void) | undefined;
}

/**
 * `rows` is the number of rows that the outputs must have when the model batches. Throws INTERNAL naming the model,
 * the output, what was got and what was expected; an error that is the result is thrown as it is.
 */
export function resolveOutputs(
  result: unknown,
  config: CompleteModelConfig,
  rows: number,
  { requestedOutputs, failRow }: ResolvedRows = {},
): ResolvedOutputs {
  const { outputs, name } = config;
  if (isError(result)) throw result;
  const values = Array.isArray(result) ? listedValues(result, config) : namedValues(result, config);
  return outputs.map((spec, index) => {
    const given = values[index];
    const value = failRow !== undefined && hasFailedRows(given, config, rows) ? withoutErrors(given, failRow) : given;
    if (value === undefined) {
      // Where every row has failed there is no output to give.
      if (!config.strict || given !== undefined || requestedOutputs?.includes(spec.name) === false) return undefined;
      throw fail(
        `model '${name}' returned no output '${spec.name}', and strict: true wants every declared output that is asked for`,
      );
    }
    return resolveOutput(value, spec, config, rows);
  });
}

/** Whether a list has an error in a row's place. */
function hasFailedRows(value: unknown, { maxBatchSize }: CompleteModelConfig, rows: number): value is unknown[] {
  return maxBatchSize > 0 && Array.isArray(value) && value.length === rows && value.some(isError);
}

/** The list with a good row in the places of errors, so that it keeps its shape; undefined where there is no good one. */
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

function namedValues(record: unknown, { name, outputs }: CompleteModelConfig): readonly unknown[] {
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
  const names = outputs.map((spec) => spec.name);
  for (const key of Object.keys(record)) {
    if (names.includes(key)) continue;
    const hint = nearest(key, names);
    throw fail(
      `model '${name}' returned an output '${key}' that is not declared; ` +
        (hint === undefined ? `declared are ${names.join(', ') || 'none'}` : `did you mean '${hint}'?`),
    );
  }
  return names.map((key) => (Object.hasOwn(record, key) ? record[key] : undefined));
}

// Maps, dates, generators and promises have no members of their own: taken for records they would be answers without
// outputs.
function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || Tensor.is(value)) return false;
  if (isInputList(value)) return true;
  if (isPromiseLike(value) || Symbol.iterator in value || Symbol.asyncIterator in value) return false;
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
    checkElements(tensor, what);
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

/** A Tensor looks at its elements' array only; what is no bytes and no string in there would break the response. */
function checkElements({ dtype, data }: Tensor, what: string): void {
  const isElement =
    dtype === 'string'
      ? (value: unknown) => typeof value === 'string'
      : (value: unknown) => value instanceof Uint8Array;
  const index = (data as readonly unknown[]).findIndex((value) => !isElement(value));
  if (index < 0) return;
  const expected = dtype === 'string' ? 'a string' : 'a Uint8Array';
  throw fail(
    `${what} has element ${index} that is ${describeValue((data as readonly unknown[])[index])}, expected ${expected}`,
  );
}
