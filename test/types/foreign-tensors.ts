// Tensors of other libraries, as onnxruntime and transformers.js make them, in the place of ours.
import { Tensor as OrtTensor, type InferenceSession, type TypedTensor } from 'onnxruntime-node';

import { batch, defineModel, sample, Tensor, Triton, type Dtype, type ForeignTensor, type TensorLike } from 'tstriton';
import type { ModelClient } from 'tstriton/client';

import type { Equal, Expect } from './expect-type.js';

declare const results: InferenceSession.OnnxValueMapType;
declare const typed: TypedTensor<'int64'>;
/** What transformers.js gives: a class of its own with these members. */
declare const hub: { type: string; dims: number[]; data: Float32Array | Int8Array; tolist(): unknown[] };

const triton = new Triton();
const embed = defineModel({
  modelName: 'Embed',
  inputs: { x: { dtype: 'float32', shape: [1] } },
  outputs: { y: { dtype: 'float32', shape: [1] } },
});

triton.bind({ ...embed, inferFunc: batch(() => ({ y: results['logits']! })) });
triton.bind({ ...embed, inferFunc: batch(async () => Promise.resolve([hub])) });
triton.bind({ ...embed, inferFunc: sample(() => ({ y: new OrtTensor('float32', Float32Array.of(1)) })) });
triton.bind({ ...embed, inferFunc: (requests) => requests.map(() => ({ y: results['logits']! })) });
triton.bind({
  ...embed,
  inferFunc: batch(() => ({ y: { data: Float32Array.of(1), shape: [1], dtype: 'float32' } })),
});

export type Taken = [
  Expect<Equal<ReturnType<typeof ofTyped>, Tensor<'int64'>>>,
  Expect<Equal<ReturnType<typeof ofUntyped>, Tensor<Dtype>>>,
  Expect<Equal<ReturnType<typeof ofOurs>, Tensor<'bool'>>>,
];
const ofTyped = () => Tensor.from(typed);
const ofUntyped = () => Tensor.from(hub);
const ofOurs = (ours: Tensor<'bool'>) => Tensor.from(ours);
export const withoutSizes: ForeignTensor[] = [typed, hub, new OrtTensor('string', ['a'])];

export async function ask(client: ModelClient<typeof embed.inputs, typeof embed.outputs>): Promise<void> {
  await client.inferSample({ x: new OrtTensor('float32', Float32Array.of(1)) });
  await client.inferSample({ x: hub });
}

/** The step that every image model writes. */
const pixels: Tensor<'float32'> = new Tensor('uint8', Uint8Array.of(255)).cast('float32', 1 / 255);
export const back: Tensor<'uint8'> = pixels.cast('uint8', 255);

// What must not compile.

// @ts-expect-error Its sizes are missing.
triton.bind({ ...embed, inferFunc: batch(() => ({ y: { data: Float32Array.of(1), dtype: 'float32' } })) });
// @ts-expect-error A tensor is no record of outputs.
triton.bind({ ...embed, inferFunc: batch(() => hub) });
// @ts-expect-error Ours is not foreign: its dtype is known.
export const ours: TensorLike<'float32'> = new Tensor('float64', Float64Array.of(1));
// @ts-expect-error Its type is missing.
Tensor.from({ data: Float32Array.of(1), dims: [1] });
// @ts-expect-error A list is no tensor: its dtype is missing.
Tensor.from([1]);
// @ts-expect-error Dtypes have numpy's names here.
pixels.cast('FP32');
// @ts-expect-error There is no such dtype.
pixels.cast('half');
