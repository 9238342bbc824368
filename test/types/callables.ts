// Callables against declarations: what follows from `inputs`, what may be returned, and what must not compile.
import {
  batch,
  defineModel,
  sample,
  stream,
  Tensor,
  Triton,
  type CallableOf,
  type CompleteModelConfig,
  type InferenceContext,
  type InputValues,
  type ModelSpec,
  type NamedInputs,
  type Outputs,
  type SequenceEndReason,
  type TensorSpec,
} from 'tstriton';

import type { Equal, Expect } from './expect-type.js';

const triton = new Triton();

const linear = defineModel({
  modelName: 'Linear',
  inputs: { data: { dtype: 'float32', shape: [-1] } },
  outputs: { result: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 64 },
});

// Inputs: records, lists, lists with some names, optional ones.

triton.bind({
  modelName: 'AddSub',
  inferFunc: batch(({ a, b }) => {
    const types: [Tensor<'float32'>, Tensor<'float64'>, Float32Array, Float64Array] = [a, b, a.data, b.data];
    return { add: types[0], sub: a };
  }),
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: Float64Array, shape: [-1] } },
  outputs: { add: { dtype: 'FP32', shape: [-1] }, sub: { dtype: 'FP32', shape: [-1] } },
  config: { maxBatchSize: 8 },
  strict: true,
});

const partlyNamed = defineModel({
  modelName: 'PartlyNamed',
  inputs: [
    { dtype: 'float32', shape: [-1] },
    { name: 'scale', dtype: 'int64', shape: [1], optional: true },
    { dtype: 'bool', shape: [] },
  ],
  outputs: [
    { name: 'first', dtype: 'float32', shape: [-1] },
    { dtype: 'string', shape: [1] },
  ],
});
export type PartlyNamed = [
  Expect<
    Equal<
      NamedInputs<typeof partlyNamed.inputs>,
      { readonly INPUT_1: Tensor<'float32'>; readonly INPUT_3: Tensor<'bool'>; readonly scale?: Tensor<'int64'> }
    >
  >,
  Expect<
    Equal<
      Outputs<typeof partlyNamed.outputs>,
      { readonly first: Tensor<'float32'>; readonly OUTPUT_2: Tensor<'string'> }
    >
  >,
];
triton.bind({
  ...partlyNamed,
  inferFunc: batch(({ INPUT_1, scale }) => {
    const factors: BigInt64Array | undefined = scale?.data;
    return { first: INPUT_1, OUTPUT_2: [[String(factors?.[0] ?? 1n)]] };
  }),
});
export const withoutOptional: InputValues<typeof partlyNamed.inputs> = { INPUT_1: [1], INPUT_3: [true] };
// @ts-expect-error A required input is missing.
export const withoutRequired: InputValues<typeof partlyNamed.inputs> = { INPUT_1: [1] };

// Declarations that are known at run time only.
export function bindAtRunTime(inputs: readonly TensorSpec[], outputs: readonly TensorSpec[]): void {
  triton.bind({
    modelName: 'Dynamic',
    inputs,
    outputs,
    inferFunc: batch((tensors) => {
      const named: Readonly<Record<string, Tensor>> = tensors;
      const one: Tensor | undefined = tensors['x'];
      return one === undefined ? named : { y: one };
    }),
  });
}
export function bindRecordAtRunTime(model: ModelSpec): void {
  triton.bind({ ...model, config: {}, inferFunc: (requests) => requests });
}

// Results: records, lists in declaration order, requests, typed arrays, nested arrays; awaited or not.

