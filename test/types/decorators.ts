// The decorators against declarations: what follows for the function under them, and the orders that must not compile.
import {
  batch,
  constantPadder,
  defineModel,
  fillOptionals,
  firstValue,
  groupByKeys,
  groupByValues,
  InferenceResponse,
  mapOutputs,
  padBatch,
  sample,
  stream,
  Triton,
  withInputs,
  type CallableOf,
  type FirstValues,
  type InferFunc,
  type InputName,
  type Inputs,
  type OptionalInputName,
  type Tensor,
  type TensorFunc,
  type TensorSpec,
  type TensorSpecs,
} from 'tstriton';

import type { Equal, Expect } from './expect-type.js';

const triton = new Triton();

const linear = defineModel({
  modelName: 'Linear',
  inputs: { data: { dtype: 'float32', shape: [-1] } },
  outputs: { result: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 64 },
});

const mixed = defineModel({
  modelName: 'Mixed',
  inputs: {
    x: { dtype: 'float32', shape: [-1] },
    temperature: { dtype: Float64Array, shape: [1], optional: true },
    size: { dtype: 'int64', shape: [2] },
    language: { dtype: 'string', shape: [1] },
    raw: { dtype: 'bytes', shape: [], optional: true },
    flag: { dtype: 'bool', shape: [1, 1] },
  },
  outputs: { y: { dtype: 'float32', shape: [-1] } },
});

// groupByValues and padBatch: tensors in, tensors out; names are the inputs'.

triton.bind({
  ...linear,
  inferFunc: [
    batch(({ data }) => ({ result: data })),
    batch(groupByValues(['data'], ({ data }) => ({ result: data }))),
    batch(padBatch(async ({ data }) => Promise.resolve([data]))),
  ],
});
triton.bind({
  ...mixed,
  inferFunc: batch(
    groupByValues(
      ['language', 'size'],
      padBatch(({ x, temperature }, { requests }) => {
        const optional: Float64Array | undefined = temperature?.data;
        return { y: optional === undefined || requests.length > 1 ? x : x.map((value) => value * optional[0]!) };
      }),
      { padFn: constantPadder(0) },
    ),
  ),
});
triton.bind({
  ...linear,
  inferFunc: batch(groupByValues(['data'], ({ data }) => ({ result: data }), { padFn: (groups) => [...groups] })),
});

// firstValue: one element declared gives a plain value, anything else a row; optional inputs stay optional.

export type Firsts = Expect<
  Equal<
    FirstValues<typeof mixed.inputs, 'temperature' | 'size' | 'language' | 'raw' | 'flag'>,
    {
      readonly x: Tensor<'float32'>;
      readonly size: Tensor<'int64'>;
      readonly language: string;
      readonly flag: boolean;
      readonly temperature?: number;
      readonly raw?: Uint8Array;
    }
  >
>;
triton.bind({
  ...mixed,
  inferFunc: batch(
    firstValue(['temperature', 'size', 'language'], ({ x, temperature, size, language, flag }) => {
      const types: [number | undefined, BigInt64Array, string, Uint8Array] = [
        temperature,
        size.data,
        language,
        flag.data,
      ];
      return { y: types.length > 0 ? x : [[0]] };
    }),
  ),
});
triton.bind({
  ...mixed,
  inferFunc: batch(
    firstValue(
      ['language'],
      async ({ x, language }) => {
        const row: Tensor<'string'> = language;
        return Promise.resolve({ y: row.data.length > 0 ? x : [[0]] });
      },
      { squeezeSingleValues: false, strict: false },
    ),
  ),
});

// fillOptionals: the inputs with a default are there in the function under it, whichever form that has.

export type Optionals = [
  Expect<Equal<OptionalInputName<typeof mixed.inputs>, 'temperature' | 'raw'>>,
  Expect<Equal<OptionalInputName<typeof linear.inputs>, never>>,
  Expect<Equal<InputName<typeof linear.inputs>, 'data'>>,
];
triton.bind({
  ...mixed,
  inferFunc: fillOptionals(
    { temperature: [0.5] },
    batch(({ x, temperature, raw }) => {
      const factor: Float64Array = temperature.data;
      const left: Tensor<'bytes'> | undefined = raw;
      return { y: left === undefined ? x.map((value) => value * factor[0]!) : x };
    }),
  ),
});
triton.bind({
  ...mixed,
  inferFunc: fillOptionals({ temperature: 0.5, raw: Uint8Array.of(1) }, (requests) =>
    requests.map(({ inputs }) => {
      const types: [Float64Array, Uint8Array[]] = [inputs.temperature.data, inputs.raw.data];
      return { y: types.length > 0 ? inputs.x : [[0]] };
    }),
  ),
});
triton.bind({ ...mixed, inferFunc: fillOptionals({ temperature: Float64Array.of(1) }, (requests) => requests) });

