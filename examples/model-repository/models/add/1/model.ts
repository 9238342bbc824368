// A model of the repository in TypeScript. What its default export leaves out, config.pbtxt beside the folder says.
import { batch, defineModel, type CallableOf } from 'tstriton';

const add = defineModel({
  modelName: 'add',
  inputs: { a: { dtype: 'float32', shape: [-1] }, b: { dtype: 'float32', shape: [-1] } },
  outputs: { sum: { dtype: 'float32', shape: [-1] } },
});

const inferFunc: CallableOf<typeof add> = batch(({ a, b }) => ({ sum: a.map((value, i) => value + b.data[i]!) }));

// oxlint-disable-next-line import/no-default-export -- what a model repository's module is
export default { ...add, inferFunc };