triton.bind({ ...linear, inferFunc: batch(({ data }) => ({ result: data.map((value) => -value) })) });
triton.bind({ ...linear, inferFunc: batch(({ data }) => [data]) });
triton.bind({ ...linear, inferFunc: batch(({ data }) => ({ result: data.data })) });
triton.bind({ ...linear, inferFunc: batch(({ data }) => ({ result: data.rows().map((row) => [row.data[0]!]) })) });
triton.bind({ ...linear, inferFunc: batch(async ({ data }) => Promise.resolve({ result: data })) });
triton.bind({ ...linear, inferFunc: sample(({ data }) => ({ result: [...data.data] })) });
triton.bind({ ...linear, inferFunc: (requests) => requests });
triton.bind({ ...linear, inferFunc: (requests) => requests.map(({ inputs }) => ({ result: inputs.data })) });
triton.bind({
  ...linear,
  inferFunc: async (requests) => Promise.all(requests.map(async ({ inputs }) => [inputs.data])),
});
triton.bind({
  ...linear,
  inferFunc: (requests) => requests.map((request, i) => (i === 0 ? request : { result: request.inputs.data })),
});
triton.bind({
  ...linear,
  inferFunc: (requests) =>
    requests.map(({ inputs }, i) => (i === 0 ? new RangeError('not the first') : { result: inputs.data })),
});

triton.bind({
  modelName: 'Lists',
  inputs: [
    { dtype: 'float32', shape: [-1] },
    { dtype: 'int64', shape: [-1] },
  ],
  outputs: [
    { dtype: 'int64', shape: [-1] },
    { name: 'x', dtype: 'float32', shape: [-1] },
  ],
  inferFunc: batch(({ INPUT_1, INPUT_2 }) => [INPUT_2, INPUT_1]),
});

// The context is the second argument of every form.

triton.bind({
  ...linear,
  inferFunc: batch(({ data }, context) => {
    const { modelName, modelVersion, modelConfig, requests, signal, logger } = context;
    const types: [string, number, CompleteModelConfig, AbortSignal] = [modelName, modelVersion, modelConfig, signal];
    logger.info(`${types.length} ${requests.map(({ parameters }) => parameters['temperature']).join(', ')}`);
    const same: InferenceContext<typeof linear.inputs> = context;
    return { result: same.requests[0]?.inputs.data ?? data };
  }),
});

// Settings of each row's user, and outputs that nobody asked for.

triton.bind({
  ...linear,
  inferFunc: batch(({ data }, { rowParameters, requestOfRow }) => {
    const scale: string | boolean | number | bigint | undefined = rowParameters[0]?.['scale'];
    const first: Tensor<'float32'> | undefined = requestOfRow[0]?.inputs.data;
    return { result: scale === undefined ? data : (first ?? data) };
  }),
});
// Rows that fail alone: by their places, or by an error in their place.

triton.bind({
  ...linear,
  config: { maxBatchSize: 8, isolateFailures: true },
  inferFunc: batch(({ data }, { failRow }) => {
    failRow(0, new RangeError('not the first'));
    // @ts-expect-error A row fails with an error.
    failRow(1, 'not the second');
    return { result: data };
  }),
});
triton.bind({
  ...linear,
  inferFunc: batch(({ data }) => ({
    result: data.rows().map((row, i) => (i === 0 ? new RangeError('not the first') : [...row.data])),
  })),
});
triton.bind({
  ...linear,
  inferFunc: async (requests) =>
    requests.map(({ inputs }) => [inputs.data.rows().map((row) => (row.data.length > 0 ? [1] : new Error('empty')))]),
});
triton.bind({
  ...linear,
  // @ts-expect-error An error stands in the place of a row, not of a value in it.
  inferFunc: batch(({ data }) => ({ result: data.rows().map(() => [1, new Error('one')]) })),
});
// @ts-expect-error No boolean.
triton.bind({ ...linear, config: { isolateFailures: 'yes' }, inferFunc: batch(({ data }) => ({ result: data })) });
triton.bind({
  ...linear,
  inferFunc: batch(({ data }, { requestedOutputs }) => ({
    result: requestedOutputs.includes('result') ? data : undefined,
  })),
});
triton.bind({
  ...linear,
  inferFunc: (requests) =>
    requests.map(({ inputs, requestedOutputs }) => [requestedOutputs.includes('result') ? inputs.data : undefined]),
});

