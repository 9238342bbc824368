// The callable of the add-sub model, and the model's tensors.

import { Tensor } from 'tstriton';

export const ADD_SUB_TENSOR = { dtype: 'float32', shape: [16] } as const;

export function addSub({ a, b }: { readonly a: Tensor<'float32'>; readonly b: Tensor<'float32'> }) {
  const add = new Float32Array(a.data.length);
  const sub = new Float32Array(a.data.length);
  for (let i = 0; i < add.length; i++) {
    add[i] = a.data[i]! + b.data[i]!;
    sub[i] = a.data[i]! - b.data[i]!;
  }
  return { add: new Tensor('float32', add, a.shape), sub: new Tensor('float32', sub, a.shape) };
}
