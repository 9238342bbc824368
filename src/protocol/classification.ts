// Implements the classification extension, which both protocols share. An output becomes its `k` best values as strings
// `<value>:<index>` or `<value>:<index>:<label>` (Triton's classification.cc). Large outputs are classified with
// pauses.

import { invalidArg, TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor } from '../model/exchange.js';
import { Pace, type PacedWork } from '../pacing/paced-work.js';
import { dtypeOf, DTYPES, isClassified, traitsOf } from '../tensor/dtype.js';
import { decodeRaw } from '../tensor/raw.js';
import { elementCount } from '../tensor/shape.js';

export interface ClassificationOptions {
  /** The number of best values to return, at least 1. */
  readonly classes: number | bigint;
  /** The output's labels by index; missing and empty labels are left out. */
  readonly labels?: readonly string[] | undefined;
  /** Whether the first axis counts rows, which are classified separately. */
  readonly batching: boolean;
}

/** The outputs of a model's response. Outputs with a positive number in `classes` are classified. */
export function* classifyOutputs(
  outputs: readonly InferTensor[],
  classes: ReadonlyMap<string, number | bigint>,
  config: CompleteModelConfig,
): PacedWork<readonly InferTensor[]> {
  const classified: InferTensor[] = [];
  for (const output of outputs) {
    const wanted = classes.get(output.name) ?? 0;
    if (wanted <= 0) {
      classified.push(output);
      continue;
    }
    const labels = config.outputs.find(({ name }) => name === output.name)?.labels;
    classified.push(yield* classify(output, { classes: wanted, labels, batching: config.maxBatchSize > 0 }));
  }
  return classified;
}

type Values = { readonly [index: number]: number | bigint; readonly length: number };

/** Larger rows and larger answers are refused. */
const MAX_ELEMENTS = 1_000_000;

/** The output as strings, best first. Throws INVALID_ARG for datatypes without an order, and for large outputs. */
export function* classify(
  output: InferTensor,
  { classes, labels, batching }: ClassificationOptions,
): PacedWork<InferTensor> {
  const values = valuesOf(output);
  const rows = batching && output.shape.length > 0 ? output.shape[0]! : 1;
  const rowLength = rows === 0 ? 0 : values.length / rows;
  const count = Number(classes) < rowLength ? Number(classes) : rowLength;
  if (rowLength > MAX_ELEMENTS || rows * count > MAX_ELEMENTS) {
    throw invalidArg('classification output tensor too large');
  }
  const isFloat = traitsOf(output.datatype).kind === 'float';
  const pace = new Pace();
  const texts = new ElementWriter();
  for (let row = 0; count > 0 && row < rows; row++) {
    const start = row * rowLength;
    for (const position of yield* best(values, { start, end: start + rowLength, count, pace })) {
      const value = values[position]!;
      const index = position - start;
      const label = labels?.[index];
      const text = `${isFloat ? fixedText(value as number) : String(value)}:${index}`;
      texts.add(label === undefined || label === '' ? text : `${text}:${label}`);
      if (pace.spend(BYTES_OF_A_TEXT)) yield;
    }
  }
  return {
    name: output.name,
    datatype: 'BYTES',
    shape: batching ? [rows, count] : [count],
    bytes: texts.take(),
  };
}

/** The cost of making a text, in bytes of paced work. */
const BYTES_OF_A_TEXT = 128;

/** Writes texts as BYTES elements into growing memory. */
class ElementWriter {
  #bytes = Buffer.from(new ArrayBuffer(1024));
  #length = 0;

