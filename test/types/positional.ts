// Models whose inputs are declared as a list: tensors by position and by name, under every decorator.
import {
  batch,
  defineModel,
  fillOptionals,
  firstValue,
  groupByKeys,
  groupByValues,
  padBatch,
  sample,
  stream,
  Triton,
  type CallableOf,
  type FilledSpecs,
  type InferenceRequest,
  type Inputs,
  type InputTuple,
  type Tensor,
  type TensorSpec,
} from 'tstriton';

import type { Equal, Expect } from './expect-type.js';

const triton = new Triton();

const addSub = defineModel({
  modelName: 'AddSub',
  inputs: [
    { dtype: 'float32', shape: [-1] },
    { dtype: 'int32', shape: [-1] },
  ],
  outputs: [
    { dtype: 'float32', shape: [-1] },
    { name: 'difference', dtype: 'int32', shape: [-1] },
  ],
});
const scaled = defineModel({
  modelName: 'Scaled',
  inputs: [
    { dtype: 'float32', shape: [-1] },
    { name: 'scale', dtype: 'int64', shape: [1], optional: true },
    { name: 'language', dtype: 'string', shape: [1] },
  ],
  outputs: [{ dtype: 'float32', shape: [-1] }],
});
const tokens = defineModel({ ...scaled, config: { decoupled: true } });

// The seeds' form: `input1, input2 = inputs.values()`, and a list back.

triton.bind({ ...addSub, inferFunc: batch(([a, b]) => [a.map((value, i) => value + b.data[i]!), b]) });
triton.bind({ ...addSub, inferFunc: batch(async ([a, b]) => Promise.resolve({ OUTPUT_1: a, difference: b })) });
triton.bind({ ...addSub, inferFunc: sample(([a, b]) => [a, b]) });
triton.bind({ ...addSub, inferFunc: batch((inputs) => inputs) });
triton.bind({ ...addSub, inferFunc: batch((inputs) => [inputs[0], inputs.INPUT_2]) });
triton.bind({ ...addSub, inferFunc: batch(({ INPUT_1, INPUT_2 }) => [INPUT_1, INPUT_2]) });
triton.bind({ ...addSub, inferFunc: batch(({ 0: a, 1: b }) => [a, b]) });
triton.bind({ ...addSub, inferFunc: (requests) => requests.map(({ inputs: [a, b] }) => [a, b]) });
triton.bind({
  ...addSub,
  inferFunc: batch((inputs) => {
    const [a, b] = inputs;
    const types: [Tensor<'float32'>, Tensor<'int32'>, 2] = [a, b, inputs.length];
    const anyOf: (Tensor<'float32'> | Tensor<'int32'>)[] = [...inputs, ...Object.values(inputs).slice(types.length)];
    return anyOf.length > 0 ? [a, b] : inputs;
  }),
});
// A declaration written in place, in either order.

triton.bind({
  modelName: 'Sum',
  inferFunc: batch(([a, b]) => [a.map((value, i) => value + b.data[i]!)]),
  inputs: [
    { dtype: Float32Array, shape: [1] },
    { dtype: Float32Array, shape: [1] },
  ],
  outputs: [{ dtype: Float32Array, shape: [1] }],
});

// Optional inputs, the decorators, generators.

triton.bind({
  ...scaled,
  inferFunc: groupByKeys(
    batch(([x, scale, language]) => {
      const types: [BigInt64Array | undefined, string[]] = [scale?.data, language.data];
      return [types.length > 0 ? x : [[0]]];
    }),
  ),
});
triton.bind({
  ...scaled,
  inferFunc: fillOptionals(
    { scale: 1n },
    groupByKeys(
      batch(
        groupByValues(
          ['language'],
          padBatch(
            firstValue(['scale', 'language'], ([x, scale, language]) => {
              const types: [bigint, string] = [scale, language];
              return [types.length > 0 ? x : [[0]]];
            }),
          ),
        ),
      ),
    ),
  ),
});
triton.bind({
  ...scaled,
  inferFunc: fillOptionals({ scale: [1] }, (requests) =>
    requests.map(({ inputs: [x, scale] }) => [x.map((value) => value * Number(scale.data[0]))]),
  ),
});
triton.bind({
  ...scaled,
  inferFunc: batch(
    firstValue(['scale'], ([x, scale]) => {
      const factor: bigint | undefined = scale;
      return [factor === undefined ? x : x.map((value) => value * Number(factor))];
    }),
  ),
});
triton.bind({
  ...tokens,
  inferFunc: stream(async function* ([x, , language]) {
    const text: string[] = language.data;
    yield text.length > 0 ? [x] : { OUTPUT_1: x };
  }),
});

