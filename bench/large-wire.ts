// The workload of large tensors: models `Echo`, whose output is its input, and `Sink`, which answers with how many values it got.
// One input x, FP32 [-1].

import { binaryRequestOf, checkTail, grpcRequestOf } from './tensor-wire.js';
import type { HttpForm, WireTensor } from './tensor-wire.js';

export const ECHO = 'Echo';
export const SINK = 'Sink';

/** Every 4 bytes other than those before, so that bytes in the wrong place are seen; each a finite float32. */
export function valuesOf(bytes: number, first = 0): Buffer {
  const values = Buffer.alloc(bytes);
  for (let at = 0; at + 4 <= bytes; at += 4) values.writeFloatLE(first + at / 4, at);
  return values;
}

const inputsOf = (values: Buffer): readonly WireTensor[] => [{ name: 'x', shape: [values.length / 4], bytes: values }];

export const httpRequest = (values: Buffer, id: string): HttpForm => binaryRequestOf(inputsOf(values), id);
export const grpcRequest = (model: string, values: Buffer, id: string): Buffer =>
  grpcRequestOf(model, inputsOf(values), id);

/** Throws unless an answer ends with what it must: the values themselves, or their number as INT32. */
export function checkAnswer(model: string, answer: Buffer, values: Buffer): void {
  const count = Buffer.alloc(4);
  count.writeInt32LE(values.length / 4);
  checkTail(model, answer, model === ECHO ? values : count);
}