// Callables written apart, objects, lists of them.

const apart: CallableOf<typeof linear> = batch(({ data }) => ({ result: data.map((value) => 2 * value) }));
const satisfying = (async (requests) => requests.map(({ inputs }) => ({ result: inputs.data }))) satisfies CallableOf<
  typeof linear
>;
class Scaler {
  readonly infer: CallableOf<typeof linear> = (requests) => requests.map(({ inputs }) => [inputs.data]);
}
triton.bind({ ...linear, inferFunc: apart });
triton.bind({ ...linear, inferFunc: [apart, satisfying] });
triton.bind({ ...linear, inferFunc: new Scaler() });
triton.bind({ ...linear, inferFunc: [new Scaler(), new Scaler(), apart, batch(({ data }) => ({ result: data }))] });
triton.bind({ ...linear, inferFunc: { infer: apart } }).bind({ ...linear, modelVersion: 2, inferFunc: apart });

// Decoupled models: generators.

const tokens = defineModel({
  modelName: 'Tokens',
  inputs: { prompt: { dtype: 'bytes', shape: [1] } },
  outputs: { token: { dtype: 'bytes', shape: [1] } },
  config: { decoupled: true },
});
triton.bind({
  ...tokens,
  inferFunc: batch(async function* ({ prompt }) {
    const bytes: Uint8Array[] = prompt.data;
    yield { token: [bytes] };
  }),
});
triton.bind({
  ...tokens,
  inferFunc: function* (requests) {
    yield requests.map((request, i) => (i === 0 ? undefined : { token: request.inputs.prompt }));
  },
});

// One that returns answers each request once.
triton.bind({ ...tokens, inferFunc: batch(({ prompt }) => ({ token: prompt })) });
triton.bind({ ...tokens, inferFunc: stream(async ({ prompt }) => ({ token: prompt })) });
triton.bind({ ...tokens, inferFunc: (requests) => requests.map(({ inputs }) => ({ token: inputs.prompt })) });
triton.bind({ ...tokens, inferFunc: async (requests) => requests.map((_, i) => (i === 0 ? undefined : [[['a']]])) });

// The reasons that `onEnd` may get.
export type EndReasons = Expect<Equal<SequenceEndReason, 'ended' | 'restarted' | 'expired' | 'cancelled' | 'unloaded'>>;

// What must not compile.

