// The workloads of the growth suite: requests over gRPC of so many tensors, or of one row, and the servers that take them.

import { grpcRequestOf, IDS } from './tensor-wire.js';

/** What grows, from what to what. */
export const SERIES = {
  tensors: { title: 'tensors a request', sizes: [1, 4, 16, 64] },
  rows: { title: 'rows a batch', sizes: [1, 8, 32, 128] },
  models: { title: 'models served', sizes: [1, 10, 100] },
  idle: { title: 'idle connections', sizes: [1, 500, 5000] },
  queued: { title: 'queued requests', sizes: [16, 128, 1024, 8192] },
} as const;
export type SeriesName = keyof typeof SERIES;

export const ROW_LENGTH = 16;
const rowOf = (k: number): Buffer => Buffer.alloc(ROW_LENGTH * 4, k + 1);

export const modelNamed = (i: number): string => `Model${i}`;
export const inputNames = (tensors: number): readonly string[] => Array.from({ length: tensors }, (_, i) => `x${i}`);

/** Requests of one row of each tensor. */
export function grpcRequests(model: string, tensors: number): readonly Buffer[] {
  return IDS.map((id, k) => {
    const inputs = inputNames(tensors).map((name) => ({ name, shape: [1, ROW_LENGTH], bytes: rowOf(k) }));
    return grpcRequestOf(model, inputs, id);
  });
}

/** Whether a ModelInferResponse to request `k` has its row for each tensor. */
export function isAnswer(message: Buffer, tensors: number, k: number): boolean {
  const row = rowOf(k);
  let rows = 0;
  for (let at = message.indexOf(row); at !== -1; at = message.indexOf(row, at + row.length)) rows++;
  return rows === tensors;
}
