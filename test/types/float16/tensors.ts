// With a library that has `Float16Array`: it names the dtype and stands for data of it, which stays raw bits. A project
// of its own, because all the others have a library without one and must compile too.
import { batch, Tensor, Triton, type DtypeLike, type ToDtype } from 'tstriton';
import type { ModelClient } from 'tstriton/client';

import type { Equal, Expect } from '../expect-type.js';

export type Spellings = [
  Expect<Equal<ToDtype<typeof Float16Array>, 'float16'>>,
  Expect<Equal<ToDtype<typeof Uint16Array>, 'uint16'>>,
  Expect<Equal<ToDtype<typeof Float32Array>, 'float32'>>,
];
export const like: DtypeLike = Float16Array;

export const half: Tensor<'float16'> = new Tensor('float16', Float16Array.of(0.5));
export const bits: Uint16Array = half.data;
export type StaysBits = Expect<Equal<(typeof half)['data'], Uint16Array>>;
export const stillBits: Tensor<'float16'> = new Tensor('float16', Uint16Array.of(0x3800));

// @ts-expect-error bfloat16 has other bits.
export const brain = new Tensor('bfloat16', Float16Array.of(0.5));
// @ts-expect-error So has float32.
export const single = new Tensor('float32', Float16Array.of(0.5));
// @ts-expect-error And float16 still takes no Float32Array.
export const notHalf = new Tensor('float16', Float32Array.of(0.5));

const spec = {
  modelName: 'Half',
  inputs: { x: { dtype: Float16Array, shape: [-1] } },
  outputs: { y: { dtype: Float16Array, shape: [-1] } },
} as const;
export const triton = new Triton();
triton.bind({
  ...spec,
  inferFunc: batch(({ x }) => {
    const own: Uint16Array = x.data;
    return { y: new Float16Array(own.buffer as ArrayBuffer, own.byteOffset, own.length) };
  }),
});
// @ts-expect-error An output of float16 takes no Float32Array either.
triton.bind({ ...spec, inferFunc: batch(({ x }) => ({ y: x.toFloat32() })) });

export async function ask(
  client: ModelClient<(typeof spec)['inputs'], (typeof spec)['outputs']>,
): Promise<Uint16Array> {
  const { y } = await client.inferSample({ x: Float16Array.of(0.5) });
  return y!.data;
}