// Written apart: with the model's type, or with a tuple of one's own.

export const apart: CallableOf<typeof addSub> = batch(([a, b]) => [a, b]);
const annotated = batch(([a, b]: [Tensor<'float32'>, Tensor<'int32'>]) => [a, b]);
triton.bind({ ...addSub, inferFunc: [apart, annotated] });
export function first({ inputs: [a] }: InferenceRequest<typeof addSub.inputs>): Tensor<'float32'> {
  return a;
}
export const tuple: [Tensor<'float32'>, Tensor<'int32'>] = {} as Inputs<typeof addSub.inputs>;
export type Tuples = [
  Expect<Equal<InputTuple<typeof addSub.inputs>, [Tensor<'float32'>, Tensor<'int32'>]>>,
  Expect<Equal<InputTuple<typeof scaled.inputs>, [Tensor<'float32'>, Tensor<'int64'> | undefined, Tensor<'string'>]>>,
  Expect<
    Equal<
      InputTuple<FilledSpecs<typeof scaled.inputs, 'scale'>>,
      [Tensor<'float32'>, Tensor<'int64'>, Tensor<'string'>]
    >
  >,
];

// What arrays have themselves is no name of theirs: such models have records.

const lengths = defineModel({
  modelName: 'Lengths',
  inputs: [
    { name: 'length', dtype: 'int32', shape: [1] },
    { name: 'data', dtype: 'float32', shape: [1] },
  ],
  outputs: [{ dtype: 'int32', shape: [1] }],
});
export type Lengths = Expect<
  Equal<Inputs<typeof lengths.inputs>, { readonly length: Tensor<'int32'>; readonly data: Tensor<'float32'> }>
>;
triton.bind({ ...lengths, inferFunc: batch(({ length }) => [length]) });

// Known at run time only.

export function bindAtRunTime(inputs: readonly TensorSpec[], outputs: readonly TensorSpec[]): void {
  triton.bind({ modelName: 'Dynamic', inputs, outputs, inferFunc: batch((tensors) => tensors) });
  triton.bind({ modelName: 'Dynamic', inputs, outputs, inferFunc: batch(([only]) => [only!]) });
}

// What must not compile.

// @ts-expect-error The outputs in the wrong order.
triton.bind({ ...addSub, inferFunc: batch(([a, b]) => [b, a]) });
// @ts-expect-error One output too few.
triton.bind({ ...addSub, inferFunc: batch(([a]) => [a]) });
// @ts-expect-error There is no third input.
triton.bind({ ...addSub, inferFunc: batch(([a, b, c]) => [a.map((value) => value * c.data.length), b]) });
// @ts-expect-error There is no third input, by its index.
triton.bind({ ...addSub, inferFunc: batch((inputs) => [inputs[2].reshape([1]), inputs[1]]) });
// @ts-expect-error An optional input taken for granted.
triton.bind({ ...scaled, inferFunc: batch(([x, scale]) => [x.map((value) => value * Number(scale.data[0]))]) });
// @ts-expect-error An unknown name.
triton.bind({ ...addSub, inferFunc: batch(({ INPUT_3 }) => [INPUT_3, INPUT_3]) });
// @ts-expect-error Records have no positions: their keys have no order to the compiler.
triton.bind({ ...lengths, inferFunc: batch(([length]) => [length]) });
// @ts-expect-error A tuple of other dtypes.
triton.bind({ ...addSub, inferFunc: batch(([a, b]: [Tensor<'int32'>, Tensor<'int32'>]) => [a, b]) });
// @ts-expect-error Too long a tuple.
triton.bind({ ...addSub, inferFunc: batch(([a, b]: [Tensor<'float32'>, Tensor<'int32'>, Tensor]) => [a, b]) });
