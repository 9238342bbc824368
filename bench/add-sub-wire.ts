// The workload that servers are compared with: model `AddSub`, inputs a and b, outputs add and sub, each FP32 [1,16], in the
// forms of the wires, and the check that an answer has the right numbers. The values are the identity workload's.

import { binaryRequest, grpcRequestOf, VALUES } from './identity-wire.js';
import type { HttpForm } from './identity-wire.js';

export const ADD_SUB = 'AddSub';
/** The same model with the answers kept, where a server can. */
export const ADD_SUB_CACHED = 'AddSubCached';

const [a, b] = VALUES;
const answers = [a.map((value, i) => value + b[i]!), a.map((value, i) => value - b[i]!)] as const;

export { binaryRequest };
export const grpcRequest = (model: string): Buffer => grpcRequestOf(model);

function jsonForm(value: object): HttpForm {
  return { headers: { 'content-type': 'application/json' }, body: Buffer.from(JSON.stringify(value)) };
}

const jsonTensor = (name: string, values: Float32Array): object => {
  return { name, datatype: 'FP32', shape: [1, values.length], data: [...values] };
};

/** With an id, for some servers invent one. */
export const jsonRequest: HttpForm = jsonForm({ id: '1', inputs: [jsonTensor('a', a), jsonTensor('b', b)] });
/** For a server with no protocol but its users'. */
export const plainJsonRequest: HttpForm = jsonForm({ a: [...a], b: [...b] });

/** Of answers that carry raw bytes: both results are in it, in whatever order. */
export function checkRawAnswer(message: Buffer): void {
  for (const values of answers) {
    if (!message.includes(Buffer.from(values.buffer, values.byteOffset, values.byteLength))) {
      throw new Error('wrong answer: the sums and the differences are not in it');
    }
  }
}

interface JsonAnswer {
  readonly outputs?: readonly { readonly name: string; readonly data: readonly number[] }[];
  readonly add?: readonly number[];
  readonly sub?: readonly number[];
}

export function checkJsonAnswer(body: Buffer): void {
  const answer = JSON.parse(body.toString()) as JsonAnswer;
  for (const [i, name] of (['add', 'sub'] as const).entries()) {
    const data = answer.outputs?.find((output) => output.name === name)?.data ?? answer[name];
    const got = JSON.stringify(data?.flat());
    if (got !== JSON.stringify([...answers[i]!])) throw new Error(`wrong answer: ${name} is ${got}`);
  }
}
