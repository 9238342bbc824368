// The workload of the batcher's suite: one row of 16 floats a request, for a model of known cost.

import { lengthDelimited, packedIntegers } from './protobuf-bytes.js';

export const MODEL = 'Batcher';
export const MAX_ROWS = 32;
export const BATCH_MS = 5;
export const ROW_MS = 0.1;

/** Rows per second when every batch is full and the next begins as soon as one ends. */
export const IDEAL_ROWS_PER_SECOND = (MAX_ROWS * 1000) / (BATCH_MS + ROW_MS * MAX_ROWS);

const ROW_LENGTH = 16;
const row = Buffer.alloc(ROW_LENGTH * 4);
for (let i = 0; i < ROW_LENGTH; i++) row.writeFloatLE(i + 0.25, i * 4);

/** A ModelInferRequest with raw_input_contents. */
export const grpcRequest: Buffer = Buffer.concat([
  lengthDelimited(1, MODEL),
  lengthDelimited(
    5,
    Buffer.concat([lengthDelimited(1, 'x'), lengthDelimited(2, 'FP32'), packedIntegers(3, [1, ROW_LENGTH])]),
  ),
  lengthDelimited(7, row),
]);

/** Whether a ModelInferResponse has the row that was sent. */
export function isAnswer(message: Buffer): boolean {
  return message.subarray(-row.length).equals(row);
}
