// The workloads of the growth suite: requests over gRPC of so many tensors, or of one row, and the servers that take them.

import { lengthDelimited, packedIntegers } from './protobuf-bytes.js';

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
const ROW = Buffer.alloc(ROW_LENGTH * 4, 1);

export const modelNamed = (i: number): string => `Model${i}`;
export const inputNames = (tensors: number): readonly string[] => Array.from({ length: tensors }, (_, i) => `x${i}`);

/** A ModelInferRequest of one row of each tensor, with raw contents. */
export function grpcRequest(model: string, tensors: number): Buffer {
  const shape = packedIntegers(3, [1, ROW_LENGTH]);
  const tensor = (name: string): Buffer => {
    return lengthDelimited(5, Buffer.concat([lengthDelimited(1, name), lengthDelimited(2, 'FP32'), shape]));
  };
  return Buffer.concat([
    lengthDelimited(1, model),
    ...inputNames(tensors).map(tensor),
    ...inputNames(tensors).map(() => lengthDelimited(7, ROW)),
  ]);
}

/** Whether a ModelInferResponse has a row for each tensor. */
export function isAnswer(message: Buffer, tensors: number): boolean {
  let rows = 0;
  for (let at = message.indexOf(ROW); at !== -1; at = message.indexOf(ROW, at + ROW.length)) rows++;
  return rows === tensors;
}
