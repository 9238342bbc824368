// The workload that servers are compared with: model `AddSub`, inputs a and b, outputs add and sub, each FP32 [1,16], in the
// forms of the wires, and the checks that an answer has the right numbers. The values are the identity workload's.

import { VALUES } from './identity-wire.js';
import { bytesOf, jsonForm } from './tensor-wire.js';
import type { HttpForm } from './tensor-wire.js';

export { binaryRequests, grpcRequestsOf, jsonRequests } from './identity-wire.js';

export const ADD_SUB = 'AddSub';
/** The same model with the answers kept, where a server can. */
export const ADD_SUB_CACHED = 'AddSubCached';
/** The same model without batching, where a server has both. */
export const ADD_SUB_ALONE = 'AddSubAlone';

const ANSWERS = VALUES.map(
  ([a, b]) => [a.map((value, i) => value + b[i]!), a.map((value, i) => value - b[i]!)] as const,
);

/** For a server with no protocol but its users'. */
export const plainJsonRequests: readonly HttpForm[] = VALUES.map(([a, b]) => jsonForm({ a: [...a], b: [...b] }));

/** Of answers that carry raw bytes: both results are in it, in whatever order. `k` is the number of the request. */
export function checkRawAnswer(message: Buffer, k: number): void {
  for (const values of ANSWERS[k]!) {
    if (!message.includes(bytesOf(values))) {
      throw new Error('wrong answer: the sums and the differences are not in it');
    }
  }
}

interface JsonAnswer {
  readonly outputs?: readonly { readonly name: string; readonly data: readonly number[] }[];
  readonly add?: readonly number[];
  readonly sub?: readonly number[];
}

export function checkJsonAnswer(body: Buffer, k: number): void {
  const answer = JSON.parse(body.toString()) as JsonAnswer;
  for (const [i, name] of (['add', 'sub'] as const).entries()) {
    const data = answer.outputs?.find((output) => output.name === name)?.data ?? answer[name];
    const got = JSON.stringify(data?.flat());
    if (got !== JSON.stringify([...ANSWERS[k]![i]!])) throw new Error(`wrong answer: ${name} is ${got}`);
  }
}
