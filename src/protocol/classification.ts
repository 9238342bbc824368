// The classification extension, which both protocols share: an output becomes the `k` best of its values as strings
// `<value>:<index>` or `<value>:<index>:<label>` (Triton's classification.cc).

import { TritonError } from '../errors.js';
import type { CompleteModelConfig } from '../model/complete-model-config.js';
import type { InferTensor } from '../model/exchange.js';
import { DATATYPE_BYTE_SIZE, dtypeOf } from '../tensor/dtype.js';
import { decodeRaw, encodeRaw } from '../tensor/raw.js';
import { elementCount } from '../tensor/shape.js';

export interface ClassificationOptions {
  /** How many of the best values are wanted, at least 1. */
  readonly classes: number | bigint;
  /** The output's labels by index; those that are missing or empty are left out. */
  readonly labels?: readonly string[] | undefined;
  /** Whether the first axis counts rows, each of which is classified by itself. */
  readonly batching: boolean;
}

/** The outputs of a model's response, those classified that `classes` has a positive number for. */
export function classifyOutputs(
  outputs: readonly InferTensor[],
  classes: ReadonlyMap<string, number | bigint>,
  config: CompleteModelConfig,
): readonly InferTensor[] {
  return outputs.map((output) => {
    const wanted = classes.get(output.name) ?? 0;
    if (wanted <= 0) return output;
    const labels = config.outputs.find(({ name }) => name === output.name)?.labels;
    return classify(output, { classes: wanted, labels, batching: config.maxBatchSize > 0 });
  });
}

type Values = { readonly [index: number]: number | bigint; readonly length: number };

/** Larger rows are refused, and larger answers. */
const MAX_ELEMENTS = 1_000_000;

/** The output as strings, best first. Throws INVALID_ARG for datatypes that have no order here, and for large outputs. */
export function classify(output: InferTensor, { classes, labels, batching }: ClassificationOptions): InferTensor {
  const values = valuesOf(output);
  const rows = batching && output.shape.length > 0 ? output.shape[0]! : 1;
  const rowLength = rows === 0 ? 0 : values.length / rows;
  const count = Number(classes) < rowLength ? Number(classes) : rowLength;
  if (rowLength > MAX_ELEMENTS || rows * count > MAX_ELEMENTS) {
    throw new TritonError('INVALID_ARG', 'classification output tensor too large');
  }
  const isFloat = output.datatype === 'FP32' || output.datatype === 'FP64';
  const texts: string[] = [];
  for (let row = 0; row < rows; row++) {
    const start = row * rowLength;
    for (const position of best(values, start, start + rowLength, count)) {
      const value = values[position]!;
      const index = position - start;
      const label = labels?.[index];
      const text = `${isFloat ? fixedText(value as number) : String(value)}:${index}`;
      texts.push(label === undefined || label === '' ? text : `${text}:${label}`);
    }
  }
  return {
    name: output.name,
    datatype: 'BYTES',
    shape: batching ? [rows, count] : [count],
    bytes: encodeRaw('string', texts),
  };
}

function valuesOf({ name, datatype, shape, bytes }: InferTensor): Values {
  switch (datatype) {
    case 'BOOL':
    case 'BYTES':
    case 'FP16':
    case 'BF16':
      throw new TritonError(
        'INVALID_ARG',
        `class result not available for output due to unsupported type '${datatype}'`,
      );
    default:
      if (bytes.byteLength !== elementCount(shape) * DATATYPE_BYTE_SIZE[datatype]) {
        throw new TritonError(
          'INTERNAL',
          `output '${name}' has ${bytes.byteLength} bytes, which is not the size of ${datatype} of shape [${shape.join(',')}]`,
        );
      }
      return decodeRaw(dtypeOf(datatype), bytes) as Values;
  }
}

/** Positions of the `count` best values from `start` to `end`, the best first. */
function best(values: Values, start: number, end: number, count: number): number[] {
  // NaN comes first, whose place Triton leaves to chance; equal values keep their order.
  const inOrder = (left: number, right: number): number => {
    const a = values[left]!;
    const b = values[right]!;
    if (a > b) return -1;
    if (a < b) return 1;
    if (a === b) return left - right;
    const aIsNumber = a === a;
    return aIsNumber === (b === b) ? left - right : aIsNumber ? 1 : -1;
  };
  // Sorted and cut whenever it is twice as long as it need be, so that few of many are cheap to find.
  const longest = Math.max(2 * count, 64);
  let candidates: number[] = [];
  let worst = -1;
  for (let position = start; position < end; position++) {
    if (worst >= 0 && inOrder(worst, position) < 0) continue;
    if (candidates.push(position) < longest) continue;
    candidates = candidates.sort(inOrder).slice(0, count);
    worst = candidates[count - 1] ?? -1;
  }
  return candidates.sort(inOrder).slice(0, count);
}

/** A double with six decimals, exact and ties to even, as C's `%f` prints it. */
export function fixedText(value: number): string {
  if (Number.isNaN(value)) return 'nan';
  const magnitude = Math.abs(value);
  const sign = value < 0 || Object.is(value, -0) ? '-' : '';
  if (magnitude === Infinity) return `${sign}inf`;
  if (magnitude >= 1e21) return `${sign}${BigInt(magnitude)}.000000`;
  // toFixed is exact, but rounds a tie up; a dyadic fraction is one at the seventh decimal only as an odd multiple of 2^-7.
  const sevenths = magnitude * 128;
  if (!Number.isInteger(sevenths) || sevenths % 2 === 0) return sign + magnitude.toFixed(6);
  const below = (BigInt(sevenths) * 15_625n) / 2n;
  const millionths = String(below % 2n === 0n ? below : below + 1n).padStart(7, '0');
  return `${sign}${millionths.slice(0, -6)}.${millionths.slice(-6)}`;
}
