// Callables written apart from their model, with the types that one writes first. Where they say what they take, that is
// held against the model; where they say nothing, they are taken for any model and checked at run time.
import {
  batch,
  defineModel,
  firstValue,
  groupByKeys,
  groupByValues,
  padBatch,
  sample,
  stream,
  Tensor,
  Triton,
  type CallableOf,
  type InferenceContext,
  type InferenceRequest,
  type InferFunc,
  type ModelObject,
  type ModelSpec,
  type OutputsLike,
  type TensorFunc,
  type TensorSpecs,
} from 'tstriton';

const triton = new Triton();

const addSub = defineModel({
  modelName: 'AddSub',
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
  outputs: { add: { dtype: 'float32', shape: [-1] }, sub: { dtype: 'float32', shape: [-1] } },
});
const optional = defineModel({
  ...addSub,
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1], optional: true } },
});
const decoupled = defineModel({ ...addSub, config: { decoupled: true } });
const other = defineModel({ ...addSub, inputs: { text: { dtype: 'string', shape: [1] } } });
const listed = defineModel({
  modelName: 'Listed',
  inputs: [
    { dtype: 'float32', shape: [-1] },
    { dtype: 'float32', shape: [-1] },
  ],
  outputs: [
    { dtype: 'float32', shape: [-1] },
    { dtype: 'float32', shape: [-1] },
  ],
});

// The seeds' page on callables: a function, a class, a coroutine, a generator of lists of requests.

function inferFn(requests: InferenceRequest[]): Record<string, Tensor>[] {
  return requests.map(({ inputs }) => ({ add: inputs['a']!, sub: inputs['b']! }));
}
class InferCallable implements ModelObject {
  infer(requests: InferenceRequest[]): Record<string, Tensor>[] {
    return inferFn(requests);
  }
  alternativeInfer(requests: readonly InferenceRequest[], _context: InferenceContext) {
    return requests.map(({ inputs }) => ({ add: inputs['a']!, sub: inputs['b']! }));
  }
}
async function inferCoro(requests: InferenceRequest[]): Promise<Record<string, Tensor>[]> {
  return Promise.resolve(inferFn(requests));
}
function* streamingInferFn(requests: InferenceRequest[]): Generator<Record<string, Tensor>[]> {
  yield inferFn(requests);
}
const typed: InferFunc = (requests) => requests.map(({ inputs }) => ({ add: inputs['a'], sub: inputs['b'] }));
const returningAnything = (requests: InferenceRequest[]): OutputsLike<never>[] => requests.map(() => ({}) as never);

triton.bind({ ...addSub, inferFunc: inferFn });
triton.bind({ ...addSub, inferFunc: new InferCallable() });
triton.bind({ ...addSub, inferFunc: { object: new InferCallable(), method: 'alternativeInfer' } });
triton.bind({ ...addSub, inferFunc: inferCoro });
triton.bind({ ...addSub, inferFunc: typed });
triton.bind({ ...addSub, inferFunc: returningAnything });
triton.bind({ ...addSub, inferFunc: [inferFn, new InferCallable(), typed, (requests) => requests.map(() => [[[0]], [[0]]])] }); // prettier-ignore
triton.bind({ ...decoupled, inferFunc: streamingInferFn });
triton.bind({ ...decoupled, inferFunc: inferFn });
triton.bind({ ...optional, inferFunc: inferFn });
triton.bind({ ...optional, inferFunc: typed });
triton.bind({ ...listed, inferFunc: [inferFn, inferFn] });
triton.bind({ ...listed, inferFunc: typed });
triton.bind({ ...listed, inferFunc: [new InferCallable(), new InferCallable()] });
triton.bind({
  modelName: 'InPlace',
  inferFunc: inferFn,
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
});
await triton.rebind({ ...addSub, inferFunc: inferFn });

// Decorated on a line of its own: `@batch def infer_fn(**inputs)`.