// The documented order, over every form of function.

const scaled: CallableOf<typeof mixed> = fillOptionals(
  { temperature: 0.5 },
  groupByKeys(
    batch(
      groupByValues(
        ['temperature'],
        padBatch(
          firstValue(['temperature'], ({ x, temperature }) => {
            const factor: number = temperature;
            return { y: x.map((value) => value * factor) };
          }),
        ),
      ),
    ),
  ),
);
triton.bind({ ...mixed, inferFunc: scaled });

const listed = defineModel({
  modelName: 'Listed',
  inputs: [
    { dtype: 'float32', shape: [-1] },
    { name: 'scale', dtype: 'int64', shape: [1], optional: true },
  ],
  outputs: [{ dtype: 'float32', shape: [-1] }],
});
triton.bind({
  ...listed,
  inferFunc: fillOptionals(
    { scale: 1n },
    groupByKeys(
      batch(
        firstValue(['scale'], ({ INPUT_1, scale }) => {
          const factor: bigint = scale;
          return [INPUT_1.map((value) => value * Number(factor))];
        }),
      ),
    ),
  ),
});

const tokens = defineModel({ ...mixed, config: { decoupled: true } });
triton.bind({ ...tokens, inferFunc: batch(groupByValues(['language'], ({ x }) => ({ y: x }))) });
triton.bind({
  ...tokens,
  inferFunc: fillOptionals(
    { temperature: 1 },
    groupByKeys(
      stream(
        firstValue(['temperature'], async function* ({ x, temperature }) {
          const factor: number = temperature;
          yield { y: x.map((value) => value * factor) };
        }),
      ),
    ),
  ),
});
// The last response of a stream says so; what it holds is checked as elsewhere.
triton.bind({
  ...tokens,
  inferFunc: stream(async function* ({ x }) {
    yield { y: x };
    yield new InferenceResponse({ y: x }, { final: true });
  }),
});
triton.bind({
  ...tokens,
  // @ts-expect-error: there is no output 'z'
  inferFunc: stream(async function* ({ x }) {
    yield new InferenceResponse({ z: x }, { final: true });
  }),
});
triton.bind({
  ...tokens,
  inferFunc: batch(
    groupByValues(
      ['language'],
      padBatch(function* ({ x }) {
        yield { y: x };
      }),
    ),
  ),
});

// Declarations that are known at run time only.

export function bindAtRunTime(inputs: readonly TensorSpec[], outputs: readonly TensorSpec[]): void {
  triton.bind({
    modelName: 'Dynamic',
    inputs,
    outputs,
    inferFunc: fillOptionals(
      { anything: [1] },
      batch(
        groupByValues(
          ['x'],
          firstValue(['x'], (tensors) => {
            const value: unknown = tensors['x'];
            return value === undefined ? {} : { y: [[1]] };
          }),
        ),
      ),
    ),
  });
}

// Decorators of users' own, at both levels, over every form of function.

function halved<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean>(
  fn: TensorFunc<I, O, Decoupled>,
): TensorFunc<I, O, Decoupled> {
  return (inputs, context) => mapOutputs(fn(inputs, context), context, (outputs) => outputs);
}
function passed<I extends TensorSpecs, O extends TensorSpecs, Decoupled extends boolean>(
  fn: InferFunc<I, O, Decoupled>,
): InferFunc<I, O, Decoupled> {
  return (requests, context) =>
    fn(
      requests.map((request) => withInputs(request, request.inputs)),
      context,
    );
}
triton.bind({ ...linear, inferFunc: passed(batch(halved(({ data }) => ({ result: data })))) });
triton.bind({
  ...mixed,
  inferFunc: passed(
    batch(
      groupByValues(
        ['language'],
        halved(
          firstValue(['language'], ({ x, language }) => {
            const text: string = language;
            return { y: text === '' ? x : [[0]] };
          }),
        ),
      ),
    ),
  ),
});
triton.bind({
  ...tokens,
  inferFunc: passed(
    stream(
      halved(async function* ({ x }) {
        yield { y: x };
      }),
    ),
  ),
});
export type Named = Inputs<typeof mixed.inputs>;

