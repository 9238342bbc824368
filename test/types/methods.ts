// Methods as callables: on their objects, by name, under decorators.
import {
  batch,
  defineModel,
  groupByKeys,
  padBatch,
  sample,
  stream,
  Triton,
  type CallableOf,
  type InferenceContext,
  type InferenceRequest,
  type Inputs,
} from 'tstriton';

const triton = new Triton();

const linear = defineModel({
  modelName: 'Linear',
  inputs: { data: { dtype: 'float32', shape: [-1] } },
  outputs: { result: { dtype: 'float32', shape: [-1] } },
  config: { maxBatchSize: 64 },
});
const tokens = defineModel({ ...linear, modelName: 'Tokens', config: { decoupled: true } });
const other = defineModel({ ...linear, inputs: { text: { dtype: 'string', shape: [1] } } });
type LinearInputs = Inputs<typeof linear.inputs>;

class Scaler {
  factor = 2;

  // What the class says itself stays what it is for whoever calls it.
  @batch
  infer({ data }: LinearInputs, { requests }: InferenceContext) {
    return { result: data.map((value) => value * this.factor * requests.length) };
  }
  @groupByKeys
  @batch
  @padBatch
  async slowly({ data }: LinearInputs) {
    return [data.map((value) => value * this.factor)];
  }
  @sample
  alone({ data }: LinearInputs) {
    return { result: data.data };
  }
  @stream
  async *tokens({ data }: LinearInputs) {
    yield { result: data };
  }
  @batch
  static shared({ data }: LinearInputs) {
    return { result: data };
  }
  raw(requests: readonly InferenceRequest<typeof linear.inputs>[]) {
    return requests.map(({ inputs }) => ({ result: inputs.data.map((value) => value * this.factor) }));
  }
  readonly arrow: CallableOf<typeof linear> = (requests) => this.raw(requests);
  @batch
  misspelt({ data }: LinearInputs) {
    return { resultx: data };
  }
  describe(text: string) {
    return text;
  }
}
const scaler = new Scaler();

triton.bind({ ...linear, inferFunc: scaler });
triton.bind({ ...linear, inferFunc: [scaler, new Scaler()] });
triton.bind({ ...linear, inferFunc: scaler.arrow });
triton.bind({ ...linear, inferFunc: (requests) => scaler.raw(requests) });
triton.bind({ ...linear, inferFunc: batch((inputs, context) => scaler.infer(inputs, context)) });
// Methods written in place get their types from the model.
triton.bind({ ...linear, inferFunc: { infer: (requests) => requests.map(({ inputs }) => ({ result: inputs.data })) } });
triton.bind({
  ...linear,
  inferFunc: {
    infer(requests, { logger }) {
      logger.info(String(requests.length));
      return requests.map(({ inputs }) => [inputs.data]);
    },
  },
});

// By name.

triton.bind({ ...linear, inferFunc: { object: scaler, method: 'raw' } });
triton.bind({ ...linear, inferFunc: { object: scaler, method: 'slowly' } });
triton.bind({ ...linear, inferFunc: { object: Scaler, method: 'shared' } });
triton.bind({ ...linear, config: { maxBatchSize: 1 }, inferFunc: { object: scaler, method: 'alone' } });
triton.bind({ ...tokens, inferFunc: { object: scaler, method: 'tokens' } });
triton.bind({
  ...linear,
  inferFunc: [
    { object: scaler, method: 'raw' },
    { object: new Scaler(), method: 'slowly' },
  ],
});
triton.bind({ ...linear, inferFunc: [{ object: { a: scaler.raw }, method: 'a' }, { object: { b: scaler.raw }, method: 'b' }] }); // prettier-ignore
await triton.rebind({ ...linear, inferFunc: { object: scaler, method: 'raw' } });

// @ts-expect-error A method that the object does not have.
triton.bind({ ...linear, inferFunc: { object: scaler, method: 'rawx' } });
// @ts-expect-error A member that is no method.
triton.bind({ ...linear, inferFunc: { object: scaler, method: 'factor' } });
// @ts-expect-error A method that is no callable.
triton.bind({ ...linear, inferFunc: { object: scaler, method: 'describe' } });
// @ts-expect-error A misspelt output.
triton.bind({ ...linear, inferFunc: { object: scaler, method: 'misspelt' } });
// @ts-expect-error A method for another model.
triton.bind({ ...other, inferFunc: { object: scaler, method: 'raw' } });
// @ts-expect-error An object for another model.
triton.bind({ ...other, inferFunc: scaler });
// @ts-expect-error A generator for a model that is not decoupled.
triton.bind({ ...linear, inferFunc: { object: scaler, method: 'tokens' } });
// @ts-expect-error No method.
triton.bind({ ...linear, inferFunc: { object: scaler } });

export class Wrong {
  // @ts-expect-error Not a method.
  @batch
  readonly infer = ({ data }: LinearInputs) => ({ result: data });
}
