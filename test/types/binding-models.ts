// The code examples of PyTriton's pages "Binding Models to Triton" (both editions), in TypeScript.
import {
  batch,
  defineModel,
  Tensor,
  Triton,
  TritonError,
  type CallableOf,
  type Inputs,
  type NamedInputs,
  type Outputs,
} from 'tstriton';

import type { Equal, Expect } from './expect-type.js';

declare function model(first: readonly string[], second: readonly string[]): Float32Array;

/** bind with two unnamed inputs of bytes, a list as result, and strict. */
export async function bindByPosition(): Promise<void> {
  await using triton = new Triton();
  triton.bind({
    modelName: 'ModelName',
    inferFunc: batch(([input1, input2]) => {
      const outputs = model(input1.strings(), input2.strings());
      return [outputs];
    }),
    inputs: [
      { shape: [1], dtype: 'bytes' }, // a sample of one bytes value
      { shape: [-1], dtype: 'bytes' }, // a sample of a vector of bytes
    ],
    outputs: [{ shape: [-1], dtype: Float32Array }],
    config: { maxBatchSize: 8 },
    strict: true,
  });
}

/** The identity in one line: requests stand for their inputs. */
export async function bindIdentity(): Promise<void> {
  await using triton = new Triton();
  triton.bind({
    modelName: 'Identity',
    inferFunc: (requests) => requests,
    inputs: [{ dtype: Float32Array, shape: [1] }],
    outputs: [{ dtype: Float32Array, shape: [1] }],
    config: { maxBatchSize: 8 },
  });
}

interface Layer {
  apply(rows: Tensor<'float32'>): Float32Array;
}
declare function loadLayer(device: string): Layer;

const linear = defineModel({
  modelName: 'Linear',
  inputs: [{ dtype: Float32Array, shape: [-1] }],
  outputs: [{ dtype: Float32Array, shape: [-1] }],
  config: { maxBatchSize: 16 },
});

/** A callable object with state: one instance of the model per object. */
class LinearInstance {
  readonly #layer: Layer;

  constructor(layer: Layer) {
    this.#layer = layer;
  }

  readonly infer: CallableOf<typeof linear> = batch(({ INPUT_1 }) => [this.#layer.apply(INPUT_1)]);
}

function makeInstances(devices: readonly string[]): LinearInstance[] {
  return devices.map((device) => new LinearInstance(loadLayer(device)));
}

export async function bindInstances(): Promise<void> {
  await using triton = new Triton();
  triton.bind({ ...linear, inferFunc: makeInstances(['cuda', 'cpu']) });
}

/** Unnamed tensors are called by their positions. */
export const unnamed = defineModel({
  modelName: 'Unnamed',
  inputs: [{ dtype: Float32Array, shape: [-1] }],
  outputs: [
    { dtype: Float32Array, shape: [-1] },
    { dtype: Int32Array, shape: [-1] },
  ],
});
export type UnnamedInputs = Expect<Equal<NamedInputs<typeof unnamed.inputs>, { readonly INPUT_1: Tensor<'float32'> }>>;
export type UnnamedOutputs = Expect<
  Equal<Outputs<typeof unnamed.outputs>, { readonly OUTPUT_1: Tensor<'float32'>; readonly OUTPUT_2: Tensor<'int32'> }>
>;

/** Named tensors, in either form of declaration. */
export const named = defineModel({
  modelName: 'Named',
  inputs: [{ name: 'image', dtype: Float32Array, shape: [224, 224, 3] }],
  outputs: { class: { dtype: Int32Array, shape: [1000] } },
});
export type NamesOfInputs = Expect<Equal<NamedInputs<typeof named.inputs>, { readonly image: Tensor<'float32'> }>>;
export type NamesOfOutputs = Expect<Equal<Outputs<typeof named.outputs>, { readonly class: Tensor<'int32'> }>>;

/** Three spellings of one dtype. */
export const spelt = defineModel({
  modelName: 'Spelt',
  inputs: {
    tensor1: { shape: [-1], dtype: Float32Array },
    tensor2: { shape: [-1], dtype: 'FP32' },
    tensor3: { shape: [-1], dtype: 'float32' },
  },
  outputs: {},
});
export type SpeltInputs = Expect<
  Equal<
    Inputs<typeof spelt.inputs>,
    {
      readonly tensor1: Tensor<'float32'>;
      readonly tensor2: Tensor<'float32'>;
      readonly tensor3: Tensor<'float32'>;
    }
  >
>;

/** Bytes are exact, trailing NULs included; strings are a dtype of their own. */
export const exactBytes: Uint8Array[] = new Tensor('bytes', [Uint8Array.of(0xff, 0x00)], [1]).data;
export const text: string[] = new Tensor('string', ['ÿ\0'], [1]).data;

/** A callable that gives up: the error's code decides the answer. */
export const failing: CallableOf<typeof linear> = batch(({ INPUT_1 }) => {
  try {
    return { OUTPUT_1: loadLayer('cuda').apply(INPUT_1) };
  } catch (cause) {
    throw new TritonError(
      'UNAVAILABLE',
      'Some unrecoverable error occurred, thus no further inferences are possible.',
      {
        cause,
      },
    );
  }
});