  add(text: string): void {
    const byteLength = Buffer.byteLength(text);
    const needed = this.#length + 4 + byteLength;
    if (needed > this.#bytes.length) {
      const grown = Buffer.from(new ArrayBuffer(Math.max(needed, this.#bytes.length * 2)));
      this.#bytes.copy(grown, 0, 0, this.#length);
      this.#bytes = grown;
    }
    this.#bytes.writeUInt32LE(byteLength, this.#length);
    this.#bytes.write(text, this.#length + 4);
    this.#length = needed;
  }

  take(): Buffer {
    return this.#bytes.subarray(0, this.#length);
  }
}

function valuesOf({ name, datatype, shape, bytes }: InferTensor): Values {
  const dtype = dtypeOf(datatype);
  if (!isClassified(dtype)) {
    throw invalidArg(`class result not available for output due to unsupported type '${datatype}'`);
  }
  if (bytes.byteLength !== elementCount(shape) * DTYPES[dtype].byteSize) {
    throw new TritonError(
      'INTERNAL',
      `output '${name}' has ${bytes.byteLength} bytes, which is not the size of ${datatype} of shape [${shape.join(',')}]`,
    );
  }
  return decodeRaw(dtype, bytes) as Values;
}

interface Selection {
  readonly start: number;
  readonly end: number;
  readonly count: number;
  readonly pace: Pace;
}

/** Number of positions sorted at a time, which takes a fraction of a millisecond. */
const SORTED_AT_ONCE = 1024;
/** The cost of a comparison, in bytes of paced work. */
const BYTES_OF_A_COMPARISON = 8;
const COMPARISONS_OF_A_SORT = 10;

/** Positions of the `count` best values from `start` to `end`, the best first. */
function* best(values: Values, { start, end, count, pace }: Selection): PacedWork<Uint32Array> {
  const inOrder = orderOf(values);
  // Values are sorted in blocks, and each block keeps its `count` best. Once a block has that many, values worse than
  // its worst are skipped, so that a few best of many values are cheap to find.
  let runs: Uint32Array[] = [];
  const block = new Uint32Array(Math.min(SORTED_AT_ONCE, end - start));
  let filled = 0;
  let worst = -1;
  const close = () => {
    const sorted = block.subarray(0, filled).sort(inOrder).slice(0, count);
    const last = sorted[count - 1];
    if (last !== undefined && (worst < 0 || inOrder(last, worst) < 0)) worst = last;
    runs.push(sorted);
    filled = 0;
  };
  for (let position = start; position < end; position++) {
    if (position % SORTED_AT_ONCE === 0 && pace.spend(SORTED_AT_ONCE * BYTES_OF_A_COMPARISON)) yield;
    if (worst >= 0 && inOrder(worst, position) < 0) continue;
    block[filled++] = position;
    if (filled < block.length) continue;
    close();
    if (pace.spend(SORTED_AT_ONCE * COMPARISONS_OF_A_SORT * BYTES_OF_A_COMPARISON)) yield;
  }
  close();
  while (runs.length > 1) {
    const merged: Uint32Array[] = [];
    for (let i = 0; i < runs.length; i += 2) {
      merged.push(yield* merge(runs[i]!, runs[i + 1] ?? new Uint32Array(0), { inOrder, count, pace }));
    }
    runs = merged;
  }
  return runs[0]!;
}

type Order = (left: number, right: number) => number;

function orderOf(values: Values): Order {
  // NaN comes first; Triton leaves its place to chance. Equal values keep their order.
  return (left, right) => {
    const a = values[left]!;
    const b = values[right]!;
    if (a > b) return -1;
    if (a < b) return 1;
    if (a === b) return left - right;
    const aIsNumber = a === a;
    return aIsNumber === (b === b) ? left - right : aIsNumber ? 1 : -1;
  };
}

interface Merging {
  readonly inOrder: Order;
  readonly count: number;
  readonly pace: Pace;
}

/** The first `count` positions of two sorted runs. */
function* merge(left: Uint32Array, right: Uint32Array, { inOrder, count, pace }: Merging): PacedWork<Uint32Array> {
  const merged = new Uint32Array(Math.min(count, left.length + right.length));
  let l = 0;
  let r = 0;
  for (let i = 0; i < merged.length; i++) {
    const takesLeft = r >= right.length || (l < left.length && inOrder(left[l]!, right[r]!) < 0);
    merged[i] = takesLeft ? left[l++]! : right[r++]!;
    if (pace.spend(BYTES_OF_A_COMPARISON)) yield;
  }
  return merged;
}

/** A double with six decimals, exact and ties to even, as C's `%f` prints it. */
export function fixedText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  const magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  if (magnitude === Infinity) return `${sign}inf`;
  if (magnitude >= 1e21) return `${sign}${BigInt(magnitude)}.000000`;
  // toFixed is exact, but rounds a tie up. Only odd multiples of 2^-7 have a tie at the seventh decimal.
  const sevenths = magnitude * 128;
  if (!Number.isInteger(sevenths) || sevenths % 2 === 0) return sign + magnitude.toFixed(6);
  const below = (BigInt(sevenths) * 15_625n) / 2n;
  const millionths = String(below % 2n === 0n ? below : below + 1n).padStart(7, '0');
  return `${sign}${millionths.slice(0, -6)}.${millionths.slice(-6)}`;
}
