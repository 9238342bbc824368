// `call` of 'tstriton/testing': inputs and outputs follow from the declaration.
import { batch, defineModel, stream, type CallableOf, type Tensor } from 'tstriton';
import { call } from 'tstriton/testing';

import type { Equal, Expect } from './expect-type.js';

const linear = defineModel({
  modelName: 'Linear',
  inputs: { data: { dtype: 'float32', shape: [-1] }, scale: { dtype: 'int64', shape: [1], optional: true } },
  outputs: { result: { dtype: 'float32', shape: [-1] }, label: { dtype: 'string', shape: [1] } },
});
const inferFunc: CallableOf<typeof linear> = batch(({ data }) => ({ result: data, label: [['x']] }));
const model = { ...linear, inferFunc };
const tokens = defineModel({ ...linear, config: { decoupled: true } });
const streaming: CallableOf<typeof tokens> = stream(function* ({ data }) {
  yield { result: data, label: [['x']] };
});

const all = await call(model, { data: [1, 2] });
const some = await call(model, { data: [[1], [2]], scale: [[1n], [2n]] }, { batch: true, outputs: ['label'] });
const steps = call({ ...tokens, inferFunc: streaming }, { data: Float32Array.of(1) });
export type Calls = [
  Expect<
    Equal<typeof all, { readonly result: Tensor<'float32'> | undefined; readonly label: Tensor<'string'> | undefined }>
  >,
  Expect<Equal<typeof some, Pick<typeof all, 'label'>>>,
  Expect<Equal<typeof steps, AsyncGenerator<typeof all, void, undefined>>>,
];

// A callable may be written in place, and the model may name others.
await call({ ...linear, inferFunc: batch(({ data }) => [data, [['x']]]) }, { data: [1] }, { models: [model] });
await call({ ...linear, inferFunc: { object: { run: inferFunc }, method: 'run' } }, { data: [1] });

// @ts-expect-error An unknown input.
await call(model, { dat: [1] });
// @ts-expect-error A missing input.
await call(model, { scale: [1n] });
// @ts-expect-error Strings for numbers.
await call(model, { data: ['1'] });
// @ts-expect-error An unknown output.
await call(model, { data: [1] }, { outputs: ['lable'] });
// @ts-expect-error A misspelt option.
await call(model, { data: [1] }, { bach: true });
// @ts-expect-error No callable.
await call(linear, { data: [1] });
// @ts-expect-error A callable for another model.
await call({ ...linear, inputs: { text: { dtype: 'string', shape: [1] } }, inferFunc }, { text: ['x'] });