// @ts-expect-error Misspelt output, returned by a decoupled model.
triton.bind({ ...tokens, inferFunc: batch(({ prompt }) => ({ tokn: prompt })) });
// @ts-expect-error Unknown input.
triton.bind({ ...linear, inferFunc: batch(({ dat }) => ({ result: dat })) });
// @ts-expect-error Unknown input, raw.
triton.bind({ ...linear, inferFunc: (requests) => requests.map(({ inputs }) => ({ result: inputs.dat })) });
// @ts-expect-error Unknown input, sample.
triton.bind({ ...linear, inferFunc: sample(({ dat }) => ({ result: dat })) });
// @ts-expect-error Missing output.
triton.bind({ ...linear, inferFunc: batch(() => ({})) });
// @ts-expect-error Misspelt output.
triton.bind({ ...linear, inferFunc: batch(({ data }) => ({ resultx: data })) });
// @ts-expect-error Misspelt output, awaited.
triton.bind({ ...linear, inferFunc: batch(async ({ data }) => ({ resultx: data })) });
// @ts-expect-error Misspelt output, raw.
triton.bind({ ...linear, inferFunc: (requests) => requests.map(({ inputs }) => ({ resultx: inputs.data })) });
// @ts-expect-error Misspelt output, sample.
triton.bind({ ...linear, inferFunc: sample(({ data }) => ({ resultx: data })) });
// @ts-expect-error Output tensor of another dtype.
triton.bind({ ...linear, inferFunc: batch(() => ({ result: Tensor.from('float64', [[1]]) })) });
// @ts-expect-error Output data of another dtype.
triton.bind({ ...linear, inferFunc: batch(() => ({ result: Float64Array.of(1) })) });
// @ts-expect-error Strings for numbers.
triton.bind({ ...linear, inferFunc: batch(() => ({ result: [['1']] })) });
// @ts-expect-error A bare tensor for the outputs.
triton.bind({ ...linear, inferFunc: batch(({ data }) => data) });
// @ts-expect-error An optional input taken for granted.
triton.bind({ ...partlyNamed, inferFunc: batch(({ INPUT_1, scale }) => [INPUT_1, [String(scale.data[0])]]) });
// @ts-expect-error A list in the wrong order.
triton.bind({ ...partlyNamed, inferFunc: batch(({ INPUT_1 }) => [[['text']], INPUT_1]) });
// @ts-expect-error Too few in the list.
triton.bind({ ...partlyNamed, inferFunc: batch(({ INPUT_1 }) => [INPUT_1]) });
// @ts-expect-error Too many in the list.
triton.bind({ ...partlyNamed, inferFunc: batch(({ INPUT_1 }) => [INPUT_1, [['text']], INPUT_1]) });
// @ts-expect-error One of the callables is wrong.
triton.bind({ ...linear, inferFunc: [apart, batch(({ data }) => ({ resultx: data }))] });
// @ts-expect-error A generator for a model that is not decoupled.
triton.bind({ ...linear, inferFunc: batch(function* ({ data }) { yield { result: data }; }) }); // prettier-ignore
// @ts-expect-error An asynchronous generator for a model that is not decoupled.
triton.bind({ ...linear, inferFunc: batch(async function* ({ data }) { yield { result: data }; }) }); // prettier-ignore
// @ts-expect-error A callable for another model.
triton.bind({ ...tokens, inferFunc: apart });
// @ts-expect-error A callable for another model, assigned.
export const wrongModel: CallableOf<typeof tokens> = apart;
// @ts-expect-error An object without infer.
triton.bind({ ...linear, inferFunc: { run: apart } });
// @ts-expect-error No callable at all.
triton.bind({ ...linear });
// @ts-expect-error Unknown dtype.
triton.bind({ modelName: 'M', inputs: { a: { dtype: 'float33', shape: [1] } }, outputs: {}, inferFunc: (r) => r });
// @ts-expect-error No dtype.
triton.bind({ modelName: 'M', inputs: { a: { shape: [1] } }, outputs: {}, inferFunc: (r) => r });
// @ts-expect-error No shape.
triton.bind({ modelName: 'M', inputs: { a: { dtype: 'bool' } }, outputs: {}, inferFunc: (r) => r });
// @ts-expect-error A shape that is no list.
triton.bind({ modelName: 'M', inputs: { a: { dtype: 'bool', shape: 1 } }, outputs: {}, inferFunc: (r) => r });
// @ts-expect-error Misspelt option of bind.
triton.bind({ ...linear, inferFunc: apart, stric: true });
// @ts-expect-error Misspelt option of the model.
triton.bind({ ...linear, inferFunc: apart, config: { maxBatchsize: 8 } });
// @ts-expect-error A string for a boolean.
triton.bind({ ...linear, inferFunc: apart, strict: 'yes' });
// @ts-expect-error decorators do not nest.
triton.bind({ ...linear, inferFunc: batch(batch(({ data }) => ({ result: data }))) });

// A promise in the place of each result, as an asynchronous function per request gives it.

triton.bind({ ...linear, inferFunc: (requests) => requests.map(async ({ inputs }) => ({ result: inputs.data })) });
triton.bind({ ...linear, inferFunc: async (requests) => requests.map((request) => Promise.resolve(request)) });
// @ts-expect-error Unknown output, in a promise.
triton.bind({ ...linear, inferFunc: (requests) => requests.map(async ({ inputs }) => ({ resutl: inputs.data })) });