// What must not compile.

// @ts-expect-error Unknown name to group by.
triton.bind({ ...linear, inferFunc: batch(groupByValues(['nope'], ({ data }) => ({ result: data }))) });
// @ts-expect-error Unknown name of a first value.
triton.bind({ ...mixed, inferFunc: batch(firstValue(['nope'], ({ x }) => ({ y: x }))) });
// @ts-expect-error A default for an input that is not there.
triton.bind({ ...mixed, inferFunc: fillOptionals({ temprature: 1 }, (requests) => requests) });
// @ts-expect-error A default for an input that is never left out.
triton.bind({ ...mixed, inferFunc: fillOptionals({ x: [1] }, (requests) => requests) });
// @ts-expect-error A default of another dtype.
triton.bind({ ...mixed, inferFunc: fillOptionals({ temperature: 'warm' }, (requests) => requests) });
// @ts-expect-error A default of another dtype, typed.
triton.bind({ ...mixed, inferFunc: fillOptionals({ temperature: Float32Array.of(1) }, (requests) => requests) });
// prettier-ignore
// @ts-expect-error The input has no default and may not be there.
triton.bind({ ...mixed, inferFunc: fillOptionals({ temperature: 1 }, batch(({ raw }) => [[raw.data.length]])) });
// @ts-expect-error A squeezed value is no tensor.
triton.bind({ ...mixed, inferFunc: batch(firstValue(['language'], ({ language }) => [[language.data.length]])) });
// @ts-expect-error A row of two elements is no plain value.
triton.bind({ ...mixed, inferFunc: batch(firstValue(['size'], ({ size }) => [[size * 2]])) });
// @ts-expect-error Misspelt output.
triton.bind({ ...linear, inferFunc: batch(groupByValues(['data'], ({ data }) => ({ resultx: data }))) });
// @ts-expect-error Misspelt output under firstValue.
triton.bind({ ...mixed, inferFunc: batch(firstValue(['size'], ({ x }) => ({ yy: x }))) });
// @ts-expect-error Misspelt output under padBatch.
triton.bind({ ...linear, inferFunc: batch(padBatch(({ data }) => ({ resultx: data }))) });
// prettier-ignore
// @ts-expect-error groupByValues outside batch.
triton.bind({ ...linear, inferFunc: groupByValues(['data'], batch(({ data }) => [data])) });
// @ts-expect-error padBatch outside batch.
triton.bind({ ...linear, inferFunc: padBatch(batch(({ data }) => [data])) });
// prettier-ignore
// @ts-expect-error firstValue outside batch.
triton.bind({ ...mixed, inferFunc: firstValue(['size'], batch(({ x }) => [x])) });
// @ts-expect-error padBatch without batch.
triton.bind({ ...linear, inferFunc: padBatch(({ data }) => ({ result: data })) });
// @ts-expect-error groupByKeys inside batch.
triton.bind({ ...linear, inferFunc: batch(groupByKeys(({ data }) => [data])) });
// @ts-expect-error fillOptionals inside batch.
triton.bind({ ...mixed, inferFunc: batch(fillOptionals({ temperature: 1 }, ({ x }) => [x])) });
// prettier-ignore
// @ts-expect-error padBatch inside firstValue.
triton.bind({ ...mixed, inferFunc: batch(firstValue(['language'], padBatch(({ x }) => [x]))) });
// prettier-ignore
// @ts-expect-error groupByValues inside firstValue.
triton.bind({ ...mixed, inferFunc: batch(firstValue(['language'], groupByValues(['size'], ({ x }) => [x]))) });
// @ts-expect-error sample inside batch.
triton.bind({ ...linear, inferFunc: batch(sample(({ data }) => ({ result: data }))) });
// prettier-ignore
// @ts-expect-error A generator for a model that is not decoupled.
triton.bind({ ...linear, inferFunc: batch(padBatch(function* ({ data }) { yield { result: data }; })) });
// @ts-expect-error Misspelt output, returned by a decoupled model.
triton.bind({ ...tokens, inferFunc: batch(groupByValues(['language'], ({ x }) => ({ yy: x }))) });
// @ts-expect-error A padFn that is none.
triton.bind({ ...linear, inferFunc: batch(groupByValues(['data'], ({ data }) => [data], { padFn: 0 })) });
// @ts-expect-error A callable for another model.
export const wrong: CallableOf<typeof linear> = scaled;
