// The workload of large tensors: models `Echo`, whose output is its input, and `Sink`, which answers with how many values it got.
// One input x, FP32 [-1].

import type { HttpForm } from './identity-wire.js';
import { lengthDelimited, packedIntegers } from './protobuf-bytes.js';

export const ECHO = 'Echo';
export const SINK = 'Sink';

/** Every 4 bytes other than those before, so that bytes in the wrong place are seen; each a finite float32. */
export function valuesOf(bytes: number): Buffer {
  const values = Buffer.alloc(bytes);
  for (let at = 0; at + 4 <= bytes; at += 4) values.writeFloatLE(at / 4, at);
  return values;
}

export function httpRequest(values: Buffer): HttpForm {
  const shape = [values.length / 4];
  const tensor = { name: 'x', datatype: 'FP32', shape, parameters: { binary_data_size: values.length } };
  const json = Buffer.from(JSON.stringify({ inputs: [tensor], parameters: { binary_data_output: true } }));
  return {
    headers: { 'content-type': 'application/octet-stream', 'inference-header-content-length': String(json.length) },
    body: Buffer.concat([json, values]),
  };
}

/** A ModelInferRequest. */
export function grpcRequest(model: string, values: Buffer): Buffer {
  const shape = packedIntegers(3, [values.length / 4]);
  const tensor = Buffer.concat([lengthDelimited(1, 'x'), lengthDelimited(2, 'FP32'), shape]);
  return Buffer.concat([lengthDelimited(1, model), lengthDelimited(5, tensor), lengthDelimited(7, values)]);
}

/** Whether an answer ends with what it must: the values themselves, or their number as INT32. */
export function checkAnswer(model: string, answer: Buffer, values: Buffer): void {
  const count = Buffer.alloc(4);
  count.writeInt32LE(values.length / 4);
  const expected = model === ECHO ? values : count;
  if (!answer.subarray(-expected.length).equals(expected)) throw new Error(`wrong answer of ${model}: other values`);
}