const untyped = batch(({ a, b }) => ({ add: a!.map((value, i) => value + b!.data[i]), sub: b }));
const listing = batch(async ([a, b]) => Promise.resolve([a!, b!]));
const annotated = batch(([a, b]: Tensor<'float32'>[]) => [a!, b!]);
const counting = sample((inputs) => [inputs['a'], Object.values(inputs).length]);
const padded = groupByKeys(
  batch(
    groupByValues(
      ['a'],
      padBatch(({ a }) => ({ add: a, sub: a })),
    ),
  ),
);
const first = batch(firstValue(['a'], ({ a, b }) => ({ add: [[a]], sub: b })));
const yielding = batch(async function* ({ a }) {
  yield { add: a, sub: a };
});
const streaming = stream(function* ({ a }) {
  yield { add: a, sub: a };
});
const precise = batch(({ a, b }: { a: Tensor<'float32'>; b: Tensor<'float32'> }) => ({
  add: a.map((value, i) => value + b.data[i]!),
  sub: new Tensor(
    'float32',
    a.data.map((value, i) => value - b.data[i]!),
    a.shape,
  ),
}));
function record({ a, b }: Record<string, Tensor>): Record<string, Tensor> {
  return { add: a!, sub: b! };
}
const recording = batch(record);
const tensorFunc: TensorFunc = ({ a }) => ({ add: a, sub: a });

triton.bind({ ...addSub, inferFunc: [untyped, counting, padded, first, precise, recording, batch(tensorFunc)] });
triton.bind({ ...addSub, inferFunc: batch(record) });
triton.bind({
  ...addSub,
  inferFunc: sample(async (inputs: Record<string, Tensor>) => Promise.resolve(record(inputs))),
});
triton.bind({ ...listed, inferFunc: [listing, annotated, untyped] });
triton.bind({ ...listed, inferFunc: recording });
triton.bind({ ...optional, inferFunc: untyped });
triton.bind({ ...decoupled, inferFunc: yielding });
triton.bind({ ...decoupled, inferFunc: streaming });

// A function that answers once serves a decoupled model too.

export const once: CallableOf<typeof addSub> = batch(({ a, b }) => ({ add: a, sub: b }));
triton.bind({ ...decoupled, inferFunc: once });
export function bindAny(model: ModelSpec, inferFunc: InferFunc): void {
  triton.bind({ ...model, inferFunc });
}
export function bindTyped<I extends TensorSpecs, O extends TensorSpecs>(
  model: ModelSpec<I, O>,
  inferFunc: InferFunc<I, O>,
): void {
  triton.bind({ ...model, inferFunc });
}

// With the model's own type, nothing is left to run time.

export const exact: CallableOf<typeof addSub> = batch(({ a, b }) => ({ add: a, sub: b }));
export class Exact {
  readonly infer: CallableOf<typeof addSub> = (requests) =>
    requests.map(({ inputs: { a, b } }) => ({ add: a, sub: b }));
}

// A request that stands for its result: PyTriton's identity, written apart.
const identity = (requests: InferenceRequest[]) => requests;
triton.bind({ ...addSub, inferFunc: identity });
triton.bind({ modelName: 'Listed', inputs: [{ dtype: 'float32', shape: [-1] }], outputs: [{ dtype: 'float32', shape: [-1] }], inferFunc: identity }); // prettier-ignore

// What must not compile.

// @ts-expect-error It says that it takes other inputs.
triton.bind({ ...other, inferFunc: precise });
// @ts-expect-error An input that the model does not have.
triton.bind({ ...addSub, inferFunc: batch(({ c }: { c: Tensor<'float32'> }) => [c, c]) });
// @ts-expect-error An input of another dtype.
triton.bind({ ...addSub, inferFunc: batch(({ a }: { a: Tensor<'float64'> }) => ({ add: a, sub: a })) });
// @ts-expect-error An optional input taken for granted.
triton.bind({ ...optional, inferFunc: precise });
// @ts-expect-error A misspelt output, in a function whose results have names.
triton.bind({ ...addSub, inferFunc: (requests: InferenceRequest[]) => requests.map(({ inputs }) => ({ ad: inputs['a']!, sub: inputs['b']! })) }); // prettier-ignore
// @ts-expect-error One result instead of a list.
triton.bind({ ...addSub, inferFunc: (requests: InferenceRequest[]): Record<string, Tensor> => inferFn(requests)[0]! });
// @ts-expect-error A generator for a model that is not decoupled.
triton.bind({ ...addSub, inferFunc: streamingInferFn });
// @ts-expect-error A function of tensors without its decorator.
triton.bind({ ...addSub, inferFunc: record });
// @ts-expect-error Requests of another model.
triton.bind({ ...addSub, inferFunc: (requests: InferenceRequest<typeof other.inputs>[]) => inferFn(requests) });
// @ts-expect-error It takes no requests.
triton.bind({ ...addSub, inferFunc: (count: number): Record<string, Tensor>[] => inferFn([]).slice(count) });
