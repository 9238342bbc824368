// The workload of the batcher's suite: one row of 16 floats a request, for a model of known cost.

import { bytesOf, checkTail, grpcRequestOf, IDS } from './tensor-wire.js';

export const MODEL = 'Batcher';
export const MAX_ROWS = 32;
export const BATCH_MS = 5;
export const ROW_MS = 0.1;

/** Rows per second when every batch is full and the next begins as soon as one ends. */
export const IDEAL_ROWS_PER_SECOND = (MAX_ROWS * 1000) / (BATCH_MS + ROW_MS * MAX_ROWS);

const ROW_LENGTH = 16;
const rowOf = (k: number): Buffer =>
  bytesOf(Float32Array.from({ length: ROW_LENGTH }, (_, i) => ROW_LENGTH * k + i + 0.25));

export const grpcRequests: readonly Buffer[] = IDS.map((id, k) =>
  grpcRequestOf(MODEL, [{ name: 'x', shape: [1, ROW_LENGTH], bytes: rowOf(k) }], id),
);

/** Throws unless a ModelInferResponse has the row of request `k`. */
export function checkAnswer(message: Buffer, k: number): void {
  checkTail(MODEL, message, rowOf(k));
}
