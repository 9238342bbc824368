// The code examples of PyTriton's page "Inference Callable", in TypeScript.
import {
  defineModel,
  Triton,
  type CallableOf,
  type InferenceRequest,
  type OutputsLike,
  type Parameters,
} from 'tstriton';

import type { Equal, Expect } from './expect-type.js';

const model = defineModel({
  modelName: 'MyInferenceFunction',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
  config: { maxBatchSize: 8 },
});
type Request = InferenceRequest<typeof model.inputs>;
type Result = OutputsLike<typeof model.outputs>;

/** A function of a list of requests. */
const infer: CallableOf<typeof model> = (requests) =>
  requests.map(({ inputs, parameters, id, signal }) => {
    const given: [Parameters, string, AbortSignal] = [parameters, id, signal];
    return { y: given.length > 0 ? inputs.x.map((value) => value + 1) : inputs.x };
  });

/** The same with all types written out. */
function inferWritten(requests: readonly Request[]): Result[] {
  return requests.map((request) => ({ y: request.inputs.x }));
}

/** A class: the object itself is bound, or one of its methods. */
class InferCallable {
  readonly #bias: number;

  constructor(bias: number) {
    this.#bias = bias;
  }

  infer(requests: readonly Request[]): Result[] {
    return requests.map(({ inputs }) => ({ y: inputs.x.map((value) => value + this.#bias) }));
  }

  readonly alternativeInfer = (requests: readonly Request[]): Result[] =>
    requests.map(({ inputs }) => [inputs.x.map((value) => value - this.#bias)]);
}

/** An asynchronous function. */
const inferAsync = (async (requests) => requests.map(({ inputs }) => ({ y: inputs.x }))) satisfies CallableOf<
  typeof model
>;

/** A generator serves a decoupled model: any number of responses, a place per request in each step. */
const streaming = defineModel({ ...model, modelName: 'StreamingInferenceCallable', config: { decoupled: true } });
const inferStreaming: CallableOf<typeof streaming> = function* (requests) {
  yield requests.map(({ inputs }) => ({ y: inputs.x }));
  yield requests.map((request, i) => (i === 0 ? undefined : [request.inputs.x]));
};
/** Each request by itself: one that throws fails alone. */
const inferEach: CallableOf<typeof model> = (requests) => requests.map(async ({ inputs }) => ({ y: inputs.x }));
const inferStreamingAsync: CallableOf<typeof streaming> = async function* (requests) {
  yield requests.map(({ inputs }) => ({ y: inputs.x }));
};

export async function bind(): Promise<void> {
  const callable = new InferCallable(2);
  await using triton = new Triton();
  triton.bind({ ...model, inferFunc: infer });
  triton.bind({ ...model, modelVersion: 2, inferFunc: inferWritten });
  triton.bind({ ...model, modelName: 'MyInferenceCallable', inferFunc: callable });
  triton.bind({ ...model, modelName: 'AlternativeInferenceCallable', inferFunc: callable.alternativeInfer });
  triton.bind({ ...model, modelName: 'MyInferenceCoroutine', inferFunc: inferAsync });
  triton.bind({ ...model, modelName: 'MyInferenceOfEach', inferFunc: inferEach });
  triton.bind({ ...streaming, inferFunc: inferStreaming });
  triton.bind({ ...streaming, modelVersion: 2, inferFunc: [inferStreamingAsync, { infer: inferStreaming }] });
}

export type ParameterValues = Expect<Equal<Parameters, Readonly<Record<string, string | boolean | number | bigint>>>>;

// @ts-expect-error A generator for a model that is not decoupled.
export const generator: CallableOf<typeof model> = inferStreaming;
/** A function that returns serves a decoupled model too: one response each. */
export const notAGenerator: CallableOf<typeof streaming> = infer;
// @ts-expect-error A generator of single results, not of lists.
export const single: CallableOf<typeof streaming> = function* (requests) {
  yield { y: requests[0]!.inputs.x };
};
// @ts-expect-error One result instead of a list.
export const unlisted: CallableOf<typeof model> = (requests) => ({ y: requests[0]!.inputs.x });
