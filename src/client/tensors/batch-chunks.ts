// Sends a batch with more rows than the model takes as several requests: divides its rows in order, and joins the answers again.

import { TritonError, withStatus } from '../../errors.js';
import type { InferTensor } from '../../model/exchange.js';
import { BytesScan } from '../../tensor/raw.js';
import { elementCount, formatShape } from '../../tensor/shape.js';
import { Tensor } from '../../tensor/tensor.js';
import { TritonConnectionError, TritonTimeoutError } from '../client-errors.js';

/** Rows of a batch, from the first to before the last. */
export interface RowRange {
  readonly start: number;
  readonly end: number;
  /** The rows of the whole batch. */
  readonly rows: number;
}

export interface BatchChunk extends RowRange {
  /** Views of the batch's tensors. */
  readonly inputs: readonly InferTensor[];
}

/** Undefined when the batch fits into one request. */
export function chunkRows(inputs: readonly InferTensor[], maxBatchSize: number): readonly BatchChunk[] | undefined {
  const rows = inputs[0]?.shape[0] ?? 0;
  if (rows <= maxBatchSize) return undefined;
  const cuts: number[] = [];
  for (let row = 0; row < rows; row += maxBatchSize) cuts.push(row);
  cuts.push(rows);
  const offsets = inputs.map((tensor) => offsetsOf(tensor, cuts));
  return cuts.slice(1).map((end, chunk) => {
    const start = cuts[chunk]!;
    return {
      start,
      end,
      rows,
      inputs: inputs.map(({ name, datatype, shape, bytes }, index) => ({
        name,
        datatype,
        shape: [end - start, ...shape.slice(1)],
        bytes: bytes.subarray(offsets[index]![chunk], offsets[index]![chunk + 1]),
      })),
    };
  });
}

/** Where in the tensor's bytes the rows begin. */
function offsetsOf({ datatype, shape, bytes }: InferTensor, rows: readonly number[]): readonly number[] {
  const [count = 0, ...rest] = shape;
  if (datatype !== 'BYTES') return rows.map((row) => (bytes.byteLength / count) * row);
  const perRow = elementCount(rest);
  const scan = new BytesScan(bytes);
  return rows.map((row) => {
    scan.advance(perRow * row - scan.count);
    return scan.offset;
  });
}

/** Makes the call's error from the error of a chunk, with the same code. */
export function chunkError(error: TritonError, { start, end, rows }: RowRange): TritonError {
  // The time limit is the whole call's. To the compiler a timeout is like any other error.
  const isLate: boolean = TritonTimeoutError.is(error);
  if (isLate) return error;
  const message = `rows ${start} to ${end - 1} of ${rows}: ${error.message}`;
  // Other chunks have been sent, even if this one was not.
  if (TritonConnectionError.is(error)) return new TritonConnectionError(message, { cause: error, requestSent: true });
  return withStatus(new TritonError(error.code, message, { cause: error }), error.status);
}

type Outputs = Readonly<Record<string, Tensor>>;

/** The outputs of all chunks, one after the other. Throws INTERNAL when they do not belong together. */
export function joinOutputs(
  parts: readonly Outputs[],
  ranges: readonly RowRange[],
  modelName: string,
): Record<string, Tensor> {
  const names = Object.keys(parts[0]!);
  const other = parts.find((part) => {
    const given = Object.keys(part);
    return given.length !== names.length || names.some((name) => !Object.hasOwn(part, name));
  });
  if (other !== undefined) {
    throw new TritonError(
      'INTERNAL',
      `model '${modelName}' answered the chunks of a batch with different outputs: ${names.join(', ')}; ${Object.keys(other).join(', ')}`,
    );
  }
  return Object.fromEntries(
    names.map((name) => {
      const what = `output '${name}' of model '${modelName}'`;
      const tensors = parts.map((part, index) => withRows(part[name]!, ranges[index]!, what));
      return [name, join(tensors, what)];
    }),
  );
}

/** Checks the number of rows: with one row too few, all rows after it would get the results of others. */
function withRows(tensor: Tensor, { start, end }: RowRange, what: string): Tensor {
  if (tensor.shape[0] === end - start) return tensor;
  throw new TritonError(
    'INTERNAL',
    `${what} has shape ${formatShape(tensor.shape)} for a chunk of ${end - start} rows, and cannot be joined`,
  );
}

function join(tensors: readonly Tensor[], what: string): Tensor {
  try {
    return Tensor.concat(tensors);
  } catch (error) {
    throw new TritonError('INTERNAL', `${what}: ${TritonError.from(error).message}`, { cause: error });
  }
}
